import Logging
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Removes the rows of devices of OTLP whose last record was removed.
///
/// Many programs name another `service.instance.id` at each start, and each is a device. An enrolled device stays in
/// the lists until somebody deletes it; these would make the lists longer for ever.
package struct OTLPDeviceExpiry: Sendable {
    private let store: any RecordStore
    private let metadata: MetadataService
    private let clock: any StoreClock
    private let logger: Logger

    /// Devices that are asked for at a time.
    private static let batch = 200
    /// Streams that records of OTLP are in.
    private static let streams: [StreamName] = [.event, .sample]

    package init(store: any RecordStore, metadata: MetadataService, clock: any StoreClock, logger: Logger) {
        self.store = store
        self.metadata = metadata
        self.clock = clock
        self.logger = logger
    }

    /// Looks once. After a failure the next pass tries again.
    /// - Returns: how many rows were removed.
    @discardableResult
    package func pass() async -> Int {
        var removed = 0
        do throws(StoreError) {
            let time = try await oldestDay().start
            var after: DeviceID?
            repeat {
                let silent = try await metadata.otlpDevices(lastSeenBefore: time, after: after, limit: Self.batch)
                after = silent.count < Self.batch ? nil : silent.last
                // When a device was last seen is written late, and a kill may lose it. So the records decide.
                var gone = Set(silent)
                for stream in Self.streams where !gone.isEmpty {
                    let kept = try await store.newestRecords(of: Array(gone), RecordQuery(.among(gone), stream: stream))
                    gone.subtract(kept.keys)
                }
                guard !gone.isEmpty else { continue }
                removed += try await metadata.forget(otlpDevices: gone.sorted(), lastSeenBefore: time)
            } while after != nil && !Task.isCancelled
        } catch {
            logger.warning("devices of OTLP could not be looked for", metadata: ["store.error": "\(error)"])
        }
        if removed > 0 {
            logger.notice("devices of OTLP removed, whose records are gone", metadata: ["devices": "\(removed)"])
        }
        return removed
    }

    /// The first day of which records are kept; the present one if there are none.
    private func oldestDay() async throws(StoreError) -> UTCDay {
        let kept = try await store.partitions().kept.map(\.partition)
        let oldest = kept.filter { Self.streams.contains($0.stream) }.map(\.day).min()
        return oldest ?? UTCDay(microseconds: clock.now())
    }
}
