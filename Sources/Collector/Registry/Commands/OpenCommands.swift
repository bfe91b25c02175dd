import FoundationEssentials
import RecordStore
import Synchronization
import WireModel

/// Commands that must be sent to devices, in memory, so a batch's answer does not wait for the disk. Limited per device
/// (`CommandShare`) and per organization, so that no organization uses another's room.
final class OpenCommands: Sendable {
    /// The most places (`WireCommand.places`) of all devices of an organization. Wipes and cancellations take none.
    static let limit = 150_000
    /// The most with those of jobs over many devices, so that single commands have room beside them.
    static let limitOfJobs = 125_000
    /// How often expired commands are searched while there is no room, in microseconds.
    private static let sweepMicroseconds: Int64 = 10_000_000

    private struct Open {
        var organization: String
        /// Oldest first.
        var commands: [WireCommand]

        var counted: Int { commands.reduce(0) { $0 + $1.places } }
    }

    private struct State {
        var devices: [DeviceID: Open] = [:]
        /// Those of each organization that count.
        var counts: [String: Int] = [:]
        var lastSweep: Int64 = .min

        /// Devices that stay away do not ask for their commands, so nothing else removes those that have expired.
        mutating func sweep(at now: Int64) {
            let (elapsed, isOver) = now.subtractingReportingOverflow(lastSweep)
            guard isOver || !(0..<OpenCommands.sweepMicroseconds).contains(elapsed) else { return }
            lastSweep = now
            for device in Array(devices.keys) { keep(of: device) { $0.expires > now } }
        }

        mutating func keep(of device: DeviceID, where isKept: (WireCommand) -> Bool) {
            guard var open = devices[device], !open.commands.allSatisfy(isKept) else { return }
            open.commands.removeAll { !isKept($0) }
            replace(device, by: open)
        }

        mutating func replace(_ device: DeviceID, by open: Open) {
            if let former = devices[device] { counts[former.organization, default: 0] -= former.counted }
            counts[open.organization, default: 0] += open.counted
            devices[device] = open.commands.isEmpty ? nil : open
        }

        mutating func append(_ command: WireCommand, of device: DeviceID, organization: String) {
            devices[device, default: Open(organization: organization, commands: [])].commands.append(command)
            counts[organization, default: 0] += command.places
        }
    }

    private let state = Mutex(State())
    private let lease: RegistryLease
    /// The most of an organization that are loaded. Collectors that issue at the same time can exceed `limit` together.
    private static let loadLimit = 2 * limit

    init(lease: RegistryLease = RegistryLease(clock: nil)) { self.lease = lease }

    /// Loads all open commands in the place of those in memory.
    func load(from connection: any RegistrySession, at now: Int64) throws(StoreError) {
        var loaded = State()
        try connection.each(
            """
            SELECT command.device, bytes, organization FROM command JOIN device ON device.id = command.device
            WHERE state NOT IN \(CommandStatus.finalStates) AND expires > ? ORDER BY command.created, command.id
            """, now
        ) { row in
            guard let device = DeviceID(row.data(0)), let command = try? WireCommand.decode(row.data(1)) else { return }
            let organization = row.string(2)
            guard command.places == 0 || loaded.counts[organization, default: 0] < Self.loadLimit
            else { return }
            loaded.append(command, of: device, organization: organization)
        }
        state.withLock { $0 = loaded }
    }

    /// Loads the open commands of these devices in the place of those in memory.
    ///
    /// A command that is issued here meanwhile may be missing afterwards. Its own change is read later and brings it.
    func load(of devices: Set<DeviceID>, from connection: any RegistrySession, at now: Int64) throws(StoreError) {
        guard !devices.isEmpty else { return }
        try connection.reading { () throws(StoreError) in
            for device in devices {
                let found = try connection.first("SELECT organization FROM device WHERE id = ?", device.data) {
                    $0.string(0)
                }
                guard let organization = found else {
                    forget(device)
                    continue
                }
                let commands = try Self.read(of: device, from: connection, at: now)
                state.withLock { $0.replace(device, by: Open(organization: organization, commands: commands)) }
            }
        }
    }

