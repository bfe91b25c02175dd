import Logging
import Registry
import Synchronization

/// Reports that the broker cannot be reached: at once in the log, and as a notice when it lasts. Safe from any thread.
final class BrokerWatch: Sendable {
    private struct State {
        var isConnected = false
        /// `Uptime` when the connection was lost, or first missed after the start; `nil` while there is one.
        var lost: Int64?
        var reason = ""
        /// Whether the notice is written; `nil`: it may be open from before the start.
        var isReported: Bool?
    }

    /// A restart of the broker takes seconds. Somebody should hear of more.
    static let patience: Int64 = 300_000_000

    private let peer: String
    private let notices: NoticeService
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameter peer: host and port of the broker.
    init(peer: String, notices: NoticeService, logger: Logger) {
        (self.peer, self.notices, self.logger) = (peer, notices, logger)
    }

    func connected() {
        let wasLost = state.withLock { state in
            defer { (state.isConnected, state.lost, state.reason) = (true, nil, "") }
            return state.lost != nil
        }
        logger.notice(
            wasLost ? "connected to the broker again" : "connected to the broker", metadata: ["broker": "\(peer)"])
    }

    /// - Parameter now: `Uptime`.
    func disconnected(_ reason: String, at now: Int64) {
        let isNew = state.withLock { state in
            let isNew = state.isConnected || state.reason != reason
            state.isConnected = false
            state.lost = state.lost ?? now
            state.reason = reason
            return isNew
        }
        // The same reason again is no news.
        guard isNew else { return }
        logger.warning(
            "no connection to the broker: devices behind it keep their records meanwhile",
            metadata: ["broker": "\(peer)", "reason": "\(reason)"])
    }

    /// Raises the notice of a broker that is gone for long, and ends it when the broker is back.
    func look(at now: Int64) async {
        let (lost, reason, isReported) = state.withLock { state in
            if !state.isConnected { state.lost = state.lost ?? now }
            return (state.lost, state.reason, state.isReported)
        }
        let isGone = lost.map { now - $0 >= Self.patience } ?? false
        // Whether it is back is known only with a connection.
        guard isGone != isReported, isGone || lost == nil else { return }
        let isWritten =
            isGone
            ? await notices.raise(
                .brokerUnreachable, subject: peer,
                detail:
                    """
                    The collector has had no connection to the broker \(peer) for \(Self.patience / 60_000_000) \
                    minutes: \(reason). Devices behind it keep their records and send them later.
                    """)
            : await notices.end(.brokerUnreachable, subject: peer)
        if isWritten { state.withLock { $0.isReported = isGone } }
    }
}
