import FoundationEssentials
import WireModel

/// The state of each command, and what to do next. Pure.
///
/// Each command has a ``State``. A long one (`isLong`, a request for logs) stays `running` while others are carried out
/// and reports its progress.
///
/// Every change is persisted before it is acted on, so a crash repeats a step and never skips one. A command stays
/// until it expires, so that a repeat is answered and not run again. Times are microseconds of the queue clock, which
/// setting the wall clock does not move.
struct CommandLedgerStateMachine: Codable, Equatable, Sendable {
    enum State: String, Codable, Sendable {
        /// It waits for its turn. -> running, failed (cancelled), expired
        case received
        /// It is being carried out. -> done, failed, notNow, unsupported, expired (a long one), received (restart)
        case running
        /// Final.
        case done
        /// It went wrong, was cancelled or must not be carried out. Final.
        case failed
        /// It is tried again, or goes on, when what it waits for has changed. -> running, done, failed, expired
        case notNow = "not-now"
        /// Its time is over. Final.
        case expired
        /// This version does not know it. Final.
        case unsupported

        var isFinal: Bool {
            switch self {
            case .received, .running, .notNow: false
            case .done, .failed, .expired, .unsupported: true
            }
        }

        var wire: WireCommandState {
            switch self {
            case .received: .received
            case .running: .running
            case .done: .done
            case .failed: .failed
            case .notNow: .notNow
            case .expired: .expired
            case .unsupported: .unsupported
            }
        }
    }

    struct Entry: Codable, Equatable, Sendable {
        /// 16 bytes.
        var id: Data
        /// The `Command` as it came, serialized.
        var command: Data
        /// When it expires.
        var deadline: Int64
        var state: State
        /// For people.
        var detail: String
        /// Whether the collector has yet to be told of the state.
        var isUnreported: Bool
        /// When it was last told.
        var reported: Int64?
        /// When a `notNow` is tried again.
        var retryAt: Int64?
        /// Goes on by itself while others are carried out; `nil`: no.
        var isLong: Bool?
        /// Ten-thousandths, of one that takes long.
        var progress: UInt32?
    }

    /// A log level that holds for a while.
    struct LevelChange: Codable, Equatable, Sendable {
        var command: Data
        /// `WireLogLevel`'s number.
        var level: Int
        var until: Int64
    }

    /// More are answered `notNow`: an entry is never given up before it expires, since its repeat would then be run.
    static let maximumEntries = 256
    /// A repeat is answered so often at most: answers cross with repeats.
    static let answerAgainMicroseconds: Int64 = 60_000_000
    static let retryMicroseconds: Int64 = 60_000_000
    static let keptMicroseconds: Int64 = 3600 * 1_000_000
    /// Progress is told in steps of no less, ten-thousandths.
    static let progressStep: UInt32 = 1000
    /// Longer is taken for this: a command does not outlive the clock that it is counted on.
    static let greatestLifeMicroseconds: Int64 = 400 * 86_400 * 1_000_000

    private(set) var entries: [Entry] = []
    private(set) var levelChange: LevelChange?

    // MARK: Commands arrive

    /// - Parameters:
    ///   - enrollment: the id of the enrollment in force; commands of another one are never run.
    ///   - serverTime: the collector's clock when it answered; what is left of a command's life is counted from it.
    /// - Returns: whether something changed.
    mutating func received(_ commands: [WireCommand], enrollment: Data, serverTime: Int64, now: Int64) -> Bool {
        let before = self
        // An hour longer, so that a repeat on its way is not taken for a new one.
        entries.removeAll { $0.state.isFinal && !$0.isUnreported && $0.deadline + Self.keptMicroseconds <= now }
        for command in commands where command.id.count == 16 {
            if let index = index(of: command.id) {
                repeated(index, now: now)
            } else {
                added(command, enrollment: enrollment, serverTime: serverTime, now: now)
            }
        }
        return self != before
    }

    private mutating func repeated(_ index: Int, now: Int64) {
        guard entries[index].state.isFinal, !entries[index].isUnreported else { return }
        if let reported = entries[index].reported, now - reported < Self.answerAgainMicroseconds { return }
        entries[index].isUnreported = true
    }

