import SwiftProtobuf

extension WireProfile {
    /// Whether it has settings of a later version of telemetry.proto, which this version cannot apply.
    package var hasUnknownFields: Bool {
        let single: [any Message] = [self, sampling, analytics, logging, budgets, detection]
        let repeated: [[any Message]] = [
            sampling.overrides, transmission, compliance, geofences, geofences.flatMap(\.corners),
        ]
        return (single + repeated.joined()).contains { !$0.unknownFields.data.isEmpty }
    }
}
