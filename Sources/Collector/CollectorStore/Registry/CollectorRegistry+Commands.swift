import FoundationEssentials
import WireModel

extension CollectorRegistry {
    /// Issues a command to a device's present enrollment; on synced disk when it returns.
    /// - Parameter organization: `nil` for any; a device of another one is not there.
    /// - Returns: with the command, whether it is new: the same request with the same key gives the one it has issued.
    package func issue(_ command: NewCommand, organization: String?) async throws(IssueError) -> (row: CommandRow, isNew: Bool) {
        try await database.issue(command, organization: organization)
    }

    /// A device's commands, newest first.
    /// - Parameter limit: 1 to 1,000.
    package func commands(of device: DeviceID, below position: CommandPosition?, limit: Int) async throws(StoreError) -> CommandPage {
        guard (1...1000).contains(limit) else { throw StoreError(.invalid, "limit is \(limit); expected 1 to 1,000.") }
        return try await database.commands(of: device, below: position, limit: limit)
    }

    package func command(_ id: CommandID, of device: DeviceID) async throws(StoreError) -> CommandRow? {
        try await database.command(id, of: device)
    }

    /// What a device is to be given with an answer, from memory: neither ended nor expired, of its present enrollment, oldest first.
    package func openCommands(of device: DeviceRow, at now: Int64) -> [WireCommand] {
        database.commands.commands(of: device.id, enrollmentID: device.enrollmentID, at: now)
    }

    /// Takes over what a device says of its commands, in the order it said so. Returns at once: what has ended is not given to the device
    /// again; it is written soon after, and before it is asked for.
    package func noteResults(_ results: [WireCommandResult], of device: DeviceID, at now: Int64) {
        let results = results.filter { $0.commandID.count == 16 }
        guard !results.isEmpty else { return }
        let taken = database.results.note(ResultBuffer.Entry(device: device, at: now, results: results))
        if case .full = taken { return }
        database.commands.end(Set(results.filter { CommandStatus.isFinal($0.state) }.map(\.commandID)), of: device)
        // Not awaited on purpose: whoever stores records must not wait for it.
        if case .keptFirst = taken { Task { await database.writeResults() } }
    }
}