    private mutating func added(_ command: WireCommand, enrollment: Data, serverTime: Int64, now: Int64) {
        // A full ledger leaves it to the collector to repeat the command.
        guard entries.count < Self.maximumEntries else { return }
        let (left, overflow) = command.expires.subtractingReportingOverflow(serverTime)
        let life = overflow ? 0 : min(max(0, left), Self.greatestLifeMicroseconds)
        let (state, detail) = Self.verdict(command, enrollment: enrollment, isExpired: life == 0)
        entries.append(
            Entry(
                id: command.id, command: command.encoded, deadline: now + life, state: state, detail: detail,
                isUnreported: true))
    }

    private static func verdict(_ command: WireCommand, enrollment: Data, isExpired: Bool) -> (State, String) {
        // Never an old wipe: a restored collector or an earlier enrollment may still have it.
        guard !enrollment.isEmpty, command.enrollmentID == enrollment else {
            return (.failed, "it belongs to another enrollment of this device and is not carried out")
        }
        guard !isExpired else { return (.expired, "it had expired when it arrived") }
        switch command.action {
        case .requestLogs(let request):
            if let objection = LogRequest.objection(to: request) { return (.failed, objection) }
            return (.received, "")
        case nil: return (.unsupported, "this version does not know the command: update it")
        case .changeLogLevel(let change):
            guard (WireLogLevel.error.rawValue...WireLogLevel.verbose.rawValue).contains(change.level.rawValue),
                (1...604_800).contains(change.durationSeconds)
            else { return (.failed, "a level from error to verbose and 1 to 604800 seconds are needed") }
            return (.received, "")
        case .cancel, .sendBeacon, .queryDeviceInformation, .reloadProfile, .wipe: return (.received, "")
        }
    }

    // MARK: Commands run

    /// The next to carry out, in the order they came; those whose time is over first become `expired`.
    func nextToRun(now: Int64) -> Entry? {
        entries.first { entry in
            switch entry.state {
            case .received: true
            case .notNow: entry.isLong != true && (entry.retryAt ?? 0) <= now
            case .running, .done, .failed, .expired, .unsupported: false
            }
        }
    }

    /// What was running when the program ended runs again: each action is harmless twice.
    mutating func restarted() {
        for index in entries.indices where !entries[index].state.isFinal { entries[index].isLong = nil }
        stepFailed()
    }

    /// As `restarted`, for what was being carried out when the ledger could not be written. What takes long goes on all
    /// the while.
    mutating func stepFailed() {
        for index in entries.indices where entries[index].state == .running && entries[index].isLong != true {
            entries[index].state = .received
        }
    }

    /// - Returns: what waited, or went on by itself, and has expired.
    mutating func expire(now: Int64) -> [Entry] {
        var expired: [Entry] = []
        for index in entries.indices where entries[index].deadline <= now && !entries[index].state.isFinal {
            guard entries[index].state != .running || entries[index].isLong == true else { continue }
            expired.append(entries[index])
            set(index, .expired, "it could not be carried out in time")
        }
        return expired
    }

    mutating func began(_ id: Data) { change(id, .running, "") }

    /// - Parameter detail: for people: what came of it, or why it failed.
    mutating func ended(_ id: Data, _ state: State, _ detail: String, now: Int64) {
        change(id, state, detail)
        if state == .notNow, let index = index(of: id) { entries[index].retryAt = now + Self.retryMicroseconds }
    }

    /// It goes on by itself from now on.
    mutating func goesOn(_ id: Data) {
        guard let index = index(of: id), entries[index].state == .running || entries[index].state == .notNow else {
            return
        }
        entries[index].isLong = true
        entries[index].retryAt = nil
    }

