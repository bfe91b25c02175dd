import DeviceTestKit
import Foundation
import RecordQueue
import RecordStore
import StoreTestKit
import Synchronization
import Testing
import WireModel
@testable import Transmitter

/// The shell, against a real queue and a collector without a network.
@Suite struct TransmitterTests {
    let bench = TransmitterBench()
    var clock: ManualRecordClock { bench.clock }

    private func withTransmitter(
        faults: @escaping LoopbackCollector.Faults = { _, _ in nil }, token: String? = "enrollment-token",
        enrollment: Enrollment? = nil,
        failingSaves: Int = 0, partBytes: Int = WireLimits.partBytes, hold: Duration = .zero,
        _ body: (RecordQueue, LoopbackCollector, InMemoryRecordStore, Transmitter) async throws -> Void
    ) async throws {
        let store = InMemoryEnrollmentStore(token: token, enrollment: enrollment, failingSaves: failingSaves)
        bench.collector.setFaults(faults)
        try await bench.run(enrollments: store, partBytes: partBytes, hold: hold) { queue, transmitter in
            try await body(queue, bench.collector, bench.store, transmitter)
        }
    }

    private func enqueue(_ count: Int, _ stream: StreamName = .event, bytes: Int = 10, to queue: RecordQueue)
        async throws
    {
        try await bench.enqueue(count, stream, bytes: bytes, to: queue)
    }

    private func stored(_ store: InMemoryRecordStore, _ collector: LoopbackCollector, _ stream: StreamName = .event)
        async throws
        -> [UInt64]
    { try await bench.stored(stream) }

    @Test func `It enrolls, sends everything of all streams, and the queue is empty afterwards`() async throws {
        try await withTransmitter(partBytes: 4_096) { queue, collector, store, transmitter in
            try await enqueue(500, .event, bytes: 100, to: queue)
            try await enqueue(3, .status, to: queue)
            try await enqueue(40, .sample, to: queue)
            #expect(await transmitter.pass() == .finished)
            #expect(try await stored(store, collector, .event) == Array(1...500))
            #expect(try await stored(store, collector, .status) == Array(1...3))
            #expect(try await stored(store, collector, .sample) == Array(1...40))
            for (stream, balance) in try await queue.balance() {
                #expect(balance.closes && balance.waiting == 0, "\(stream): \(balance)")
            }
            #expect(collector.enrollments == 1)
            #expect(transmitter.status.acknowledged == ["event": 500, "status": 3, "sample": 40])
            #expect(transmitter.status.device == "\(collector.device)")
        }
    }

    @Test func `A lost answer costs a repeat, and nothing is doubled`() async throws {
        let faults = FaultScript([.answerLost, .answerLost, nil, .requestLost, nil])
        try await withTransmitter(faults: faults.next) { queue, collector, store, transmitter in
            try await enqueue(20, to: queue)
            var pauses = 0
            while await transmitter.pass() != .finished { pauses += 1 }
            #expect(pauses >= 2)
            #expect(try await stored(store, collector) == Array(1...20))
            #expect(try await queue.balance()[.event]?.stored == 20)
        }
    }

    @Test(arguments: [
        TransportResponse(status: 200, headers: ["content-type": "text/html"], body: Data("<html>Sign in</html>".utf8)),
        TransportResponse(status: 500), TransportResponse(status: 302), TransportResponse(status: 204),
        TransportResponse(status: 503),
    ])
    func `Whoever else answers, nothing leaves the queue`(response: TransportResponse) async throws {
        try await withTransmitter(faults: { _, batch in batch == nil ? nil : .answered(response) }) {
            queue, collector, store, transmitter in
            try await enqueue(5, to: queue)
            guard case .paused = await transmitter.pass() else {
                Issue.record("\(response.status) was taken for an answer"); return
            }
            #expect(try await queue.balance()[.event]?.waiting == 5)
            #expect(transmitter.status.state == .backingOff)
            #expect(transmitter.status.reason?.isEmpty == false)
            clock.advance(by: .seconds(60))
            collector.setFaults { _, _ in nil }
            #expect(await transmitter.pass() == .finished)
            #expect(try await stored(store, collector) == Array(1...5))
        }
    }

    @Test func `Our headers with an unreadable body are no acknowledgement`() async throws {
        try await withTransmitter { queue, collector, _, transmitter in
            try await enqueue(5, to: queue)
            let headers = TransportResponse.collectorHeaders(collector.collectorID, collector.incarnationID)
            collector.setFaults { _, batch in
                batch == nil
                    ? nil : .answered(TransportResponse(status: 200, headers: headers, body: Data("<html>".utf8)))
            }
            guard case .paused = await transmitter.pass() else { Issue.record("believed"); return }
            #expect(try await queue.balance()[.event]?.waiting == 5)
        }
    }

