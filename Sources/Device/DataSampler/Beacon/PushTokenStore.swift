import Logging
import RecordQueue
import Synchronization
import WireModel

/// Keeps the push token in `<data>/push-token`, mode 0600. Safe from any thread.
///
/// The file names the pending change and the beacons that contain it. So a restart neither forgets the change nor
/// reports it for ever. While no change is pending nothing is written.
final class PushTokenStore: Sendable {
    static let fileName = "push-token"
    /// APNs tokens have 64 characters, FCM tokens fewer than 300.
    static let tokenBytes = 1...4_096

    private let file: StateFile<PushTokenState>
    private let logger: Logger
    private let state: Mutex<PushTokenState>

    /// A damaged file is quarantined. The token is then unknown until the application sets it again, as it does at each
    /// start.
    ///
    /// - Parameter damaged: called for such a file.
    init(directory: String, seal: StateSeal? = nil, logger: Logger, damaged: (DataSamplerError) -> Void) {
        file = StateFile(directory: directory, name: Self.fileName, seal: seal)
        self.logger = logger
        var stored: PushTokenState?
        do throws(DataSamplerError) { stored = try file.loadOrKeepAsDamaged(damaged: damaged) } catch {
            logger.warning("push token unreadable until it is set again", metadata: ["reason": "\(error.message)"])
        }
        state = Mutex(stored ?? PushTokenState())
    }

    /// Sets the application's token; `nil` clears it at the collector. On disk when this returns.
    ///
    /// - Returns: whether it changed. Then a beacon must be sent at once.
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

    /// The change that a beacon made now must contain; `nil` for none.
    var pending: PushTokenState.Pending? { state.withLock { $0.pending } }

    /// Whether the collector has this token; `nil`: knows that there is none.
    func isKnown(_ token: String?) -> Bool { state.withLock { $0.known == PushTokenState.Token(token) } }

    /// A beacon with the `pending` change is on synced disk under this number.
    /// - Parameter status: the queue's status when the beacon was made, in the number's epoch.
    func queued(_ pending: PushTokenState.Pending, number: UInt64, status: QueueStatus) {
        change("beacon with the push token") {
            $0.queued(number: number, epoch: "\(status.epoch)", change: pending.change, mark: Self.mark(status))
        }
    }

    /// Accepts the queue's status. Called before each beacon is made.
    func observe(_ status: QueueStatus) {
        guard pending != nil else { return }
        change("acknowledgement of the push token") { _ = $0.observed(Self.mark(status), epoch: "\(status.epoch)") }
    }

    private static func mark(_ status: QueueStatus) -> PushTokenState.Mark {
        let mark = status.streams[.status]?.mark
        return PushTokenState.Mark(number: mark?.number ?? 0, stored: mark?.stored ?? 0)
    }

    /// There is another collector or device id, so the token must be reported again.
    func forgotten() { change("request to send the push token again") { $0.forgotten() } }

    /// A wipe.
    func erase() throws(DataSamplerError) {
        try state.withLock { state throws(DataSamplerError) in
            try file.file.remove()
            state = PushTokenState()
        }
    }

    /// A failed write costs at most one more report after a restart.
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

/// The push token that the collector knows, and the one that must be reported to it. Pure.
///
/// A change is *pending* until the collector has stored a beacon that contains it. Until then every beacon contains it;
/// afterwards none does, which means unchanged. `nil` is a change too: the collector forgets the token.
struct PushTokenState: Codable, Equatable, Sendable {
    enum Token: Codable, Equatable, Sendable {
        case token(String)
        /// Explicitly no token.
        case cleared

        init(_ text: String?) { self = text.map(Token.token) ?? .cleared }

        var wire: WirePushToken {
            var message = WirePushToken()
            switch self {
            case .token(let text): message.token = text
            case .cleared: message.cleared = true
            }
            return message
        }
    }

    /// A change that beacons must contain.
    struct Pending: Codable, Equatable, Sendable {
        var token: Token
        /// Different for every change, so an earlier beacon does not count as containing it.
        var change: UInt64
    }

    /// How far the collector decided a stream, and how many records of that it stored.
    struct Mark: Codable, Equatable, Sendable {
        var number: UInt64
        var stored: UInt64
    }

    /// The most beacons that are tracked while a change is pending. Later ones are tracked once these are decided.
    static let maximumCarriers = 32

    private(set) var pending: Pending?
    /// The token that the collector has; `nil` if none was ever reported.
    private(set) var known: Token?
    private var changes: UInt64 = 0
    /// The epoch of the status stream that the numbers belong to.
    private var epoch = ""
    /// Undecided beacons of `epoch` that contain the pending change, ascending.
    private var carriers: [UInt64] = []
    /// The last known mark of `epoch`.
    private var mark = Mark(number: 0, stored: 0)

    init() {}

    /// All tokens inside, for those who must not show one.
    var texts: [String] {
        [pending?.token, known].compactMap { if case .token(let text)? = $0 { text } else { nil } }
    }

    /// Sets the token; `nil` clears it.
    /// - Returns: whether something new must be reported, so a beacon is sent at once.
    mutating func set(_ text: String?) -> Bool {
        let token = Token(text)
        if let pending {
            guard pending.token != token else { return false }
        } else {
            guard known != token else { return false }
        }
        changes += 1
        carriers = []
        // The token was reported, changed, and changed back. The collector may know either, so it is reported again.
        pending = Pending(token: token, change: changes)
        return true
    }

    /// A beacon that contains `change` is on synced disk under this number.
    /// - Parameter mark: of the status stream when the beacon was made.
    mutating func queued(number: UInt64, epoch: String, change: UInt64, mark made: Mark) {
        guard pending?.change == change else { return }
        begin(epoch)
        // Decisions before the first of these beacons do not count.
        if carriers.isEmpty, made.number > mark.number { mark = made }
        guard carriers.count < Self.maximumCarriers, number > mark.number, number > carriers.last ?? 0 else { return }
        carriers.append(number)
    }

    /// Accepts the status stream's mark.
    ///
    /// The mark passes dropped records too. Only if everything it passed was stored, a beacon among it is known to have
    /// arrived. Otherwise those beacons count for nothing, and the next one reports the token again.
    /// - Returns: whether the pending change is now acknowledged.
    mutating func observed(_ now: Mark, epoch: String) -> Bool {
        begin(epoch)
        let former = mark
        guard now.number > former.number else { return false }
        mark = now
        let decided = carriers.contains { $0 <= now.number }
        carriers.removeAll { $0 <= now.number }
        guard decided, let pending, now.stored >= former.stored,
            now.stored - former.stored == now.number - former.number
        else { return false }
        known = pending.token
        self.pending = nil
        carriers = []
        return true
    }

    /// There is another collector or device id. What the former collector knew is irrelevant, so the latest token is
    /// reported again.
    mutating func forgotten() {
        guard pending == nil, let known else { return }
        changes += 1
        pending = Pending(token: known, change: changes)
        self.known = nil
        carriers = []
    }

    /// Numbers have no meaning in another epoch, because records of an ended epoch get new ones.
    private mutating func begin(_ epoch: String) {
        guard epoch != self.epoch else { return }
        self.epoch = epoch
        carriers = []
        mark = Mark(number: 0, stored: 0)
    }
}
