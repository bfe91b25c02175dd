import CollectorAPI
import Foundation
import HTTPTypes
import HummingbirdTesting
import Synchronization
import Testing
import WireModel

@testable import Collector
@testable import RecordStore
@testable import SQLiteRecordStore

@Suite("Capacity: the rate of records, and when the disk will be full") struct CapacityTests {
    private static let today = UTCDay(number: 20_000)

    /// - Parameter days: bytes of event files, from so many days ago up to today.
    private static func estimate(
        _ days: [Int64], free: UInt64?, limits: RetentionLimits.Stream = .init(days: 90)
    ) -> CapacityEstimate {
        let kept = days.enumerated().map { index, bytes in
            let day = UTCDay(number: today.number - days.count + 1 + index)
            return PartitionList.Item(partition: Partition(day: day, stream: .event), bytes: bytes)
        }
        return CapacityEstimate(
            kept, limits: RetentionLimits(event: limits), freeBytes: free, today: today)
    }

    @Test func `Growth is the mean of whole days`() {
        // The first day is left out, because the collector may have begun in it; today is not over.
        let estimate = Self.estimate([1000, 100, 300, 5000], free: 1000)
        #expect(estimate.days == 2)
        #expect(estimate.streams.first { $0.stream == .event }?.bytesPerDay == 200)
        #expect(estimate.full == .inDays(5))
        #expect(Self.estimate([9, 9, 9, 7, 7, 7, 7, 7, 7, 7, 0], free: 70).full == .inDays(10))
    }

    @Test func `Without a whole day or free space, nothing is known`() {
        #expect(Self.estimate([], free: 1000).full == .unknown)
        #expect(Self.estimate([500], free: 1000).full == .unknown)
        #expect(Self.estimate([100, 100, 100], free: nil).full == .unknown)
        #expect(Self.estimate([100, 0], free: 1000).days == 1, "the first day, if there is no other")
    }

    /// Retention removes a day for each new one, so the disk is not filled.
    @Test func `Retention ends the growth`() {
        let days = Array(repeating: Int64(100), count: 30)
        #expect(Self.estimate(days, free: 5000, limits: .init(days: 30)).full == .never)
        #expect(Self.estimate(days, free: 5000, limits: .init(days: 365)).full == .inDays(50))
        #expect(Self.estimate(days, free: 5000, limits: .init(days: 365, bytes: 4000)).full == .never)
        #expect(Self.estimate(days, free: 0).full == .inDays(0))
    }

    @Test func `The rate is that of whole minutes since the start`() {
        let start: Int64 = 1_750_000_020_000_000
        let now = Mutex(start)
        let rate = IngestRate { now.withLock { $0 } }
        rate.record(600)
        #expect(rate.report() == IngestRate.Report(recordsPerSecond: nil, minutes: []))
        func pass(minutes: Int64) { now.withLock { $0 += minutes * 60_000_000 } }
        pass(minutes: 1)
        rate.record(120)
        rate.record(60)
        pass(minutes: 1)
        #expect(rate.report().recordsPerSecond == 3, "180 in the one whole minute")
        pass(minutes: 1)
        #expect(rate.report().recordsPerSecond == 1.5)
        #expect(rate.report().minutes.map(\.records) == [180, 0])
        pass(minutes: 1000)
        #expect(rate.report().recordsPerSecond == 0 && rate.report().minutes.count == 60)
    }

    @Test func `The answer has the sizes of record files and the disk`() async throws {
        let data = try await KeptData(days: 3)
        let store = try data.openStore()
        let kept = try await store.partitions().kept
        let disk = await store.figures().disk
        await store.shutDown()
        let today = UTCDay(microseconds: data.clock.now())
        let view = CapacityView(
            IngestRate().report(),
            CapacityEstimate(kept, limits: RetentionLimits(), freeBytes: disk?.freeBytes, today: today), disk)
        #expect(view.bytes > 0 && view.bytes == kept.reduce(0) { $0 + $1.bytes })
        #expect(view.streams.map(\.files) == [3, 3, 3] && view.growthDays == 1)
        #expect(view.disk?.sizeBytes ?? 0 > view.disk?.freeBytes ?? .max)
    }

    @Test func `People of all organizations see it`() async throws {
        let harness = Harness()
        try await harness.route { client in
            let answer = try await client.json("/api/v1/capacity", bearer: "administrator-all")
            #expect(answer.objects("streams").map { $0.number("retentionDays") } == [90, 90, 30])
            #expect(answer.object("ingest")?.number("recordsPerSecond") == nil, "no whole minute yet")
            let refused = try await client.send(.get, "/api/v1/capacity", bearer: "administrator-default")
            #expect(refused.status == .forbidden)
        }
    }
}