    @Test func `A 413 is halved until it fits`() async throws {
        try await withTransmitter(faults: { request, batch in
            (batch?.parts.map(\.records.count).reduce(0, +) ?? 0) > 7 ? .answered(TransportResponse(status: 413)) : nil
        }) { queue, collector, store, transmitter in
            try await enqueue(100, to: queue)
            try await enqueue(30, .sample, to: queue)
            #expect(await transmitter.pass() == .finished)
            #expect(try await stored(store, collector) == Array(1...100))
            #expect(try await stored(store, collector, .sample) == Array(1...30))
        }
    }

    /// What a middlebox answers: bare, and with the headers of the collector that it stands before.
    private func lies(_ collector: LoopbackCollector) -> [TransportResponse] {
        let forged = TransportResponse.collectorHeaders(collector.collectorID, collector.incarnationID)
        return [
            TransportResponse(status: 413), TransportResponse(status: 413, headers: forged),
            TransportResponse(status: 400, headers: forged),
            TransportResponse(status: 422, headers: forged), TransportResponse(status: 500, headers: forged),
        ]
    }

    @Test(arguments: 0..<5) func `A record that alone is refused is set aside after ten minutes while others pass`(
        _ index: Int
    )
        async throws
    {
        let poison = Data(repeating: 57, count: 10)
        let lie = lies(bench.collector)[index]
        try await withTransmitter(faults: { _, batch in
            let poisoned =
                batch?.parts.contains { $0.records.contains { RecordHeader(scanning: $0)?.body(of: $0) == poison } }
                ?? false
            return poisoned ? .answered(lie) : nil
        }) { queue, collector, store, transmitter in
            try await enqueue(100, to: queue)
            var (statusRecords, wasSeen) = (0, false)
            var minutes = 0
            while try await queue.balance()[.event]?.waiting != 0, minutes < 120 {
                try await enqueue(1, .status, to: queue)
                statusRecords += 1
                // Passes as the loop makes them: on demand, and when what it waits for is due.
                for _ in 0..<20 { _ = await transmitter.pass() }
                if let blocked = transmitter.status.blocked["event"] {
                    wasSeen = true
                    #expect(blocked.why.contains("HTTP \(lie.status)") && blocked.refusals > 0)
                    #expect(blocked.why.contains(lie.headers.isEmpty ? "something between" : "the collector answered"))
                }
                if minutes < 10 { #expect(try await queue.balance()[.event]?.dropped.isEmpty == true) }
                clock.advance(by: .seconds(60))
                minutes += 1
            }
            #expect(wasSeen && minutes >= 10 && minutes < 60, "\(minutes) minutes")
            #expect(try await stored(store, collector) == (1...100).filter { $0 != 58 })
            #expect(
                try await stored(store, collector, .status).count >= statusRecords - 1, "status flowed all the while")
            let balance = try #require(try await queue.balance()[.event])
            #expect(balance.closes && balance.dropped == ["quarantined": 1])
            #expect(transmitter.status.blocked.isEmpty)
            // What refused it is gone.
            collector.setFaults { _, _ in nil }
            #expect(try await queue.retry().records.map(\.newNumber) == [101])
            #expect(await transmitter.pass() == .finished)
            #expect(try await bench.bodies().count == 100)
            #expect(try await queue.balance()[.event]?.closes == true)
        }
    }

    @Test(arguments: 0..<5) func `What answers anything to everything for a day sets nothing aside`(_ index: Int)
        async throws
    {
        let lie = lies(bench.collector)[index]
        try await withTransmitter(faults: { _, batch in batch == nil ? nil : .answered(lie) }) {
            queue, collector, store, transmitter in
            for stream in StreamName.allCases { try await enqueue(50, stream, to: queue) }
            var now = Duration.zero
            while now < .seconds(86_400) {
                var pause = Duration.seconds(300)
                switch await transmitter.pass() {
                case .paused(let duration), .waiting(let duration): pause = max(duration, .milliseconds(1))
                case .finished: break
                }
                clock.advance(by: pause)
                now += pause
            }
            for (stream, balance) in try await queue.balance() {
                #expect(balance.waiting == 50 && balance.dropped.isEmpty, "\(stream): \(balance)")
            }
            collector.setFaults { _, _ in nil }
            clock.advance(by: .seconds(301))
            #expect(await transmitter.pass() == .finished)
            #expect(try await stored(store, collector) == Array(1...50), "and it goes on at once")
        }
    }

