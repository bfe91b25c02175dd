import DeviceTestKit
import Foundation
import RecordQueue
import RecordStore
import StoreTestKit
import Synchronization
import Testing
import WireModel
@testable import Transmitter

/// Histories that part: nothing is lost or doubled unnoticed, and sending goes on by itself.
@Suite struct TransmitterDivergenceTests {
    let bench = TransmitterBench()
    let enrollments = InMemoryEnrollmentStore(token: "enrollment-token")

    private func record(_ names: [String], _ stream: StreamName = .event, to queue: RecordQueue) async throws {
        for name in names {
            try queue.enqueue(NewRecord(stream: stream, kind: .event, stamp: bench.clock.now(), body: Data(name.utf8)))
        }
        try await queue.flush()
    }

    /// Passes until nothing waits any more, as the loop would make them.
    private func settle(_ transmitter: Transmitter, passes: Int = 50) async {
        for _ in 0..<passes {
            switch await transmitter.pass() {
            case .finished: return
            case .waiting(let pause), .paused(let pause): bench.clock.advance(by: max(pause, .milliseconds(1)))
            }
        }
        Issue.record("not settled after \(passes) passes: \(transmitter.status)")
    }

    private func names(_ prefix: String, _ count: Int) -> [String] { (0..<count).map { "\(prefix)\($0)" } }

    private func copy(_ from: URL, _ to: URL) throws { try FileManager.default.copyItem(at: from, to: to) }

