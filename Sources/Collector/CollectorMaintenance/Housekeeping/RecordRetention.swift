import Logging
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Removes record files that are over their limits, one after the other. Waits for an administrator if the clock is in
/// doubt.
///
/// A clock that was wrong at the machine's start makes no step. It shows in a newest record that is more than a day
/// old, and in the devices' clocks (`ClockConsensus`). After such a gap, if devices are expected to report, nothing is
/// removed in the first hour or until enough of them have reported.
///
/// Marks and counts of removed files stay in the baseline. After an interruption the next pass or the next start
/// continues.
package actor RecordRetention {
    private let store: any RecordStore
    package private(set) var limits: RetentionLimits
    private let notices: NoticeService
    private let connection: any RegistrySession
    private let state: RetentionState
    private let clock: any StoreClock
    private let bootClock: any BootClock
    private let deviceClocks: DeviceClocks?
    private let started: Int64
    private let logger: Logger
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.retention")
    /// The last reading of this process.
    private var former: ClockReading?
    private var lastWritten: Int64 = 0
    /// Whether the notice says that retention waits; `nil` until one was written or ended.
    private var isReported: Bool?
    /// Since when the clocks of most devices are behind, in microseconds since boot.
    private var behindSince: Int64?

    /// How often the reading for the next process is written.
    private static let writeMicroseconds: Int64 = 3_600_000_000
    /// How long devices are waited for after a start, and the gap in the records that requires it.
    private static let hearingMicroseconds: Int64 = 3_600_000_000
    private static let gapMicroseconds: Int64 = CivilDate.microsecondsPerDay
    /// How long the clocks of most devices must be behind before an administrator is asked. A fleet that is switched on
    /// after days first sends old records. Until then nothing is removed.
    private static let suspicionMicroseconds: Int64 = 900_000_000

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter deviceClocks: what devices report about the clock; `nil` for none.
    package init(
        store: any RecordStore, registry: any Registry, limits: RetentionLimits, notices: NoticeService,
        clock: any StoreClock,
        bootClock: any BootClock = SystemBootClock(), deviceClocks: DeviceClocks? = nil, logger: Logger
    ) throws(StoreError) {
        connection = try registry.openWriting()
        state = RetentionState(connection: connection)
        self.store = store
        self.limits = limits
        self.notices = notices
        self.clock = clock
        self.bootClock = bootClock
        self.deviceClocks = deviceClocks
        started = bootClock.sinceBoot()
        self.logger = logger
    }

    /// A file that was removed.
    package struct Removed: Equatable, Sendable {
        package var partition: Partition
        package var bytes: Int64
        package var reason: RetentionPlan.Reason
    }

    /// Applies from the next pass on.
    package func setLimits(_ limits: RetentionLimits) { self.limits = limits }

    /// Checks only the clock. A step is best noticed soon, because a later one may hide it.
    package func watchClock() async {
        do throws(StoreError) { _ = try await isWaiting() } catch { log("the clock could not be checked", error) }
    }

    /// Removes what exceeds its limits now. A failure is logged, reported in a notice, and tried again at the next
    /// pass.
    @discardableResult
    package func pass() async -> [Removed] {
        var removed: [Removed] = []
        do throws(StoreError) {
            guard try await !isWaiting(looksAtRecords: true) else { return [] }
            guard try await !isHearingDevices() else {
                logger.notice(
                    "retention waits an hour for devices' clocks, because no record came for more than a day")
                return []
            }
        } catch {
            log("retention could not begin", error)
            return []
        }
        do throws(StoreError) { try await store.reclaim() } catch {
            // The stream whose drop fails says so below.
            log("what earlier removals have left could not be removed", error)
        }
        for stream in StreamName.allCases {
            do throws(StoreError) {
                for removal in try await store.removals(of: stream, at: clock.now(), limits: limits[stream]) {
                    // A step of the clock during the removal ends it, and so does the end of the process.
                    guard try await !isWaiting(), !Task.isCancelled else { return removed }
                    let partition = Partition(day: removal.file.day, stream: stream)
                    try await store.drop(partition)
                    removed.append(Removed(partition: partition, bytes: removal.file.bytes, reason: removal.reason))
                    logger.notice(
                        "record file removed",
                        metadata: [
                            "store.file": "\(partition.name)", "store.bytes": "\(removal.file.bytes)",
                            "retention.reason": "\(removal.reason.rawValue)",
                        ])
                }
                await notices.end(.retentionFailed, subject: "\(stream)")
            } catch  where error.code == .shuttingDown {
                return removed
            } catch {
                log("records could not be removed", error)
                await notices.raise(.retentionFailed, subject: "\(stream)", detail: error.message)
            }
        }
        return removed
    }

    /// Removes the files that an administrator named, whatever the clock says, and stores the answer.
    package func purgeWhatIsAsked() async {
        do throws(StoreError) {
            guard let request = try state.request() else { return }
            let answer = try await request.carryOut(in: store)
            logger.notice(
                "record files purged",
                metadata: ["purge.files": "\(answer.removedFiles)", "purge.failure": "\(answer.failure ?? "")"])
            try connection.transaction { () throws(StoreError) in
                try state.answer(answer, to: request, at: clock.now())
            }
        } catch { log("records could not be purged", error) }
    }

    /// Whether it is too early after a start to trust a clock that no record of the last day confirms.
    private func isHearingDevices() async throws(StoreError) -> Bool {
        guard let deviceClocks, !deviceClocks.isQuorate, bootClock.sinceBoot() - started < Self.hearingMicroseconds,
            let newest = try await store.newestReceipt(),
            clock.now().subtractingSaturating(newest) > Self.gapMicroseconds
        else { return false }
        return try connection.hasRow(
            """
            SELECT 1 FROM device JOIN device_state ON device = id
            WHERE revoked IS NULL AND left_at IS NULL AND expected_beacon_seconds > 0 LIMIT 1
            """)
    }

    /// - Parameter looksAtRecords: also checks when the newest record was received.
    private func isWaiting(looksAtRecords: Bool = false) async throws(StoreError) -> Bool {
        let reading = ClockReading(wall: clock.now(), sinceBoot: bootClock.sinceBoot(), bootID: bootClock.bootID)
        let (known, accepted, acceptedBehind, waiting) = (
            try state.clock(), try state.acceptedReceipt(), try state.acceptedBehind(), try state.waiting()
        )
        let behind = deviceClocks?.medianBehind
        let newest = waiting == nil && looksAtRecords ? try await store.newestReceipt() : nil
        let doubt = ClockDoubt.of(
            reading, former: former ?? known, newestReceipt: newest, acceptedReceipt: accepted,
            devicesBehind: behind, acceptedBehind: acceptedBehind)
        if case .devicesBehind = doubt {
            let since = behindSince ?? reading.sinceBoot
            behindSince = since
            if waiting == nil, reading.sinceBoot - since < Self.suspicionMicroseconds {
                former = reading
                return true
            }
        } else {
            behindSince = nil
        }
        let isFirst = former == nil
        if waiting == nil, let doubt {
            try connection.transaction { () throws(StoreError) in
                try state.wait(
                    RetentionState.Waiting(
                        since: reading.wall, message: doubt.message, newestReceipt: newest, devicesBehind: behind))
                try state.set(reading)
            }
            former = reading
            logger.warning("retention waits for an administrator", metadata: ["retention.doubt": "\(doubt.message)"])
            await report(waiting: doubt.message)
            return true
        }
        if isFirst || reading.sinceBoot - lastWritten >= Self.writeMicroseconds {
            try connection.transaction { () throws(StoreError) in try state.set(reading) }
            lastWritten = reading.sinceBoot
        }
        former = reading
        await report(waiting: waiting?.message)
        return waiting != nil
    }

    /// Makes the notice say whether retention waits. A full disk refuses it; then the next look tries again.
    /// - Parameter doubt: why retention waits; `nil` if it does not.
    private func report(waiting doubt: String?) async {
        guard isReported != (doubt != nil) else { return }
        let isWritten =
            if let doubt {
                await notices.raise(
                    .retentionWaiting, subject: "records",
                    detail:
                        "\(doubt) No records are removed until an administrator runs `ws1collector retention release`.")
            } else { await notices.end(.retentionWaiting, subject: "records") }
        if isWritten { isReported = doubt != nil }
    }

    private func log(_ message: Logger.Message, _ error: StoreError) {
        guard error.code != .shuttingDown else { return }
        logger.error(message, metadata: ["store.error": "\(error)"])
    }
}