    @Test func `A record that was stored behind a lie is not set aside for good`() async throws {
        let lie = lies(bench.collector)[0]
        let isLying = Mutex(true)
        try await withTransmitter(faults: { _, batch in
            let holdsEvents = batch?.parts.contains { $0.stream == .event } ?? false
            return holdsEvents && isLying.withLock { $0 } ? .answeredInstead(lie) : nil
        }) { queue, collector, store, transmitter in
            try await enqueue(1, to: queue)
            var minutes = 0
            while try await queue.status().quarantinedRecords == 0, minutes < 120 {
                try await enqueue(1, .status, to: queue)
                _ = await transmitter.pass()
                clock.advance(by: .seconds(60))
                minutes += 1
            }
            #expect(minutes >= 10 && minutes < 60, "\(minutes) minutes")
            #expect(try await queue.retry().records.map(\.outcome) == [.open])
            isLying.withLock { $0 = false }
            clock.advance(by: .seconds(301))
            #expect(await transmitter.pass() == .finished)
            #expect(try await queue.status().quarantinedRecords == 0)
            #expect(try await stored(store, collector) == [1])
            let balance = try #require(try await queue.balance()[.event])
            #expect(balance.closes && balance.stored == 1 && balance.dropped.isEmpty)
        }
    }

    @Test func `Events wait for their hold, and status does not`() async throws {
        try await withTransmitter(hold: .seconds(7_200)) { queue, collector, store, transmitter in
            try await enqueue(2, .event, to: queue)
            try await enqueue(1, .status, to: queue)
            #expect(await transmitter.pass() == .finished)
            #expect(try await stored(store, collector, .event) == [])
            #expect(try await stored(store, collector, .status) == [1])
            clock.setWallClock(by: .seconds(100_000))
            #expect(await transmitter.pass() == .finished)
            #expect(try await stored(store, collector, .event) == [], "a clock set forward releases nothing")
            clock.advance(by: .seconds(7_201))
            #expect(await transmitter.pass() == .finished)
            #expect(try await stored(store, collector, .event) == [1, 2])
        }
    }

    @Test func `Without a token, it holds and says so`() async throws {
        try await withTransmitter(token: nil) { queue, collector, _, transmitter in
            try await enqueue(1, to: queue)
            guard case .paused = await transmitter.pass() else { Issue.record("sent without being enrolled"); return }
            #expect(transmitter.status.state == .holding)
            #expect(transmitter.status.reason?.contains("no enrollment token given") == true)
            for step in ["ws1collector token create --enrollment", "--enrollment-token-file"] {
                #expect(transmitter.status.reason?.contains(step) == true, "\(transmitter.status.reason ?? "")")
            }
            #expect(collector.batches == 0)
        }
    }

    @Test func `A refused credential enrolls once more`() async throws {
        try await withTransmitter { queue, collector, store, transmitter in
            try await enqueue(3, to: queue)
            let once = FaultScript([
                .answered(
                    TransportResponse(
                        status: 401,
                        headers: TransportResponse.collectorHeaders(collector.collectorID, collector.incarnationID)))
            ])
            collector.setFaults(once.next)
            #expect(await transmitter.pass() == .finished)
            #expect(collector.enrollments == 2)
            #expect(try await stored(store, collector) == [1, 2, 3])
        }
    }

    @Test func `An enrollment that cannot be kept is kept later and not asked for again`() async throws {
        try await withTransmitter(failingSaves: 12) { queue, collector, store, transmitter in
            try await enqueue(2, to: queue)
            for _ in 0..<12 {
                guard case .paused(let pause) = await transmitter.pass() else {
                    Issue.record("sent without being enrolled"); return
                }
                #expect(pause >= .milliseconds(500) && pause <= .seconds(10), "trouble of the own disk")
                #expect(collector.batches == 0)
            }
            #expect(await transmitter.pass() == .finished)
            #expect(collector.enrollments == 1)
            #expect(try await stored(store, collector) == [1, 2])
        }
    }

    @Test func `A queue that cannot be read is tried again within seconds`() async throws {
        try await withTransmitter { queue, _, _, transmitter in
            #expect(await transmitter.pass() == .finished)
            await queue.close()
            for _ in 0..<12 {
                guard case .paused(let pause) = await transmitter.pass() else {
                    Issue.record("a closed queue was read"); return
                }
                #expect(pause >= .milliseconds(500) && pause <= .seconds(10))
            }
        }
    }

