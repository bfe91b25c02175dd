import CollectorStore
import WireModel

/// Commands for devices and how they went: the port the routes use; the store's `CollectorRegistry` is behind it.
package protocol CommandRegistry: Sendable {
    /// Issues a command to a device's present enrollment. - Returns: with it, whether it is new.
    func issue(_ command: NewCommand, organization: String?) async throws(IssueError) -> (row: CommandRow, isNew: Bool)
    /// Newest first.
    func commands(of device: DeviceID, below position: CommandPosition?, limit: Int) async throws(StoreError) -> CommandPage
    func command(_ id: CommandID, of device: DeviceID) async throws(StoreError) -> CommandRow?

    /// What a device is to be given now, from memory.
    func openCommands(of device: DeviceRow, at now: Int64) -> [WireCommand]
    /// Takes over what a device has said of its commands, in the order it said so. Returns at once.
    func noteResults(_ results: [WireCommandResult], of device: DeviceID, at now: Int64)
}

extension CollectorRegistry: CommandRegistry {}
