import Logging
import RecordQueue
import Synchronization
import WireModel

/// The push token on disk: `<data>/push-token`, 0600. Safe from any thread.
///
/// On disk is which change is pending and which beacons hold it, so that a restart neither forgets to tell it nor tells it for ever.
/// It is written at a change, for each beacon that holds one, and when one is acknowledged; while nothing is pending it is not.
final class PushTokenStore: Sendable {
    static let fileName = "push-token"
    /// APNs tokens have 64 characters, FCM's under 300.
    static let tokenBytes = 1...4_096

    private let file: StateFile<PushTokenState>
    private let logger: Logger
    private let state: Mutex<PushTokenState>

    /// A damaged file is quarantined: the token is unknown until the application says it again, as it does at each of its starts.
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
    /// - Returns: whether it is a change: tell the beacons' state machine (`changed`) and send one at once. On disk when this returns.
    /// - Throws: `invalidConfiguration` for a token that is empty or over 4,096 bytes, `storage`; then nothing has changed.
    func set(_ token: String?) throws(DataSamplerError) -> Bool {
        if let token, !Self.tokenBytes.contains(token.utf8.count) {
            throw DataSamplerError(
                .invalidConfiguration, "the push token has \(token.utf8.count) bytes: it must have 1 to 4096, or be nil to be cleared")
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
