import DeviceTunables
import FoundationEssentials
import WireModel

/// Keeps the state of each command and decides what to do next. Pure.
///
/// Each command has a ``State``. A long one (`isLong`, a request for logs or a message) stays `running` while others
/// are carried out. A request for logs reports its progress; a message that failed is put off.
///
/// Every change is stored before it is acted on, so a crash repeats a step and never skips one. A command is kept until
/// it expires, so a repeat is answered and not run again. Times are microseconds of the queue clock, which setting the
/// wall clock does not change.
struct CommandLedgerStateMachine: Codable, Equatable, Sendable {
    enum State: String, Codable, Sendable {
        /// Waits for its turn. -> running, failed (cancelled), expired
        case received
        /// Is being carried out. -> done, failed, notNow, unsupported, expired (a long one), received (restart)
        case running
        /// Final.
        case done
        /// Failed, was cancelled, or must not be carried out. Final.
        case failed
        /// Is tried again or continues when its obstacle has changed. -> running, done, failed, expired
        case notNow = "not-now"
        /// Its lifetime is over. Final.
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
        /// The received `Command`, serialized.
        var command: Data
        /// The time at which it expires.
        var deadline: Int64
        var state: State
        /// The details for people.
        var detail: String
        /// Whether the state must still be reported to the collector.
        var isUnreported: Bool
        /// When it was last reported.
        var reported: Int64?
        /// When a `notNow` command is tried again.
        var retryAt: Int64?
        /// Whether it continues by itself while others are carried out.
        var isLong: Bool?
        /// Progress of a long command, in ten-thousandths.
        var progress: UInt32?
        /// How often a long command was put off.
        var attempts: Int?
        /// The certificate of a wipe, which goes with its result.
        var certificate: String?
    }

    /// A temporary log level.
    struct LevelChange: Codable, Equatable, Sendable {
        var command: Data
        /// The raw value of a `WireLogLevel`.
        var level: Int
        var until: Int64
        /// Bundle id; absent for all programs.
        var application: String?
    }

    /// The least step in which progress is reported, in ten-thousandths.
    static let progressStep: UInt32 = 1000
    /// The longest accepted lifetime. The clock that counts it must outlive the command.
    static let greatestLifeMicroseconds: Int64 = 400 * 86_400 * 1_000_000

    private(set) var entries: [Entry] = []
    private(set) var levelChange: LevelChange?

    // MARK: Commands arrive

    /// - Parameters:
    ///   - enrollment: the id of the present enrollment. Commands of another enrollment are never run.
    ///   - serverTime: the collector's clock when it answered. A command's remaining lifetime is counted from it.
    /// - Returns: whether anything changed.
    mutating func received(_ commands: [WireCommand], enrollment: Data, serverTime: Int64, now: Int64) -> Bool {
        let before = self
        // Kept an hour longer, so a late repeat does not count as new.
        entries.removeAll {
            $0.state.isFinal && !$0.isUnreported && $0.deadline + Tunables.Commands.keptMicroseconds <= now
        }
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
        if let reported = entries[index].reported, now - reported < Tunables.Commands.answerAgainMicroseconds { return }
        entries[index].isUnreported = true
    }

    private mutating func added(_ command: WireCommand, enrollment: Data, serverTime: Int64, now: Int64) {
        // If the ledger is full, the collector repeats the command later.
        guard entries.count < Tunables.Commands.maximumEntries else { return }
        let (left, overflow) = command.expires.subtractingReportingOverflow(serverTime)
        let life = overflow ? 0 : min(max(0, left), Self.greatestLifeMicroseconds)
        let (state, detail) = Self.verdict(command, enrollment: enrollment, isExpired: life == 0)
        entries.append(
            Entry(
                id: command.id, command: (state.isFinal ? command.withoutContent : command).encoded,
                deadline: now + life, state: state, detail: detail, isUnreported: true))
    }

    private static func verdict(_ command: WireCommand, enrollment: Data, isExpired: Bool) -> (State, String) {
        // An old wipe is never run. A restored collector or an earlier enrollment may still have it.
        guard !enrollment.isEmpty, command.enrollmentID == enrollment else {
            return (.failed, "it belongs to an earlier enrollment of this device")
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
            else { return (.failed, "it needs a level from error to verbose and 1 to 604800 seconds") }
            return (.received, "")
        case .message(let message):
            if let (field, rule) = message.objection { return (.failed, "its \(field) \(rule)") }
            return (.received, "")
        case .cancel, .sendBeacon, .queryDeviceInformation, .reloadProfile, .wipe, .enterpriseWipe:
            return (.received, "")
        }
    }

    // MARK: Commands run

    /// The next command to run, in the order of arrival. Those whose lifetime is over become `expired` first.
    func nextToRun(now: Int64) -> Entry? {
        entries.first { entry in
            switch entry.state {
            case .received: true
            case .notNow: entry.isLong != true && (entry.retryAt ?? 0) <= now
            case .running, .done, .failed, .expired, .unsupported: false
            }
        }
    }

    /// Commands that were running when the program ended run again. Every action may be repeated safely.
    mutating func restarted() {
        for index in entries.indices where !entries[index].state.isFinal { entries[index].isLong = nil }
        stepFailed()
    }

    /// Like `restarted`, for commands in progress when the ledger could not be written. Long commands continue.
    mutating func stepFailed() {
        for index in entries.indices where entries[index].state == .running && entries[index].isLong != true {
            entries[index].state = .received
        }
    }

    /// - Returns: commands that waited or continued by themselves and have expired.
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

