import DeviceTestKit
import Foundation
import RecordQueue
import StoreTestKit
import Testing
import WireModel
@testable import Transmitter

/// When the loop wakes, with clocks that pass only when asked to.
@Suite(.timeLimit(.minutes(10))) struct TransmitterLoopTests {
    let bench = TransmitterBench()

    /// Time passes on all clocks without waking the loop: what it sleeps for is still that far away.
    private func passAsleep(_ duration: Duration, left: Duration) {
        let sleeps = bench.sleeper.sleeps
        bench.clock.advance(by: duration)
        bench.sleeper.advance(by: duration)
        #expect(bench.sleeper.nextWake == left, "it sleeps on")
        #expect(bench.sleeper.sleeps == sleeps)
    }

    /// Time passes on all clocks, as it does while the machine sleeps; the loop wakes, and comes to rest again.
    private func pass(_ duration: Duration) async {
        let sleeps = bench.sleeper.sleeps
        bench.clock.advance(by: duration)
        bench.sleeper.advance(by: duration)
        await bench.sleeper.waitForSleeper(after: sleeps)
    }

    private func running(
        _ settings: TransmitterSettings = TransmitterSettings(eventHold: .zero),
        _ body: (RecordQueue, Transmitter) async throws -> Void
    ) async throws {
        try await bench.run(settings: settings) { queue, transmitter in
            let loop = Task { await transmitter.run() }
            await bench.sleeper.waitForSleeper()
            do {
                try await body(queue, transmitter)
            } catch {
                loop.cancel()
                await loop.value
                throw error
            }
            loop.cancel()
            await loop.value
            #expect(transmitter.status.state == .stopped)
        }
    }

    @Test func `With nothing waiting, no request is made`() async throws {
        try await running { _, transmitter in
            let requests = transmitter.status.requests
            for _ in 0..<20 { await pass(.seconds(300)) }
            #expect(transmitter.status.requests == requests)
            #expect(transmitter.status.state == .idle)
            #expect(bench.sleeper.sleeps == 21, "woken once an interval")
        }
    }

    @Test func `What is recorded goes when the interval is over`() async throws {
        try await running { queue, _ in
            try await bench.enqueue(2, .sample, to: queue)
            passAsleep(.seconds(200), left: .seconds(100))
            #expect(try await bench.stored(.sample) == [])
            await pass(.seconds(100))
            #expect(try await bench.stored(.sample) == [1, 2])
        }
    }

    @Test func `What is urgent goes at once, but does not shorten a back-off`() async throws {
        try await running { queue, transmitter in
            try await bench.enqueue(1, .status, to: queue)
            let sleeps = bench.sleeper.sleeps
            transmitter.transmitNow()
            await bench.sleeper.waitForSleeper(after: sleeps)
            #expect(try await bench.stored(.status) == [1])
            bench.collector.setFaults { _, _ in .requestLost }
            try await bench.enqueue(1, .status, to: queue)
            let again = bench.sleeper.sleeps
            transmitter.transmitNow()
            await bench.sleeper.waitForSleeper(after: again)
            bench.collector.setFaults { _, _ in nil }
            let requests = transmitter.status.requests
            transmitter.transmitNow()
            #expect(bench.sleeper.nextWake == .seconds(1), "it backs off, whoever asks")
            #expect(transmitter.status.requests == requests)
            await pass(.seconds(1))
            #expect(try await bench.stored(.status) == [1, 2])
        }
    }

    @Test func `After a suspend, an overdue pass is made at once, and only one`() async throws {
        try await running { queue, transmitter in
            try await bench.enqueue(3, .sample, to: queue)
            let batches = bench.collector.batches
            await pass(.seconds(8 * 3600))
            #expect(try await bench.stored(.sample) == [1, 2, 3])
            #expect(bench.collector.batches == batches + 1)
            #expect(bench.sleeper.nextWake == .seconds(300))
        }
    }

    @Test func `A wall clock set in either direction changes nothing`() async throws {
        try await running { queue, _ in
            try await bench.enqueue(1, .sample, to: queue)
            bench.clock.setWallClock(by: .seconds(-100_000))
            passAsleep(.seconds(150), left: .seconds(150))
            #expect(try await bench.stored(.sample) == [])
            bench.clock.setWallClock(by: .seconds(300_000))
            await pass(.seconds(150))
            #expect(try await bench.stored(.sample) == [1])
        }
    }

    @Test func `A closed gate is looked at once a minute, and what waited goes when it opens`() async throws {
        var settings = TransmitterSettings(transmitInterval: .seconds(3600), eventHold: .zero)
        var rule = WireTransmissionRule()
        rule.data = "sample"
        rule.networks = [.wifi]
        settings.rules = [rule]
        bench.conditions.set { $0.network = .cellular }
        try await running(settings) { queue, transmitter in
            try await bench.enqueue(1, .sample, to: queue)
            for look in 0..<5 {
                #expect(bench.sleeper.nextWake == .seconds(60))
                #expect(bench.sleeper.sleeps == look + 1, "no pass in between")
                await pass(.seconds(60))
            }
            #expect(try await bench.stored(.sample) == [])
            bench.conditions.set { $0.network = .wifi }
            await pass(.seconds(60))
            #expect(try await bench.stored(.sample) == [1])
            #expect(bench.sleeper.nextWake == .seconds(3600))
        }
    }

    @Test func `A held stream is not looked at until other settings come`() async throws {
        var settings = TransmitterSettings(transmitInterval: .seconds(3600), eventHold: .zero)
        settings.heldStreams = [.sample: .consent]
        try await running(settings) { queue, transmitter in
            try await bench.enqueue(1, .sample, to: queue)
            #expect(bench.sleeper.nextWake == .seconds(3600))
            settings.heldStreams = [:]
            let sleeps = bench.sleeper.sleeps
            await transmitter.apply(settings)
            await bench.sleeper.waitForSleeper(after: sleeps)
            #expect(try await bench.stored(.sample) == [1])
        }
    }

    @Test func `Samples that fail alone are tried again when their wait is over, and not sooner`() async throws {
        let settings = TransmitterSettings(transmitInterval: .seconds(3600), eventHold: .zero)
        let headers = TransportResponse.collectorHeaders(bench.collector.collectorID, bench.collector.incarnationID)
        bench.collector.setFaults { _, batch in
            guard let batch, batch.parts.contains(where: { $0.stream == .sample }) else { return nil }
            return .answered(TransportResponse(status: 500, headers: headers))
        }
        try await running(settings) { queue, transmitter in
            try await bench.enqueue(1, .sample, to: queue)
            let sleeps = bench.sleeper.sleeps
            transmitter.transmitNow()
            await bench.sleeper.waitForSleeper(after: sleeps)
            let batches = bench.collector.batches
            for retry in 1...3 {
                await pass(try #require(bench.sleeper.nextWake))
                #expect(bench.collector.batches <= batches + retry, "one request for each wait")
            }
            bench.collector.setFaults { _, _ in nil }
            await pass(try #require(bench.sleeper.nextWake))
            #expect(try await bench.stored(.sample) == [1], "it did not wait for the interval")
        }
    }

    @Test func `New settings hold at once`() async throws {
        try await running { queue, transmitter in
            try await bench.enqueue(1, .sample, to: queue)
            var settings = TransmitterSettings(transmitInterval: .seconds(10), eventHold: .zero)
            let sleeps = bench.sleeper.sleeps
            await transmitter.apply(settings)
            await bench.sleeper.waitForSleeper(after: sleeps)
            #expect(bench.sleeper.nextWake == .seconds(10))
            settings.slowdown = 3
            let later = bench.sleeper.sleeps
            await transmitter.apply(settings)
            await bench.sleeper.waitForSleeper(after: later)
            #expect(bench.sleeper.nextWake == .seconds(30), "the budget's slowdown stretches it")
        }
    }

    @Test func `A module's own interval wakes the loop only where it has recorded`() async throws {
        var settings = TransmitterSettings(transmitInterval: .seconds(300), eventHold: .zero)
        settings.moduleIntervals = ["fast": .seconds(20)]
        try await running(settings) { queue, transmitter in
            transmitter.recorded(module: "slow")
            #expect(bench.sleeper.nextWake == .seconds(300))
            try await bench.enqueue(1, .sample, to: queue)
            let sleeps = bench.sleeper.sleeps
            transmitter.recorded(module: "fast")
            await bench.sleeper.waitForSleeper(after: sleeps)
            #expect(bench.sleeper.nextWake == .seconds(20))
            transmitter.recorded(module: "fast")
            #expect(bench.sleeper.sleeps == sleeps + 1, "said again it wakes nobody")
            await pass(.seconds(20))
            #expect(try await bench.stored(.sample) == [1])
        }
    }

    // MARK: Holds

    /// The collector refuses the device: the loop rests.
    private func holding(_ body: (Transmitter) async throws -> Void) async throws {
        let headers = TransportResponse.collectorHeaders(bench.collector.collectorID, bench.collector.incarnationID)
        try await running { queue, transmitter in
            bench.collector.setFaults { _, batch in
                batch == nil ? nil : .answered(TransportResponse(status: 403, headers: headers))
            }
            try await bench.enqueue(1, .status, to: queue)
            let sleeps = bench.sleeper.sleeps
            transmitter.transmitNow()
            await bench.sleeper.waitForSleeper(after: sleeps)
            #expect(transmitter.status.state == .holding)
            #expect(bench.sleeper.nextWake == .seconds(60))
            try await body(transmitter)
        }
    }

    private func expectFlow(_ transmitter: Transmitter) async throws {
        #expect(transmitter.status.state == .idle)
        #expect(try await bench.stored(.status) == [1])
    }

    @Test func `A device that is reinstated is back at once where a person asks`() async throws {
        try await holding { transmitter in
            let (sleeps, requests) = (bench.sleeper.sleeps, transmitter.status.requests)
            transmitter.transmitNow()
            #expect(
                bench.sleeper.sleeps == sleeps && transmitter.status.requests == requests,
                "a record that is queued cuts no hold short")
            bench.collector.setFaults { _, _ in nil }
            transmitter.tryNow()
            await bench.sleeper.waitForSleeper(after: sleeps)
            try await expectFlow(transmitter)
        }
    }

    @Test func `A device that is reinstated is back with the next request that is answered`() async throws {
        try await holding { transmitter in
            bench.collector.setFaults { _, _ in nil }
            let sleeps = bench.sleeper.sleeps
            await transmitter.askForNews()
            await bench.sleeper.waitForSleeper(after: sleeps)
            try await expectFlow(transmitter)
        }
    }

    @Test func `A device that is reinstated is back within a quarter of an hour by itself`() async throws {
        try await holding { transmitter in
            for seconds in [60, 120, 240, 480, 900] {
                await pass(.seconds(seconds))
                #expect(transmitter.status.state == .holding)
            }
            bench.collector.setFaults { _, _ in nil }
            await pass(.seconds(900))
            try await expectFlow(transmitter)
        }
    }

    @Test func `A back-off is kept, whoever asks`() async throws {
        try await running { queue, transmitter in
            bench.collector.setFaults { _, batch in batch == nil ? nil : .requestLost }
            try await bench.enqueue(1, .status, to: queue)
            let sleeps = bench.sleeper.sleeps
            transmitter.transmitNow()
            await bench.sleeper.waitForSleeper(after: sleeps)
            #expect(transmitter.status.state == .backingOff)
            let requests = transmitter.status.requests
            transmitter.tryNow()
            #expect(bench.sleeper.nextWake == .seconds(1) && transmitter.status.requests == requests)
        }
    }

    @Test func `A back-off ends when another request shows that the collector answers again`() async throws {
        try await running { queue, transmitter in
            bench.collector.setFaults { _, _ in .requestLost }
            try await bench.enqueue(1, .status, to: queue)
            var sleeps = bench.sleeper.sleeps
            transmitter.transmitNow()
            await bench.sleeper.waitForSleeper(after: sleeps)
            for seconds in [1, 2, 4, 8] { await pass(.seconds(seconds)) }
            #expect(bench.sleeper.nextWake == .seconds(16))
            sleeps = bench.sleeper.sleeps
            bench.collector.setFaults { _, _ in nil }
            await transmitter.askForNews()
            await bench.sleeper.waitForSleeper(after: sleeps)
            try await expectFlow(transmitter)
        }
    }
}
