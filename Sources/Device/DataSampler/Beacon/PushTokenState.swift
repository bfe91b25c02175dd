import WireModel

/// What the collector knows of the push token, and what it must be told. Pure.
///
/// A change is *pending* until a beacon that holds it is stored by the collector's word; until then every beacon holds it. Afterwards no
/// beacon does (absent: unchanged). A token of `nil` is a change like another: the collector is told to forget the one it has.
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
    /// The mark passes dropped records too: only where everything it passed was stored is a beacon among it known to have arrived.
    /// Where something was not, its beacons count for nothing and the next one tells again.
    /// - Returns: whether the pending change is acknowledged now.
    mutating func observed(_ now: Mark, epoch: String) -> Bool {
        begin(epoch)
        let former = mark
        guard now.number > former.number else { return false }
        mark = now
        let decided = carriers.contains { $0 <= now.number }
        carriers.removeAll { $0 <= now.number }
        guard decided, let pending, now.stored >= former.stored, now.stored - former.stored == now.number - former.number else {
            return false
        }
        known = pending.token
        self.pending = nil
        carriers = []
        return true
    }

    /// Another collector, or another device id: what the former knew says nothing. What the application said last is told anew.
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
