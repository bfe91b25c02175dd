import Logging
import RecordQueue
import Synchronization
import WireModel

/// The push token on disk: `<data>/push-token`, 0600. Safe from any thread.
///
/// The file says which change is pending and which beacons hold it, so that a restart neither forgets the change nor
/// tells it for ever. Nothing is written while no change is pending.
final class PushTokenStore: Sendable {
    static let fileName = "push-token"
    /// APNs tokens have 64 characters, FCM's under 300.
    static let tokenBytes = 1...4_096

    private let file: StateFile<PushTokenState>
    private let logger: Logger
    private let state: Mutex<PushTokenState>

    /// A damaged file is quarantined: the token is unknown until the application says it again, as it does at each of
    /// its starts.
    init(directory: String, logger: Logger) {
        file = StateFile(directory: directory, name: Self.fileName)
        self.logger = logger
        func warn(_ error: DataSamplerError) {
            logger.warning("the push token is unknown until it is set again", metadata: ["reason": "\(error.message)"])
        }
        var stored: PushTokenState?
        do throws(DataSamplerError) { stored = try file.loadOrKeepAsDamaged(damaged: warn) } catch { warn(error) }
        state = Mutex(stored ?? PushTokenState())
    }

    /// The application says its token; `nil` clears it at the collector.
    ///
    /// - Returns: whether it is a change: tell the beacons' state machine (`changed`) and send one at once. On disk
    ///   when this returns.
    /// - Throws: `invalidConfiguration` for a token that is empty or over 4,096 bytes, `storage`; then nothing has
    ///   changed.
    func set(_ token: String?) throws(DataSamplerError) -> Bool {
        if let token, !Self.tokenBytes.contains(token.utf8.count) {
            throw DataSamplerError(
                .invalidConfiguration,
                "the push token has \(token.utf8.count) bytes: it must have 1 to 4096, or be nil to be cleared")
        }
        return try state.withLock { state throws(DataSamplerError) in
            var next = state
            guard next.set(token) else { return false }
            try file.save(next)
            state = next
            return true
        }
    }

    /// What a beacon made now holds; `nil`: nothing to tell.
    var pending: PushTokenState.Pending? { state.withLock { $0.pending } }

    /// A beacon that held `pending` is on synced disk under this number.
    /// - Parameter status: of the queue when the beacon was made, in the epoch the number is of.
    func queued(_ pending: PushTokenState.Pending, number: UInt64, status: QueueStatus) {
        change("a beacon that holds the push token") {
            $0.queued(number: number, epoch: "\(status.epoch)", change: pending.change, mark: Self.mark(status))
        }
    }

    /// The queue's status; asked again before each beacon is made.
    func observe(_ status: QueueStatus) {
        guard pending != nil else { return }
        change("that the push token was acknowledged") { _ = $0.observed(Self.mark(status), epoch: "\(status.epoch)") }
    }

    private static func mark(_ status: QueueStatus) -> PushTokenState.Mark {
        let mark = status.streams[.status]?.mark
        return PushTokenState.Mark(number: mark?.number ?? 0, stored: mark?.stored ?? 0)
    }

    /// Another collector, or another device id: what was told to the former is told anew.
    func forgotten() { change("that the push token is to be told anew") { $0.forgotten() } }

    /// A wipe.
    func erase() throws(DataSamplerError) {
        try state.withLock { state throws(DataSamplerError) in
            try file.file.remove()
            state = PushTokenState()
        }
    }

    /// A write that fails costs at most that the token is told once more after a restart.
    private func change(_ what: String, _ body: (inout PushTokenState) -> Void) {
        state.withLock { state in
            let former = state
            body(&state)
            guard state != former else { return }
            do throws(DataSamplerError) { try file.save(state) } catch {
                logger.warning("not written: \(what)", metadata: ["reason": "\(error.message)"])
            }
        }
    }
}

