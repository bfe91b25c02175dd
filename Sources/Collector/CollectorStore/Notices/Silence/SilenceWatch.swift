import Logging

/// Tells of devices that have gone silent, and when they are heard of again.
package actor SilenceWatch {
    private let registry: CollectorRegistry
    private let notices: NoticeService
    private let clock: any StoreClock
    private let bootClock: any BootClock
    private let canStore: @Sendable () async -> Bool
    private let logger: Logger
    private var listening = Listening()

    /// - Parameter canStore: whether what devices send is taken.
    package init(
        registry: CollectorRegistry, notices: NoticeService, clock: any StoreClock, bootClock: any BootClock = SystemBootClock(),
        logger: Logger, canStore: @escaping @Sendable () async -> Bool
    ) {
        self.registry = registry
        self.notices = notices
        self.clock = clock
        self.bootClock = bootClock
        self.logger = logger
        self.canStore = canStore
    }

    package func look() async {
        let reading = ClockReading(wall: clock.now(), sinceBoot: bootClock.sinceBoot(), bootID: bootClock.bootID)
        let isSettled = listening.isSettled(at: reading, canStore: await canStore())
        do throws(StoreError) {
            await notices.tell(try await registry.silentDevices(), isSettled: isSettled)
        } catch { logger.warning("silent devices could not be looked for", metadata: ["store.error": "\(error)"]) }
    }
}
