import Synchronization

/// Limits of devices' logs at the collector. Logs above a lowered limit stay until they are deleted.
///
/// Devices choose the application's name, and each name has a quota. So the number of names is limited too, and the
/// bytes of a device and of a whole organization. Test devices have separate limits of the same size.
package struct LogQuotas: Equatable, Sendable {
    /// Bytes of text per organization and application; the Workspace ONE console's 200 MB.
    package var applicationBytes = 200_000_000
    /// Bytes of text per organization over all applications; `nil` for as many as 50 applications may have.
    package var organizationBytes: Int?
    /// Bytes of text per device over all applications; `nil` for as many as two applications may have.
    package var deviceBytes: Int?
    /// Application names of one device with open uploads or stored logs.
    package var applicationsPerDevice = 50
    /// The same over all devices of an organization.
    package var applicationsPerOrganization = 1000

    package init() {}

    package var deviceTotalBytes: Int { deviceBytes ?? 2 * applicationBytes }
    package var totalBytes: Int { organizationBytes ?? 50 * applicationBytes }
}

/// The quotas in force; they change while the collector serves.
package final class CurrentLogQuotas: Sendable {
    private let quotas = Mutex(LogQuotas())

    package var value: LogQuotas { quotas.withLock { $0 } }
    package func set(_ new: LogQuotas) { quotas.withLock { $0 = new } }
}