    /// A device's open commands on disk, oldest first.
    static func read(
        of device: DeviceID, from connection: any RegistrySession, at now: Int64
    ) throws(StoreError) -> [WireCommand] {
        try connection.rows(
            """
            SELECT bytes FROM command WHERE device = ? AND state NOT IN \(CommandStatus.finalStates) AND expires > ?
            ORDER BY created, id
            """, device.data, now
        ) { try? WireCommand.decode($0.data(0)) }
    }

    /// The commands to send to a device now, oldest first; none without a lease, because some may have ended. Removes
    /// expired ones.
    /// - Parameter enrollmentID: the device's present enrollment. Commands of others are not for it.
    func commands(of device: DeviceID, enrollmentID: Data, at now: Int64) -> [WireCommand] {
        state.withLock { state in
            state.keep(of: device) { $0.expires > now }
            guard let open = state.devices[device], lease.isValid else { return [] }
            return open.commands.filter { $0.enrollmentID == enrollmentID }
        }
    }

    /// How many more places the commands of an organization may take.
    /// - Parameter limit: of all its devices.
    func room(below limit: Int, organization: String, at now: Int64) -> Int {
        state.withLock { state in
            if state.counts[organization, default: 0] >= limit { state.sweep(at: now) }
            return max(0, limit - state.counts[organization, default: 0])
        }
    }

    /// Adds a command that was issued, and forgets those that it ends.
    /// - Returns: whether there was room.
    func add(_ command: WireCommand, of device: DeviceID, organization: String) -> Bool {
        state.withLock { state in
            guard command.places == 0 || state.counts[organization, default: 0] < Self.limit else { return false }
            state.keep(of: device) { !$0.isEnded(by: command) }
            // Who follows the registry may have loaded it between its commit and now.
            let isKnown = state.devices[device]?.commands.contains { $0.id == command.id } ?? false
            if !isKnown { state.append(command, of: device, organization: organization) }
            return true
        }
    }

    /// The device reported that they ended.
    func end(_ ids: Set<Data>, of device: DeviceID) { keep(of: device) { !ids.contains($0.id) } }

    /// Forgets all commands of a device that nothing reaches any more.
    func forget(_ device: DeviceID) { keep(of: device) { _ in false } }

    /// Forgets the commands of a device's other enrollments.
    func forget(_ device: DeviceID, but enrollmentID: Data) {
        keep(of: device) { $0.enrollmentID == enrollmentID }
    }

    private func keep(of device: DeviceID, where isKept: (WireCommand) -> Bool) {
        state.withLock { $0.keep(of: device, where: isKept) }
    }
}

/// Results of commands until they are written. Limited: a command whose result does not fit stays open, is sent again,
/// and the device repeats the result.
final class ResultBuffer: Sendable {
    package struct Entry: Sendable {
        var device: DeviceID
        var at: Int64
        /// The results in the order of arrival.
        var results: [WireCommandResult]
    }

    private struct State {
        var entries: [Entry] = []
        var count = 0
        var isWriting = false
    }

    private let state = Mutex(State())
    private static let limit = 16_384

    enum Taken {
        /// A write that is already due includes it.
        case kept
        /// Kept, and the caller starts the write.
        case keptFirst
        case full
    }

    func record(_ entry: Entry) -> Taken {
        state.withLock { state in
            guard state.count + entry.results.count <= Self.limit else { return .full }
            state.entries.append(entry)
            state.count += entry.results.count
            defer { state.isWriting = true }
            return state.isWriting ? .kept : .keptFirst
        }
    }

    /// Puts back what could not be written, so that it waits again before what has come since.
    func putBack(_ entries: [Entry]) {
        state.withLock { state in
            state.entries = entries + state.entries
            state.count += entries.reduce(0) { $0 + $1.results.count }
        }
    }

    func drain() -> [Entry] {
        state.withLock { state in
            let entries = state.entries
            state = State()
            return entries
        }
    }
}
