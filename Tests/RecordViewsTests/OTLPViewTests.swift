import Foundation
import JSON
import OTLP
import RecordViews
import SwiftProtobuf
import Testing
import WireModel

extension JSONValue {
    fileprivate subscript(name: String) -> JSONValue {
        if case .object(let members) = self { members[name] ?? .null } else { .null }
    }

    fileprivate var items: [JSONValue] { if case .array(let items) = self { items } else { [] } }
}

@Suite("OTLP's records as JSON")
struct OTLPViewTests {
    private func attribute(_ key: String, _ value: OTLPAnyValue.OneOf_Value?) -> OTLPKeyValue {
        .with {
            $0.key = key
            if let value { $0.value.value = value }
        }
    }

    @Test func `A log record reads as plain JSON`() throws {
        let log = OTLPLogRecord.with {
            $0.timeUnixNano = 1_772_366_400_000_000_007
            $0.severityNumber = .warn2
            $0.eventName = "door.opened"
            $0.traceID = Data(1...16)
            $0.body.stringValue = "UnixNano is text"
            $0.attributes = [
                attribute("timeUnixNano", .intValue(5)), attribute("traceId", .stringValue("AAAA")),
                attribute("flag", .boolValue(true)), attribute("ratio", .doubleValue(0.5)), attribute("none", nil),
                attribute("raw", .bytesValue(Data([1, 2, 3]))),
                attribute(
                    "list",
                    .arrayValue(
                        .with {
                            $0.values = [.with { $0.intValue = 1 }, .with { $0.stringValue = "b" }]
                        })),
                attribute(
                    "map",
                    .kvlistValue(.with { $0.values = [attribute("attributes", .stringValue("x"))] })),
            ]
        }
        let json = try #require(OTLPView.json(log.serializedData(), of: .otlpLog))
        #expect(json["timeUnixNano"] == .text("2026-03-01T12:00:00.000000007Z"))
        #expect(json["traceId"] == .text("0102030405060708090a0b0c0d0e0f10"))
        #expect(json["body"] == .text("UnixNano is text"))
        // Attributes are data: no name in them changes anything.
        let attributes = json["attributes"]
        #expect(attributes["timeUnixNano"] == .integer(5) && attributes["traceId"] == .text("AAAA"))
        #expect(attributes["flag"] == .boolean(true) && attributes["ratio"] == .real(0.5))
        #expect(attributes["none"] == .null && attributes["raw"] == .text("AQID"))
        #expect(attributes["list"] == .array([.integer(1), .text("b")]))
        #expect(attributes["map"] == .object(["attributes": .text("x")]))
        let shown = try #require(OTLPView.log(log.serializedData()))
        #expect(shown.name == "door.opened" && shown.severity == "WARN2" && shown.value == json["body"])
    }

    @Test func `Points keep their kind, and every number`() throws {
        let metrics = OTLPScopeMetrics.with {
            $0.metrics = [
                .with {
                    $0.name = "latency"
                    $0.exponentialHistogram.dataPoints = [
                        .with {
                            $0.count = 3
                            $0.scale = -1
                            $0.positive.bucketCounts = [1, 2]
                            $0.attributes = [attribute("path", .stringValue("/"))]
                            $0.exemplars = [
                                .with {
                                    $0.asInt = 4
                                    $0.spanID = Data(1...8)
                                    $0.filteredAttributes = [attribute("user", .intValue(7))]
                                }
                            ]
                        }
                    ]
                }
            ]
        }
        let json = try #require(OTLPView.json(metrics.serializedData(), of: .otlpMetrics))
        let metric = json["metrics"].items[0]
        let point = metric["exponentialHistogram"]["dataPoints"].items[0]
        #expect(metric["name"] == .text("latency") && point["count"] == .integer(3) && point["scale"] == .integer(-1))
        #expect(point["positive"]["bucketCounts"] == .array([.integer(1), .integer(2)]))
        #expect(point["attributes"] == .object(["path": .text("/")]))
        #expect(point["exemplars"].items[0]["filteredAttributes"] == .object(["user": .integer(7)]))
        #expect(point["exemplars"].items[0]["spanId"] == .text("0102030405060708"))
    }

    @Test func `A context reads the same for both signals`() throws {
        let logs = OTLPResourceLogs.with {
            $0.resource.attributes = [attribute("host.name", .stringValue("till-7"))]
            $0.schemaURL = "https://example.com/resource"
            $0.scopeLogs = [
                .with {
                    $0.scope.name = "door"
                    $0.schemaURL = "https://example.com/scope"
                }
            ]
        }
        let metrics = OTLPResourceMetrics.with {
            $0.resource = logs.resource
            $0.schemaURL = logs.schemaURL
            $0.scopeMetrics = [
                .with {
                    $0.scope = logs.scopeLogs[0].scope
                    $0.schemaURL = logs.scopeLogs[0].schemaURL
                }
            ]
        }
        let body: Data = try logs.serializedData()
        #expect(try metrics.serializedData() == body)
        let context = try #require(OTLPView.context(body))
        #expect(context["resource"]["attributes"] == .object(["host.name": .text("till-7")]))
        #expect(context["scope"]["name"] == .text("door"))
        #expect(context["resourceSchemaUrl"] == .text("https://example.com/resource"))
        #expect(context["scopeSchemaUrl"] == .text("https://example.com/scope"))
    }

    @Test func `Bytes that are no message show nothing`() {
        for kind in [WireRecordKind.otlpContext, .otlpLog, .otlpMetrics] {
            #expect(OTLPView.json(Data([0xFF, 0xFF]), of: kind) == nil)
        }
        #expect(OTLPView.json(Data(), of: .event) == nil)
    }
}
