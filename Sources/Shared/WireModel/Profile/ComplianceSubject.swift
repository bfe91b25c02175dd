/// What a compliance rule looks at.
package enum ComplianceSubject: String, CaseIterable, Sendable {
    /// The version of the program that embeds the library: its result counts for the application.
    case applicationVersion = "application-version"
    /// The version of the distribution, as its os-release file says: its result counts for the device.
    case operatingSystemVersion = "operating-system-version"
}