    @Test func `A refused credential enrolls once more, also after an enrollment that did not get through`()
        async throws
    {
        try await withTransmitter { queue, collector, store, transmitter in
            #expect(await transmitter.pass() == .finished)
            try await enqueue(3, to: queue)
            let refused = LoopbackCollector.Fault.answered(
                TransportResponse(
                    status: 401,
                    headers: TransportResponse.collectorHeaders(collector.collectorID, collector.incarnationID)))
            let batches = FaultScript([refused, refused]).next
            let enrollmentLost = Mutex(false)
            collector.setFaults { request, batch in
                guard batch == nil else { return batches(request, batch) }
                return enrollmentLost.withLock { lost in
                    defer { lost = true }
                    return lost ? nil : .requestLost
                }
            }
            guard case .paused = await transmitter.pass() else { Issue.record("sent"); return }
            #expect(await transmitter.pass() == .finished)
            #expect(collector.enrollments == 2)
            #expect(try await stored(store, collector) == [1, 2, 3])
        }
    }

    @Test func `A queue bound elsewhere is not sent`() async throws {
        let other = Enrollment(
            deviceID: .random(), credential: "x", organization: "default", collectorID: .random(),
            incarnationID: .random())
        try await withTransmitter(enrollment: other) { queue, collector, _, transmitter in
            _ = try await queue.bind(to: QueueBinding(collector: .random(), organization: "else", device: .random()))
            try await enqueue(3, to: queue)
            guard case .paused = await transmitter.pass() else { Issue.record("sent"); return }
            #expect(transmitter.status.state == .holding)
            #expect(collector.batches == 0)
            #expect(try await queue.balance()[.event]?.waiting == 3)
        }
    }

