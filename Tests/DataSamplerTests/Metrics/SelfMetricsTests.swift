import CoreMetrics
import DeviceTestKit
import Foundation
import Logging
import RecordQueue
import SwiftProtobuf
import TestKit
import Testing
@testable import Transmitter
import WireModel

@testable import DataSampler

@Suite struct SelfMetricsTests {
    private let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test func `Made and enqueued records and sample times are counted per stream and module`() {
        let recorded = RecordingMetrics()
        let metrics = SelfMetrics(factory: recorded)
        metrics.recordMade(.event)
        metrics.recordMade(.event)
        metrics.recordEnqueued(.event)
        metrics.sampled(module: "system", .milliseconds(3))
        metrics.sampled(module: "system", .milliseconds(4))
        #expect(recorded["ws1_sampler_records_made_total{stream=event}"]?.sum == 2)
        #expect(recorded["ws1_sampler_records_enqueued_total{stream=event}"]?.sum == 1)
        #expect(recorded["ws1_sampler_sample_duration{module=system}"]?.all == [3_000_000, 4_000_000])
        #expect(metrics.selfFigures().recordsMade == 2)
    }

    @Test func `Depth and losses come from the queue, and former losses are not counted again`() async throws {
        let directory = try TemporaryDirectory()
        let clock = ManualRecordClock()
        let queue = try RecordQueue.open(directory: directory.path, configuration: .init(), clock: clock, logger: quiet)
        func enqueue(_ count: Int) async throws {
            for _ in 0..<count {
                _ = try await queue.enqueueDurably(
                    NewRecord(
                        stream: .sample, kind: .sampleSystem, module: "system", stamp: clock.now(), body: Data([1])))
            }
        }
        let recorded = RecordingMetrics()
        let metrics = SelfMetrics(factory: recorded)
        try await enqueue(5)
        _ = try await queue.drop(oldest: 2, of: .sample, reason: .quarantined, keepAside: false)
        metrics.update(queue: try await queue.status())
        #expect(recorded["ws1_sampler_queue_records{stream=sample}"]?.all == [3])
        #expect(recorded["ws1_sampler_queue_bytes{stream=sample}"]?.sum ?? 0 > 0)
        #expect(metrics.selfFigures().recordsLost == 0, "they were lost before this process")
        _ = try await queue.drop(oldest: 1, of: .sample, reason: .byteCap, keepAside: false)
        metrics.update(queue: try await queue.status())
        metrics.update(queue: try await queue.status())
        #expect(recorded["ws1_sampler_records_lost_total{stream=sample,reason=byte-cap}"]?.sum == 1)
        #expect(recorded["ws1_sampler_records_lost_total{stream=sample,reason=quarantined}"] == nil)
        let figures = metrics.selfFigures()
        #expect(figures.recordsLost == 1)
        #expect(figures.queueWrittenBytes ?? 0 > 0)
        #expect(recorded["ws1_sampler_queue_written_bytes_total"]?.sum == Double(figures.queueWrittenBytes ?? 0))
        await queue.close()
    }

    @Test func `The transmitter's figures become counters once each`() {
        let recorded = RecordingMetrics()
        let metrics = SelfMetrics(factory: recorded)
        var status = TransmitterStatus()
        status.sentBytes = 1_000
        status.requests = 4
        status.acknowledged = ["sample": 10]
        status.state = .backingOff
        status.lastFailure = 5
        status.nextAttempt = 12_500_000
        metrics.update(transmitter: status, wallTime: 10_000_000)
        status.sentBytes = 1_500
        status.state = .idle
        metrics.update(transmitter: status, wallTime: 11_000_000)
        #expect(recorded["ws1_sampler_sent_bytes_total"]?.all == [1_000, 500])
        #expect(recorded["ws1_sampler_requests_total"]?.sum == 4)
        #expect(recorded["ws1_sampler_failures_total"]?.sum == 1)
        #expect(recorded["ws1_sampler_records_sent_total{stream=sample}"]?.sum == 10)
        #expect(recorded["ws1_sampler_backoff_seconds"]?.all == [2.5, 0])
        #expect(metrics.selfFigures().sentBytes == 1_500)
    }

    @Test func `A slowdown is in the figures of sample and beacon and disappears again`() {
        let recorded = RecordingMetrics()
        let metrics = SelfMetrics(factory: recorded)
        metrics.update(slowdown: BudgetVerdict(factor: 2.5, reason: .cpu, used: 60, allowed: 50))
        var cost = WireSelfCost()
        cost.add(metrics.selfFigures())
        #expect(
            cost.slowdown
                == WireSlowdown.with {
                    $0.budget = "cpu"; $0.factor = 250; $0.used = 60; $0.allowed = 50
                })
        #expect(cost.hasRecordsMade && cost.recordsMade == 0)
        metrics.update(slowdown: BudgetVerdict())
        #expect(recorded["ws1_sampler_slowdown_factor"]?.all == [2.5, 1])
        #expect(metrics.selfFigures().slowdown == nil)
    }

    @Test func `Without a metrics system, nothing is bootstrapped, and the own figures still count`() {
        let metrics = SelfMetrics()
        metrics.recordMade(.status)
        metrics.recordEnqueued(.status)
        #expect(metrics.selfFigures().recordsMade == 1)
        #expect(MetricsSystem.factory is NOOPMetricsHandler)
    }
}