    /// How far one that goes on by itself has come, and what it waits for, if it does.
    /// - Returns: whether there is something to tell.
    mutating func progressed(_ id: Data, _ progress: UInt32, waitsFor why: String) -> Bool {
        guard let index = index(of: id), entries[index].isLong == true, !entries[index].state.isFinal else {
            return false
        }
        let state = why.isEmpty ? State.running : .notNow
        let isFurther = progress >= (entries[index].progress ?? 0) + Self.progressStep
        guard state != entries[index].state || why != entries[index].detail || isFurther else { return false }
        entries[index].progress = progress
        set(index, state, why)
        return true
    }

    /// Cancels what has not begun or goes on by itself, or ends a change of the log level that is in force.
    ///
    /// - Returns: what to answer to the cancelling command.
    mutating func cancelled(_ target: Data) -> (State, String) {
        if levelChange?.command == target {
            levelChange = nil
            return (.done, "the log level has returned")
        }
        guard let index = index(of: target) else { return (.failed, "there is no such command on this device") }
        switch entries[index].state {
        case .running where entries[index].isLong != true: return (.failed, "it is being carried out")
        case .received, .notNow, .running:
            set(index, .failed, "cancelled")
            return (.done, "")
        case .done, .failed, .expired, .unsupported:
            return (.failed, "it has ended already: \(entries[index].state.rawValue)")
        }
    }

    // MARK: Log level

    /// A repeat of the same command does not extend it.
    mutating func levelChanged(to level: Int, by command: Data, seconds: UInt32, now: Int64) {
        guard levelChange?.command != command else { return }
        levelChange = LevelChange(command: command, level: level, until: now + Int64(seconds) * 1_000_000)
    }

    /// - Returns: whether it has returned now.
    mutating func levelReturned(now: Int64) -> Bool {
        guard let change = levelChange, change.until <= now else { return false }
        levelChange = nil
        return true
    }

    /// Whether a command is here and has not ended.
    func isOpen(_ id: Data) -> Bool { index(of: id).map { !entries[$0].state.isFinal } ?? false }

    // MARK: Reports

    /// Those whose state the collector has yet to be told.
    var unreported: [Entry] { entries.filter(\.isUnreported) }

    mutating func reported(_ id: Data, _ state: State, now: Int64) {
        // It may have changed meanwhile: then the newer state is still to be told.
        guard let index = index(of: id), entries[index].state == state else { return }
        entries[index].isUnreported = false
        entries[index].reported = now
    }

    /// When something is to be looked at again; `nil`: nothing waits for a time.
    var wakeAt: Int64? {
        let waiting = entries.filter { !$0.state.isFinal && ($0.state != .running || $0.isLong == true) }
        return (waiting.map { min($0.deadline, $0.retryAt ?? $0.deadline) } + [levelChange?.until].compactMap { $0 })
            .min()
    }

    private func index(of id: Data) -> Int? { entries.firstIndex { $0.id == id } }

    private mutating func change(_ id: Data, _ state: State, _ detail: String) {
        if let index = index(of: id) { set(index, state, detail) }
    }

    private mutating func set(_ index: Int, _ state: State, _ detail: String) {
        entries[index].state = state
        entries[index].detail = detail
        entries[index].isUnreported = true
    }
}

/// `<data>/commands.json`: what became of each command, until it expires.
///
/// A damaged file is quarantined and counts as empty. That is safe for the one command that must not be replayed, the
/// wipe, because its own note and the enrollment it belongs to are kept elsewhere; others run once more.
struct CommandLedger: Codable, Equatable, Sendable {
    static let fileName = "commands.json"

    var machine = CommandLedgerStateMachine()

    static func file(in directory: String) -> StateFile<CommandLedger> {
        StateFile(directory: directory, name: fileName)
    }
}

/// How a command does that goes on by itself.
enum CommandCourse: Equatable, Sendable {
    /// - Parameters:
    ///   - progress: ten-thousandths.
    ///   - waitsFor: what keeps it from going on, for people; empty: nothing.
    case progressed(UInt32, waitsFor: String)
    /// - Parameter detail: for people.
    case ended(CommandLedgerStateMachine.State, String)

    var isEnd: Bool {
        switch self {
        case .progressed: false
        case .ended: true
        }
    }
}
