import Logging

/// Hands each notice on, once when it is raised and once when it is over, to whoever wants to hear of them (a webhook),
/// one after the other.
///
/// What has been handed on is remembered with each notice in `collector.sqlite`. So news outlive a receiver that is
/// away and a collector that is killed, and may come twice, never not at all. There is no queue but the notices
/// themselves, which are bounded. A notice that ends and is raised again before anybody was told of its end has no
/// news.
package struct NoticeCourier: Sendable {
    package enum Delivery: Equatable, Sendable {
        case delivered
        /// The receiver has answered that it will not have it; it is not tried again.
        case refused(String)
        case failed(String)
    }

    private let service: NoticeService
    private let post: @Sendable (NoticeNews) async -> Delivery
    private let logger: Logger

    private static let noticesPerLook = 20

    /// - Parameter post: hands one on; ends within a bound of its own.
    package init(service: NoticeService, logger: Logger, post: @escaping @Sendable (NoticeNews) async -> Delivery) {
        self.service = service
        self.logger = logger
        self.post = post
    }

    /// Until the task is cancelled. The first run ever begins with what lasts; what was over before it is not handed
    /// on.
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

    /// - Returns: whether everything there is was handed on.
    private func deliver(since began: Int64) async -> Bool {
        do throws(StoreError) {
            while true {
                let unposted = try await service.unposted(since: began, limit: Self.noticesPerLook)
                guard !unposted.isEmpty else { return true }
                for news in unposted {
                    let about: Logger.Metadata = [
                        "notice.code": "\(news.notice.code.rawValue)", "notice.event": "\(news.kind.rawValue)",
                    ]
                    switch await post(news) {
                    case .delivered: break
                    case .refused(let reason):
                        logger.error("a notice was refused", metadata: about.merging(["error": "\(reason)"]) { $1 })
                    case .failed(let reason):
                        logger.warning(
                            "a notice could not be handed on", metadata: about.merging(["error": "\(reason)"]) { $1 })
                        return false
                    }
                    try await service.notePosted(news)
                }
            }
        } catch {
            logger.error("notices could not be read", metadata: ["store.error": "\(error)"])
            return false
        }
    }
}
