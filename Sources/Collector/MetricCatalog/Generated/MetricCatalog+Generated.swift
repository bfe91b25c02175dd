// Written by Tools/generate-wire from Schemas/wire/v1. Do not edit.
import WireModel

/// The definition of each metric.
enum Definitions {}

extension WireRecordKind {
    /// The sample in the body of a record of this kind, if the catalog knows its fields.
    package var catalogedSample: (any CatalogedSample.Type)? {
        switch self {
        case .sampleSystem: WireSystemSample.self
        case .sampleAnalytics: WireAnalyticsSample.self
        case .sampleNetworkData: WireNetworkDataSample.self
        case .sampleNetworkAdapter: WireNetworkAdapterSample.self
        case .sampleWlan: WireWLANSample.self
        case .sampleGps: WireGPSSample.self
        default: nil
        }
    }
}

extension WireNetworkClass {
    /// As the value of an attribute; `nil` if it is unknown or of a later version.
    var attributeValue: String? {
        switch self {
        case .unknown: nil
        case .offline: "offline"
        case .ethernet: "ethernet"
        case .wifi: "wifi"
        case .cellular: "cellular"
        case .loopback: "loopback"
        case .tunnel: "tunnel"
        case .other: "other"
        case .UNRECOGNIZED: nil
        }
    }
}
