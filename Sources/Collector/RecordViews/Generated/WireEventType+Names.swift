// Written by Tools/generate-wire from Schemas/wire/v1. Do not edit.
import WireModel

extension WireEventType {
    /// The types with their names.
    package static let named: [(name: String, type: WireEventType)] = [
        ("unspecified", .unspecified),
        ("custom", .custom),
        ("launch", .launch),
        ("enrollment-call", .enrollmentCall),
        ("sdk-action", .sdkAction),
        ("geofence", .geofence),
    ]
}