    /// - Parameters:
    ///   - detail: the result or the cause of the failure, for people.
    ///   - certificate: of a wipe that is done.
    mutating func ended(_ id: Data, _ state: State, _ detail: String, certificate: String? = nil, now: Int64) {
        change(id, state, detail)
        if let certificate, let index = index(of: id) { entries[index].certificate = certificate }
        if state == .notNow, let index = index(of: id) {
            entries[index].retryAt = now + Tunables.Commands.retryMicroseconds
        }
    }

    /// A long command failed and begins anew later: each time after twice the pause.
    mutating func putOff(_ id: Data, _ detail: String, now: Int64) {
        guard let index = index(of: id), entries[index].isLong == true, !entries[index].state.isFinal else { return }
        let attempts = entries[index].attempts ?? 0
        entries[index].attempts = attempts + 1
        entries[index].isLong = nil
        set(index, .notNow, detail)
        entries[index].retryAt =
            now
            + min(
                Tunables.Commands.retryMicroseconds << Int64(min(attempts, 16)),
                Tunables.Commands.longestRetryMicroseconds)
    }

    /// The device was wiped or left: no message that waits is delivered.
    /// - Returns: whether there was one.
    mutating func messagesErased() -> Bool {
        var isChanged = false
        for index in entries.indices where !entries[index].state.isFinal {
            guard case .message? = (try? WireCommand.decode(entries[index].command))?.action else { continue }
            set(index, .expired, "the device was wiped or has left before the message was delivered")
            isChanged = true
        }
        return isChanged
    }

    /// The command continues by itself from now on.
    mutating func goesOn(_ id: Data) {
        guard let index = index(of: id), entries[index].state == .running || entries[index].state == .notNow else {
            return
        }
        entries[index].isLong = true
        entries[index].retryAt = nil
    }

    /// Records the progress of a long command, and what it waits for.
    /// - Returns: whether there is something to report.
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

    /// Cancels a command that has not begun or continues by itself, or ends a temporary log level.
    ///
    /// - Returns: the answer to the cancelling command.
    mutating func cancelled(_ target: Data) -> (State, String) {
        if levelChange?.command == target {
            levelChange = nil
            return (.done, "the former log level is in force again")
        }
        guard let index = index(of: target) else { return (.failed, "this device has no such command") }
        switch entries[index].state {
        case .running where entries[index].isLong != true: return (.failed, "it is already running")
        case .received, .notNow, .running:
            set(index, .failed, "cancelled")
            return (.done, "")
        case .done, .failed, .expired, .unsupported:
            return (.failed, "it has ended already: \(entries[index].state.rawValue)")
        }
    }

    // MARK: Log level

    /// A repeat of the same command does not extend its time.
    mutating func levelChanged(_ change: WireChangeLogLevel, by command: Data, now: Int64) {
        guard levelChange?.command != command else { return }
        levelChange = LevelChange(
            command: command, level: change.level.rawValue, until: now + Int64(change.durationSeconds) * 1_000_000,
            application: change.application.isEmpty ? nil : change.application)
    }

    /// - Returns: whether the level has just returned.
    mutating func levelReturned(now: Int64) -> Bool {
        guard let change = levelChange, change.until <= now else { return false }
        levelChange = nil
        return true
    }

    /// The temporary log level; `nil` for none.
    var logLevel: LogLevelWish? {
        guard let change = levelChange, let level = WireLogLevel(rawValue: change.level).flatMap({ LogLevel($0) })
        else { return nil }
        return LogLevelWish(level: level, application: change.application ?? "")
    }

    /// Whether a command is known and has not ended.
    func isOpen(_ id: Data) -> Bool { index(of: id).map { !entries[$0].state.isFinal } ?? false }

    /// Whether a command is open, or its end must still be reported.
    func isOwed(_ id: Data) -> Bool { isOpen(id) || unreported.contains { $0.id == id } }

    // MARK: Reports

    /// Commands whose state must be reported to the collector.
    var unreported: [Entry] { entries.filter(\.isUnreported) }

    mutating func reported(_ id: Data, _ state: State, now: Int64) {
        // The state may have changed meanwhile; then the newer one must still be reported.
        guard let index = index(of: id), entries[index].state == state else { return }
        entries[index].isUnreported = false
        entries[index].reported = now
    }

    /// When to look again; `nil` if nothing waits for a time.
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
        if state.isFinal, let command = try? WireCommand.decode(entries[index].command) {
            entries[index].command = command.withoutContent.encoded
        }
    }
}

extension WireCommand {
    /// Without what a person wrote to another, which is not kept longer than it is needed.
    fileprivate var withoutContent: WireCommand {
        guard case .message? = action else { return self }
        var bare = self
        bare.message = WireDeliverMessage()
        return bare
    }
}

/// The content of `<data>/commands.json`: the state of each command until it expires.
///
/// A damaged file is quarantined and counts as empty. This is safe for a wipe, the only command that must not be
/// repeated, because its own note and its enrollment are stored elsewhere. Other commands run once more.
struct CommandLedger: KeptState, Equatable {
    static let fileName = "commands.json"

    var machine = CommandLedgerStateMachine()
}

/// The progress of a command that continues by itself.
enum CommandCourse: Equatable, Sendable {
    /// - Parameters:
    ///   - progress: in ten-thousandths.
    ///   - waitsFor: what keeps it waiting, for people; empty if nothing.
    case progressed(UInt32, waitsFor: String)
    /// - Parameter detail: for people.
    case ended(CommandLedgerStateMachine.State, String)

    var isEnd: Bool { if case .ended = self { true } else { false } }
}
