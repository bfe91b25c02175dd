import CollectorTunables
import Logging
import RecordStore

/// Delivers each notice to a receiver (a webhook), once when it is raised and once when it ends, one after the other.
///
/// `collector.sqlite` records with each notice what was delivered. So deliveries survive an unavailable receiver and a
/// killed collector. They may be repeated but never get lost. There is no queue besides the notices themselves, whose
/// number is limited. A notice that ends and is raised again before its end was delivered causes no delivery. A look
/// delivers a limited number; the others come with the next.
package struct NoticeCourier: Sendable {
    package enum Delivery: Equatable, Sendable {
        case delivered
        /// The receiver refused it for good. It is not tried again.
        case refused(String)
        case failed(String)
    }

    private let service: NoticeService
    private let post: @Sendable (NoticeNews) async -> Delivery
    private let logger: Logger

    /// - Parameter post: delivers one; has its own time limit.
    package init(service: NoticeService, logger: Logger, post: @escaping @Sendable (NoticeNews) async -> Delivery) {
        self.service = service
        self.logger = logger
        self.post = post
    }

    /// Runs until the task is cancelled. The very first run begins with notices that have not ended; one that ended
    /// before is not delivered.
    package func run(on clock: some Clock<Duration>) async {
        let began = service.now()
        var failures = 0
        while !Task.isCancelled {
            failures = await deliver(since: began) ? 0 : failures + 1
            do { try await clock.sleep(for: Self.pause(after: failures)) } catch { return }
        }
    }

    /// 10 s, doubled with each failure up to about ten minutes.
    static func pause(after failures: Int) -> Duration {
        .seconds(10 << min(failures, 6))
    }

    /// - Returns: whether nothing failed.
    private func deliver(since began: Int64) async -> Bool {
        do throws(StoreError) {
            for _ in 0..<Tunables.Notices.deliveriesPerLook / Tunables.Notices.noticesAtOnce {
                let unposted = try await service.unposted(since: began, limit: Tunables.Notices.noticesAtOnce)
                guard !unposted.isEmpty else { return true }
                for news in unposted {
                    let about: Logger.Metadata = [
                        "notice.code": "\(news.notice.code.rawValue)", "notice.event": "\(news.kind.rawValue)",
                    ]
                    switch await post(news) {
                    case .delivered: break
                    case .refused(let reason):
                        logger.error("webhook refused a notice", metadata: about.merging(["error": "\(reason)"]) { $1 })
                    case .failed(let reason):
                        logger.warning(
                            "notice not posted to the webhook", metadata: about.merging(["error": "\(reason)"]) { $1 })
                        return false
                    }
                    try await service.recordPosted(news)
                }
            }
            return true
        } catch {
            logger.error("notices could not be read", metadata: ["store.error": "\(error)"])
            return false
        }
    }
}
