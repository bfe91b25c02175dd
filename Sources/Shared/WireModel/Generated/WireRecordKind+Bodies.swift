// Written by Tools/generate-wire from Schemas/wire/v1. Do not edit.
import SwiftProtobuf

extension WireRecordKind {
    /// The message in the body; `nil` for a kind of OTLP, and for one of a later version.
    package var body: (any Message.Type)? {
        switch self {
        case .beacon: WireBeacon.self
        case .commandResult: WireCommandResult.self
        case .event: WireEvent.self
        case .sampleSystem: WireSystemSample.self
        case .sampleAnalytics: WireAnalyticsSample.self
        case .sampleNetworkData: WireNetworkDataSample.self
        case .sampleNetworkAdapter: WireNetworkAdapterSample.self
        case .sampleWlan: WireWLANSample.self
        case .sampleGps: WireGPSSample.self
        case .sampleCustom: WireCustomSample.self
        case .otlpContext, .otlpLog, .otlpMetrics, .unspecified, .UNRECOGNIZED: nil
        }
    }

    /// Whether collectors make records of this kind, of what came as OTLP. A device may send one of them with a
    /// context of its own (`RecordEnvelope.mayComeFromDevice`).
    package var isMadeByCollectors: Bool {
        switch self {
        case .otlpContext, .otlpLog, .otlpMetrics: true
        default: false
        }
    }

    /// The kind in one word; a sample's is that of its module. `nil` for a kind of a later version.
    package var word: String? {
        switch self {
        case .beacon: "beacon"
        case .commandResult: "command-result"
        case .event: "event"
        case .sampleSystem: "system"
        case .sampleAnalytics: "analytics"
        case .sampleNetworkData: "network-data"
        case .sampleNetworkAdapter: "network-adapter"
        case .sampleWlan: "wlan"
        case .sampleGps: "gps"
        case .sampleCustom: "custom"
        case .otlpContext: "otlp-context"
        case .otlpLog: "otlp-log"
        case .otlpMetrics: "otlp-metrics"
        case .unspecified, .UNRECOGNIZED: nil
        }
    }

    /// Built-in sample modules with a kind of their own, by name.
    package static let modules: [(name: String, kind: WireRecordKind)] = [
        ("system", .sampleSystem),
        ("analytics", .sampleAnalytics),
        ("networkData", .sampleNetworkData),
        ("networkAdapter", .sampleNetworkAdapter),
        ("wlan2", .sampleWlan),
        ("gps", .sampleGps),
    ]
}