    @Test func `A device that cannot prove who it was becomes a new one, and its backlog is held for a rebind`()
        async throws
    {
        let bench = TransmitterBench()
        let enrollments = InMemoryEnrollmentStore(token: "enrollment-token")
        var former: Enrollment?
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            try await bench.enqueue(2, to: queue)
            #expect(await transmitter.pass() == .finished)
            former = enrollments.load()
        }
        // The disk was rolled back to a credential that was rotated since: neither is it accepted, nor does it prove
        // whose the id is.
        var rolledBack = try #require(former)
        rolledBack.credential = "former"
        try enrollments.save(rolledBack)
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            try await bench.enqueue(3, to: queue)
            let before = bench.collector.enrollments
            guard case .paused = await transmitter.pass() else { Issue.record("sent what is another device's"); return }
            #expect(bench.collector.enrollments == before + 2, "refused as the one it was, taken as a new one")
            let new = try #require(enrollments.load())
            #expect(new.deviceID != rolledBack.deviceID && bench.collector.enrolledDevices.contains(new.deviceID))
            #expect(transmitter.status.state == .holding)
            #expect(transmitter.status.reason?.contains("\(rolledBack.deviceID)") == true)
            #expect(transmitter.status.reason?.contains("queue rebind") == true)
            #expect(try await bench.stored() == [1, 2])
            #expect(try await bench.stored(of: new.deviceID).isEmpty)
            #expect(try await queue.balance()[.event]?.waiting == 3)
            // As `queue rebind --send` does, while the transmitter runs.
            try await queue.endEpoch(.reboundSend)
            try await queue.rebind(to: nil)
            #expect(await transmitter.pass() == .finished)
            #expect(try await bench.stored(of: new.deviceID) == [1, 2, 3])
            #expect(try await queue.balance()[.event]?.waiting == 0)
        }
    }

    /// Such as of a proxy that answers anything to everything, with the headers of the collector that it stands before.
    @Test(arguments: [nil, .uploadExpired, .conflict] as [Problem.Code?])
    func `A 409 that does not say that the ID is another's makes no new device`(code: Problem.Code?) async throws {
        let bench = TransmitterBench()
        let enrollments = InMemoryEnrollmentStore(token: "enrollment-token")
        try await bench.run(enrollments: enrollments) { queue, transmitter in
            #expect(await transmitter.pass() == .finished)
            let former = try #require(enrollments.load())
            let headers = TransportResponse.collectorHeaders(bench.collector.collectorID, bench.collector.incarnationID)
            var conflict = TransportResponse(status: 409, headers: headers)
            if let code {
                conflict.headers["content-type"] = WireNames.problem
                conflict.body = try JSONEncoder().encode(Problem(status: 409, code: code, title: "no"))
            }
            // The one credential it has is refused, and so is its proof, once each.
            let answers = Mutex([
                WireNames.batchesPath: TransportResponse(status: 401, headers: headers), WireNames.enrollPath: conflict,
            ])
            bench.collector.setFaults { request, _ in
                answers.withLock { $0.removeValue(forKey: request.path) }.map { LoopbackCollector.Fault.answered($0) }
            }
            try await bench.enqueue(2, to: queue)
            guard case .paused = await transmitter.pass() else { Issue.record("it went on as somebody else"); return }
            #expect(enrollments.load()?.deviceID == former.deviceID)
            #expect(transmitter.status.state == .backingOff)
            #expect(await transmitter.pass() == .finished)
            #expect(enrollments.load()?.deviceID == former.deviceID)
            #expect(bench.collector.enrolledDevices == [former.deviceID])
            #expect(try await bench.stored() == [1, 2])
        }
    }

    @Test func `A status record recorded while a long backlog drains goes with the next request`() async throws {
        let requests = Mutex([[StreamName]]())
        try await withTransmitter(partBytes: 4_096) { queue, collector, store, transmitter in
            try await enqueue(500, .sample, bytes: 100, to: queue)
            let stamp = clock.now()
            collector.setFaults { _, batch in
                guard let batch else { return nil }
                let count = requests.withLock {
                    $0.append(batch.parts.compactMap { StreamName(rawValue: $0.stream.rawValue) })
                    return $0.count
                }
                // While the third request is under way.
                if count == 3 {
                    try? queue.enqueue(NewRecord(stream: .status, kind: .beacon, stamp: stamp, body: Data("now".utf8)))
                }
                return nil
            }
            #expect(await transmitter.pass() == .finished)
            let seen = requests.withLock { $0 }
            #expect(seen.count > 8)
            #expect(seen.firstIndex { $0.contains(.status) } == 3, "\(seen)")
            #expect(seen[3] == [.status, .sample])
        }
    }

    @Test func `An outage of 500 for six days sets nothing aside`() async throws {
        let headers = TransportResponse.collectorHeaders(bench.collector.collectorID, bench.collector.incarnationID)
        let requests = Mutex(0)
        try await withTransmitter(faults: { _, batch in
            guard batch != nil else { return nil }
            requests.withLock { $0 += 1 }
            return .answered(TransportResponse(status: 500, headers: headers))
        }) { queue, collector, store, transmitter in
            for stream in StreamName.allCases { try await enqueue(20, stream, to: queue) }
            var now = Duration.zero
            // Records grow old, and are dropped for it, after a week.
            while now < .seconds(6 * 86_400) {
                let pause: Duration
                switch await transmitter.pass() {
                case .paused(let duration), .waiting(let duration): pause = max(duration, .milliseconds(1))
                case .finished: pause = .seconds(300)
                }
                clock.advance(by: pause)
                now += pause
            }
            for stream in StreamName.allCases {
                let balance = try #require(try await queue.balance()[stream])
                #expect(balance.waiting == 20 && balance.dropped.isEmpty)
            }
            #expect(requests.withLock { $0 } < 6 * 24 * 12 * 3)
            collector.setFaults { _, _ in nil }
            while await transmitter.pass() != .finished { clock.advance(by: .seconds(60)) }
            for stream in StreamName.allCases {
                let arrived = try await stored(store, collector, stream)
                #expect(arrived == Array(1...20), "\(stream), \(transmitter.status)")
            }
        }
    }

    @Test func `A lost enrollment answer makes no second device`() async throws {
        let lost = Mutex(2)
        try await withTransmitter(faults: { _, batch in
            guard batch == nil,
                lost.withLock({
                    $0 -= 1; return $0 >= 0
                })
            else { return nil }
            return .answerLost
        }) { queue, collector, store, transmitter in
            try await enqueue(3, to: queue)
            while await transmitter.pass() != .finished {}
            #expect(collector.enrollments == 3)
            #expect(collector.enrolledDevices == [collector.device])
            #expect(try await stored(store, collector) == [1, 2, 3])
        }
    }
}

/// Faults one after the other for batches, then none.
final class FaultScript: Sendable {
    private let left: Mutex<[LoopbackCollector.Fault?]>

    init(_ faults: [LoopbackCollector.Fault?]) { left = Mutex(faults) }

    var next: LoopbackCollector.Faults {
        { [self] _, batch in batch == nil ? nil : left.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
    }
}