/// What the collector knows of the push token, and what it must be told. Pure.
///
/// A change is *pending* until the collector has stored a beacon that holds it; until then every beacon holds it.
/// Afterwards no beacon does, which means unchanged. `nil` is a change like another: the collector forgets the token.
struct PushTokenState: Codable, Equatable, Sendable {
    enum Token: Codable, Equatable, Sendable {
        case token(String)
        /// Explicitly none.
        case cleared

        var wire: WirePushToken {
            var message = WirePushToken()
            switch self {
            case .token(let text): message.token = text
            case .cleared: message.cleared = true
            }
            return message
        }
    }

    /// A change, to be named by the beacons that hold it.
    struct Pending: Codable, Equatable, Sendable {
        var token: Token
        /// Another one at every change, so that a beacon made before it is not taken to hold it.
        var change: UInt64
    }

    /// How far the collector has decided a stream, and how much of that it stored.
    struct Mark: Codable, Equatable, Sendable {
        var number: UInt64
        var stored: UInt64
    }

    /// Numbers of beacons remembered while a change waits: later ones are remembered once these are decided.
    static let maximumCarriers = 32

    private(set) var pending: Pending?
    /// What the collector has; `nil`: it was never told.
    private var known: Token?
    private var changes: UInt64 = 0
    /// The status stream whose numbers these are.
    private var epoch = ""
    /// Beacons of `epoch` that hold the pending change and are not decided yet, ascending.
    private var carriers: [UInt64] = []
    /// The last mark of `epoch` seen.
    private var mark = Mark(number: 0, stored: 0)

    init() {}

    /// The application says its token; `nil` clears it.
    /// - Returns: whether something is to be told that was not before: a beacon goes at once.
    mutating func set(_ text: String?) -> Bool {
        let token = text.map(Token.token) ?? .cleared
        if let pending {
            guard pending.token != token else { return false }
        } else {
            guard known != token else { return false }
        }
        changes += 1
        carriers = []
        // Told, changed and changed back: what the collector knows may be either, so it is told again.
        pending = Pending(token: token, change: changes)
        return true
    }

    /// A beacon that holds `change` has its number on synced disk.
    /// - Parameter mark: of the status stream when the beacon was made.
    mutating func queued(number: UInt64, epoch: String, change: UInt64, mark made: Mark) {
        guard pending?.change == change else { return }
        begin(epoch)
        // What was decided before the first of them counts for nothing.
        if carriers.isEmpty, made.number > mark.number { mark = made }
        guard carriers.count < Self.maximumCarriers, number > mark.number, number > carriers.last ?? 0 else { return }
        carriers.append(number)
    }

    /// The status stream's mark, as the queue has it on disk.
    ///
    /// The mark passes dropped records too: only where everything it passed was stored is a beacon among it known to
    /// have arrived. Where something was not, its beacons count for nothing and the next one tells again.
    /// - Returns: whether the pending change is acknowledged now.
    mutating func observed(_ now: Mark, epoch: String) -> Bool {
        begin(epoch)
        let former = mark
        guard now.number > former.number else { return false }
        mark = now
        let decided = carriers.contains { $0 <= now.number }
        carriers.removeAll { $0 <= now.number }
        guard decided, let pending, now.stored >= former.stored,
            now.stored - former.stored == now.number - former.number
        else {
            return false
        }
        known = pending.token
        self.pending = nil
        carriers = []
        return true
    }

    /// Another collector, or another device id: what the former knew says nothing. What the application said last is
    /// told anew.
    mutating func forgotten() {
        guard pending == nil, let known else { return }
        changes += 1
        pending = Pending(token: known, change: changes)
        self.known = nil
        carriers = []
    }

    /// Numbers mean nothing in another epoch: records of an ended one are numbered anew.
    private mutating func begin(_ epoch: String) {
        guard epoch != self.epoch else { return }
        self.epoch = epoch
        carriers = []
        mark = Mark(number: 0, stored: 0)
    }
}
