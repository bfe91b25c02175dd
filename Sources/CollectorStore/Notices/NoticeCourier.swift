import Logging

/// Hands each notice on, once it is raised, to whoever wants to hear of them (a webhook), one after the other in their order.
///
/// What has been handed on is remembered in `collector.sqlite`, so a notice outlives a receiver that is away and a collector that is killed, and may
/// come twice, never not at all. There is no queue but the notices themselves, which are bounded.
package struct NoticeCourier: Sendable {
    package enum Delivery: Equatable, Sendable {
        case delivered
        /// The receiver has answered that it will not have it; it is not tried again.
        case refused(String)
        case failed(String)
    }

    private let desk: NoticeDesk
    private let post: @Sendable (NoticeRow) async -> Delivery
    private let logger: Logger

    private static let noticesPerLook = 20

    /// - Parameter post: hands one on; ends within a bound of its own.
    package init(desk: NoticeDesk, logger: Logger, post: @escaping @Sendable (NoticeRow) async -> Delivery) {
        self.desk = desk
        self.logger = logger
        self.post = post
    }

    /// Until the task is cancelled. Notices raised before the first run ever are not handed on.
    package func run(on clock: some Clock<Duration>) async {
        var failures = 0
        while !Task.isCancelled {
            failures = await deliver() ? 0 : failures + 1
            do { try await clock.sleep(for: Self.pause(after: failures)) } catch { return }
        }
    }

    /// 10 s, doubled with each failure up to about ten minutes.
    static func pause(after failures: Int) -> Duration {
        .seconds(10 << min(failures, 6))
    }

    /// - Returns: whether everything there is was handed on.
    private func deliver() async -> Bool {
        do throws(StoreError) {
            while true {
                let notices = try await desk.unposted(limit: Self.noticesPerLook)
                guard !notices.isEmpty else { return true }
                for notice in notices {
                    switch await post(notice) {
                    case .delivered: break
                    case .refused(let reason):
                        logger.error("a notice was refused", metadata: ["notice.code": "\(notice.code.rawValue)", "error": "\(reason)"])
                    case .failed(let reason):
                        logger.warning(
                            "a notice could not be handed on", metadata: ["notice.code": "\(notice.code.rawValue)", "error": "\(reason)"])
                        return false
                    }
                    try await desk.notePosted(notice.id)
                }
            }
        } catch {
            logger.error("notices could not be read", metadata: ["store.error": "\(error)"])
            return false
        }
    }
}
