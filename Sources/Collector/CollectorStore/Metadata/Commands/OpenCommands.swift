import FoundationEssentials
import Synchronization
import WireModel

/// Commands that must be sent to devices, in memory, so a batch's answer does not wait for the disk. Limited per device
/// and in total.
final class OpenCommands: Sendable {
    /// The most open commands of one device. All of them fit into one answer.
    static let limitPerDevice = 32
    /// The most of all devices.
    static let limit = 150_000
    /// The most with those of jobs over many devices, so that single commands have room beside them.
    static let limitOfJobs = 125_000
    /// How often expired commands are searched while there is no room, in microseconds.
    private static let sweepMicroseconds: Int64 = 10_000_000

    private struct State {
        var commands: [DeviceID: [WireCommand]] = [:]
        var count = 0
        var lastSweep: Int64 = .min

        /// Devices that stay away do not ask for their commands, so nothing else removes those that have expired.
        mutating func sweep(at now: Int64) {
            let (elapsed, isOver) = now.subtractingReportingOverflow(lastSweep)
            guard isOver || !(0..<OpenCommands.sweepMicroseconds).contains(elapsed) else { return }
            lastSweep = now
            for (device, open) in commands {
                let left = open.filter { $0.expires > now }
                if left.count < open.count { replace(device, by: left) }
            }
        }

        mutating func replace(_ device: DeviceID, by commands: [WireCommand]) {
            count -= (self.commands[device]?.count ?? 0) - commands.count
            self.commands[device] = commands.isEmpty ? nil : commands
        }
    }

    private let state = Mutex(State())
    private let lease: RegistryLease
    /// The most that are loaded. Collectors that issue at the same time can exceed `limit` together.
    private static let loadLimit = 2 * limit

    init(lease: RegistryLease = RegistryLease(clock: nil)) { self.lease = lease }

    /// Loads all open commands in the place of those in memory.
    func load(from connection: any RegistrySession, at now: Int64) throws(StoreError) {
        var loaded = State()
        try connection.each(
            "SELECT device, bytes FROM command WHERE state NOT IN \(CommandStatus.finalStates) AND expires > ? ORDER BY created, id",
            now
        ) { row in
            guard loaded.count < Self.loadLimit, let device = DeviceID(row.data(0)),
                let command = try? WireCommand.decode(row.data(1))
            else { return }
            loaded.commands[device, default: []].append(command)
            loaded.count += 1
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
                let open = try connection.rows(
                    "SELECT bytes FROM command WHERE device = ? AND state NOT IN \(CommandStatus.finalStates) AND expires > ? ORDER BY created, id",
                    device.data, now
                ) { try? WireCommand.decode($0.data(0)) }
                state.withLock { $0.replace(device, by: open) }
            }
        }
    }

    /// The commands to send to a device now, oldest first; none without a lease, because some may have ended. Removes
    /// expired ones.
    /// - Parameter enrollmentID: the device's present enrollment. Commands of others are not for it.
    func commands(of device: DeviceID, enrollmentID: Data, at now: Int64) -> [WireCommand] {
        state.withLock { state in
            guard let open = state.commands[device] else { return [] }
            let left = open.filter { $0.expires > now }
            if left.count < open.count { state.replace(device, by: left) }
            return lease.isValid ? left.filter { $0.enrollmentID == enrollmentID } : []
        }
    }

    /// How many more there may be.
    /// - Parameter limit: of all devices.
    func room(below limit: Int, at now: Int64) -> Int {
        state.withLock { state in
            if state.count >= limit { state.sweep(at: now) }
            return max(0, limit - state.count)
        }
    }

    /// - Returns: whether there was room.
    func add(_ command: WireCommand, of device: DeviceID) -> Bool {
        state.withLock { state in
            guard state.count < Self.limit else { return false }
            // Who follows the registry may have loaded it between its commit and now.
            guard !(state.commands[device] ?? []).contains(where: { $0.id == command.id }) else { return true }
            state.commands[device, default: []].append(command)
            state.count += 1
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
        state.withLock { state in
            guard let open = state.commands[device] else { return }
            state.replace(device, by: open.filter(isKept))
        }
    }
}

/// Results of commands until they are written. Limited: a command whose result does not fit stays open, is sent again,
/// and the device repeats the result.
final class ResultBuffer: Sendable {
    struct Entry: Sendable {
        var device: DeviceID
        var at: Int64
        /// In the order of arrival.
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

    func note(_ entry: Entry) -> Taken {
        state.withLock { state in
            guard state.count + entry.results.count <= Self.limit else { return .full }
            state.entries.append(entry)
            state.count += entry.results.count
            defer { state.isWriting = true }
            return state.isWriting ? .kept : .keptFirst
        }
    }

    /// What could not be written waits again, before what has come since.
    func putBack(_ entries: [Entry]) {
        state.withLock { state in
            state.entries = entries + state.entries
            state.count += entries.reduce(0) { $0 + $1.results.count }
        }
    }

    func take() -> [Entry] {
        state.withLock { state in
            let entries = state.entries
            state = State()
            return entries
        }
    }
}
