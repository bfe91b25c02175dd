import Collector
import MetricCatalog
import Testing

@Suite("The metrics that are chosen for Prometheus")
struct DeviceMetricChoiceTests {
    private static func refusal(_ names: String...) -> String {
        do {
            _ = try DeviceMetricChoice(names)
            return ""
        } catch { return error.message }
    }

    @Test func `A name that no metric has is refused, with the name that was meant`() throws {
        let name = try #require(DeviceMetricChoice.usual.names.first)
        let misspelt = String(name.dropLast()) + "#"
        let refusal = Self.refusal(misspelt)
        #expect(refusal.contains("'\(misspelt)'") && refusal.contains("Did you mean \(name)?"), "\(refusal)")
        let strange = Self.refusal("zebra")
        #expect(strange.contains("'zebra'") && !strange.contains("Did you mean"), "\(strange)")
        for prefix in ["custom:", "otlp:"] {
            #expect(refusal.contains("\(prefix)\(misspelt)"))
            #expect(Self.refusal(prefix).contains("'\(prefix)' has no name"))
        }
    }

    @Test func `A metric that is an increase is refused, and says why`() throws {
        let increase = try #require(MetricCatalog.definitions.values.first { $0.kind == .deltaCounter })
        #expect(Self.refusal(increase.name).contains("increase since the previous sample"))
    }

    @Test func `Too many names are refused with their number`() {
        let names = (0...DeviceMetricChoice.maximumNames).map { "custom:metric.\($0)" }
        do {
            _ = try DeviceMetricChoice(names)
            Issue.record("\(names.count) names were accepted")
        } catch { #expect(error.message.contains("\(names.count)")) }
    }

    @Test func `The metrics of the console's charts are chosen by default, and all only on request`() throws {
        let usual = DeviceMetricChoice.usual.names
        #expect(usual.count >= 2)
        let all = try DeviceMetricChoice(["all"])
        #expect(all != DeviceMetricChoice.usual)
        #expect(try DeviceMetricChoice(usual) == DeviceMetricChoice.usual)
    }
}