    /// A device that sent `a`, whose image was made with `w` waiting, that then sent `w` and `x`, and was rolled back
    /// to the image.
    private func rollBack() async throws {
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            try await record(names("a", 10), to: queue)
            await settle(transmitter)
            try await record(names("w", 5), to: queue)
        }
        let image = bench.directory.appendingPathExtension("image")
        try copy(bench.directory, image)
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            try await record(names("x", 5), to: queue)
            await settle(transmitter)
        }
        try FileManager.default.removeItem(at: bench.directory)
        try FileManager.default.moveItem(at: image, to: bench.directory)
    }

    private func expectEverythingOnce(_ names: [String]...) async throws {
        let bodies = try await bench.bodies()
        #expect(bodies.sorted() == names.flatMap { $0 }.sorted(), "each once, and nothing else")
    }

    @Test func `A restored image goes on in a new epoch with nothing lost and nothing doubled`() async throws {
        try await rollBack()
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            let former = queue.epoch
            try await record(names("y", 7), to: queue)
            await settle(transmitter)
            #expect(queue.epoch != former)
            try await expectEverythingOnce(names("a", 10), names("w", 5), names("x", 5), names("y", 7))
            for (stream, balance) in try await queue.balance() {
                #expect(balance.closes && balance.waiting == 0, "\(stream): \(balance)")
            }
            #expect(bench.events.all.contains(.epochSettled(former)))
            #expect(bench.collector.enrollments == 1, "the same device")
            try await record(names("z", 2), to: queue)
            await settle(transmitter)
            try await expectEverythingOnce(names("a", 10), names("w", 5), names("x", 5), names("y", 7), names("z", 2))
        }
    }

    @Test func `Killed anywhere on the way, it goes on from there`() async throws {
        try await rollBack()
        // Each life gets one request through, or loses its answer.
        var lives = 0
        var isSettled = false
        while !isSettled, lives < 60 {
            let answers = Mutex(lives % 3)
            bench.collector.setFaults { request, _ in
                guard request.path != WireNames.enrollPath else { return nil }
                let left = answers.withLock { answers in
                    answers -= 1
                    return answers
                }
                return left >= 0 ? nil : left == -1 ? .answerLost : .requestLost
            }
            try await bench.run(enrollments: enrollments) { queue, transmitter in
                if lives == 0 { try await record(names("y", 7), to: queue) }
                isSettled = await transmitter.pass() == .finished
                let waiting = try await queue.balance().values.reduce(0) { $0 + $1.waiting }
                isSettled = isSettled && waiting == 0
            }
            bench.clock.advance(by: .seconds(30))
            lives += 1
        }
        #expect(isSettled, "after \(lives) lives")
        try await expectEverythingOnce(names("a", 10), names("w", 5), names("x", 5), names("y", 7))
    }

    @Test func `An epoch closed at the collector is left, and what it lacks is queued anew`() async throws {
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            try await record(names("a", 3), to: queue)
            await settle(transmitter)
            try await record(names("b", 4), to: queue)
            let streams = StreamName.allCases.map { EpochClose.Stream(stream: $0, last: 0, reason: .moved, points: []) }
            _ = try await bench.store.close(
                EpochClose(epoch: queue.epoch, streams: streams), from: bench.collector.device)
            await settle(transmitter)
            try await expectEverythingOnce(names("a", 3), names("b", 4))
        }
    }

    @Test func `A copy on another machine becomes a device of its own and drops what it inherited`() async throws {
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            try await record(names("a", 3), to: queue)
            await settle(transmitter)
            try await record(names("inherited", 4), to: queue)
        }
        let image = bench.directory.appendingPathExtension("clone")
        defer { try? FileManager.default.removeItem(at: image) }
        try copy(bench.directory, image)
        let former = try #require(enrollments.load())
        let clone = InMemoryEnrollmentStore(token: "enrollment-token", state: .clone(of: former))
        try await bench.run(enrollments: clone, in: image) { queue, transmitter in
            try await record(names("early", 1), to: queue)
            await settle(transmitter)
            try await record(names("own", 3), to: queue)
            await settle(transmitter)
            let device = try #require(clone.load()?.deviceID)
            #expect(device != former.deviceID)
            #expect(try await bench.bodies(of: device).sorted() == names("own", 3))
            #expect(try await bench.bodies().sorted() == names("a", 3), "the original is not touched")
            let balance = try #require(try await queue.balance()[.event])
            // All eight of the inherited epoch, the three that the original has stored too: this device has never
            // stored any of them.
            #expect(balance.dropped["clone"] == 8 && balance.stored == 3 && balance.closes, "\(balance)")
            #expect(bench.events.all.contains(.cloned(former: former.deviceID)))
        }
        // The original goes on as if nothing had been.
        try await bench.run(enrollments: enrollments) { _, transmitter in
            await settle(transmitter)
            let all = (names("a", 3) + names("inherited", 4)).sorted()
            let stored = try await bench.bodies()
            #expect(stored.sorted() == all)
        }
    }

    @Test func `A clone without a token sends nothing and says what it is`() async throws {
        let former = Enrollment(
            deviceID: .random(), credential: "x", organization: "default", collectorID: .random(),
            incarnationID: .random())
        try await bench.run(enrollments: InMemoryEnrollmentStore(token: nil, state: .clone(of: former))) {
            queue, transmitter in
            try await record(names("a", 1), to: queue)
            guard case .paused = await transmitter.pass() else { Issue.record("sent"); return }
            #expect(transmitter.status.reason?.contains("copy of device \(former.deviceID)") == true)
            #expect(try await queue.balance()[.event]?.waiting == 1)
        }
    }

    @Test func `Histories that diverge again and again wait once the budget is spent`() async throws {
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            let streams = StreamName.allCases.map { EpochClose.Stream(stream: $0, last: 0, reason: .moved, points: []) }
            var epochs: Set<EpochID> = []
            for round in 0..<8 {
                try await record(names("r\(round)-", 2), to: queue)
                _ = try await bench.store.close(
                    EpochClose(epoch: queue.epoch, streams: streams), from: bench.collector.device)
                let began = bench.clock.now().timeSinceBoot
                await settle(transmitter)
                #expect(epochs.insert(queue.epoch).inserted)
                let took = bench.clock.now().timeSinceBoot - began
                #expect(round < 6 ? took < 600_000_000 : took > 3_000_000_000, "round \(round): \(took / 1_000_000) s")
            }
            try await expectEverythingOnce((0..<8).flatMap { names("r\($0)-", 2) })
        }
    }

    @Test func `A close that the collector refuses does not hold new records back`() async throws {
        try await rollBack()
        bench.collector.setFaults { [collector = bench.collector] request, _ in
            guard request.path == WireNames.closePath else { return nil }
            let headers = TransportResponse.collectorHeaders(collector.collectorID, collector.incarnationID)
            return .answered(TransportResponse(status: 500, headers: headers))
        }
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            try await record(names("y", 2), to: queue)
            for _ in 0..<5 { _ = await transmitter.pass() }
            try await record(["late"], .status, to: queue)
            for _ in 0..<5 { _ = await transmitter.pass() }
            #expect(try await bench.bodies(.status) == ["late"])
            bench.collector.setFaults { _, _ in nil }
            await settle(transmitter)
            try await expectEverythingOnce(names("a", 10), names("w", 5), names("x", 5), names("y", 2))
        }
    }
}
