import WireModel

/// What the profile's compliance rules say of this device and its application.
struct ComplianceReport: Equatable, Sendable {
    /// Unknown where no rule looks at the device.
    var device = WireCompliance.unknown
    /// Unknown where no rule looks at the application.
    var application = WireCompliance.unknown
    /// One for each rule, in the profile's order.
    var results: [WireRuleResult] = []
}
