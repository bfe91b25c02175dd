/// How much of devices' logs a collector keeps. What is over a bound that was lowered stays until it is deleted.
///
/// An application's name comes from the device, so a bound by name alone is none: whoever invents names would have a
/// quota for each. So the names are bounded, and what an organization keeps in all. Test devices have bounds of their
/// own beside the others.
package struct LogQuotas: Equatable, Sendable {
    /// Raw bytes per organization and application; the Workspace ONE console's 200 MB.
    package var applicationBytes = 200_000_000
    /// Raw bytes per organization, of all applications together; `nil`: as many as 50 applications may have.
    package var organizationBytes: Int?
    /// Names of applications that one device has open uploads or kept logs of.
    package var applicationsPerDevice = 50
    /// The same of all devices of an organization.
    package var applicationsPerOrganization = 1000

    package init() {}

    var totalBytes: Int { organizationBytes ?? 50 * applicationBytes }
}
