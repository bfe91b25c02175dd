import FoundationEssentials
import MetricIntake

/// A custom module that hears whether it is sampled. Both calls may come again without a change.
protocol SwitchedSampleModule: CustomSampleModule, AnyObject {
    func begin()
    func end()
}

/// A source of metrics as a custom module.
final class MetricSourceModule: SwitchedSampleModule {
    let name: String
    private let kind: String
    private let source: any MetricSource

    /// - Parameter kind: the name of what is read: `exec`, `statsd` or `prometheus`.
    init(_ name: String, kind: String, source: any MetricSource) {
        self.name = name
        self.kind = kind
        self.source = source
    }

    /// The modules of a checked configuration, by name.
    static func modules(_ sources: [String: MetricSourceSettings]) -> [String: any CustomSampleModule] {
        var modules: [String: any CustomSampleModule] = [:]
        for (name, settings) in sources {
            guard let made = try? settings.makeSource() else { continue }
            modules[name] = MetricSourceModule(name, kind: made.kind, source: made.source)
        }
        return modules
    }

    func begin() { source.begin() }

    func end() { source.end() }

    func sample() async -> [SampleMeasurement] { await source.collect().map(SampleMeasurement.init) }

    var status: DataSamplerStatus.MetricSource {
        let report = source.report
        return .init(
            module: name, kind: kind, series: report.series, refused: report.refused, invalid: report.invalid,
            kernelDrops: report.kernelDrops, problem: report.problem)
    }
}

extension SampleMeasurement {
    init(_ point: MetricPoint) {
        let value: EventValue =
            switch point.value {
            case .integer(let number): .integer(number)
            case .number(let number): .double(number)
            case .flag(let flag): .boolean(flag)
            case .text(let text): .string(text)
            }
        self.init(name: point.name, unit: point.unit, attributes: point.attributes, value: value)
    }
}
