import Foundation
import Testing
import TestKit
import WireModel

@testable import RecordQueue

/// Random histories against the collector's real rules: the balance closes after every step, and at the
/// end nothing is lost or doubled.
@Suite("Balance")
struct BalanceTests {
    @Test(arguments: 1...12, [false, true])
    func `The balance closes after every operation, with lost and repeated messages, drops, restarts and kills`(
        _ seed: Int, _ isSealed: Bool
    ) async throws {
        var random = SplitMix64(seed: UInt64(seed))
        let fixture = try QueueFixture()
        let keys = try QueueKeys(fixture)
        func configuration() -> RecordQueue.Configuration {
            isSealed ? QueueFixture.sealed(keys.ring()) : QueueFixture.configuration()
        }
        var directory = "/0"
        var queue = try fixture.open(directory, configuration())
        var collector = ModelCollector()
        var network: [BatchPart] = []
        var answers: [PartAnswer] = []
        for step in 1...120 {
            let stream = StreamName.allCases[Int.random(in: 0...2, using: &random)]
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<35:
                for _ in 1...Int.random(in: 1...6, using: &random) {
                    try queue.enqueue(
                        fixture.record(stream, bytes: Int.random(in: 0...6000, using: &random), byte: UInt8(step)))
                }
                try await queue.flush()
            case 35..<42:
                let reason: DropReason = Bool.random(using: &random) ? .byteCap : .quarantined
                _ = try await queue.drop(
                    oldest: Int.random(in: 1...5, using: &random), of: stream, reason: reason,
                    keepAside: reason == .quarantined)
            case 42..<65:
                if let part = try await queue.nextPart(
                    of: stream, maximumBytes: Int.random(in: 1...30000, using: &random), maximumRecords: 20, hold: .zero
                ) {
                    network += Bool.random(using: &random) ? [part] : [part, part]
                }
            case 65..<80:
                guard !network.isEmpty else { continue }
                let answer = collector.post(network.remove(at: Int.random(in: 0..<network.count, using: &random)))
                #expect(answer.outcome == .stored || answer.outcome == .already, "\(answer)")
                if Int.random(in: 0..<10, using: &random) < 7 { answers.append(answer) }
            case 80..<94:
                guard !answers.isEmpty else { continue }
                let decision = try await queue.apply(
                    answers.remove(at: Int.random(in: 0..<answers.count, using: &random)))
                if case .diverged = decision { Issue.record("an honest history diverged: \(decision)") }
            case 94..<97:
                await queue.close()
                queue = try fixture.open(directory, configuration())
            default:
                // kill -9: what is on disk now is all there is.
                let former = queue
                let next = "/\(step)"
                try fixture.copyAsKilled(from: directory, to: next)
                await former.close()
                directory = next
                queue = try fixture.open(directory, configuration())
            }
            for (stream, balance) in try await queue.balance() {
                #expect(balance.closes, "step \(step), \(stream): \(balance)")
            }
        }
        _ = try await collector.drain(queue, maximumBytes: 9000)
        for (stream, balance) in try await queue.balance() {
            #expect(balance.closes && balance.waiting == 0)
            #expect(
                balance.stored == UInt64(collector.stored[stream]?.count ?? 0),
                "the collector's rows are what the device believes")
            let numbers = (collector.stored[stream] ?? []).compactMap { RecordHeader(scanning: $0)?.number }
            #expect(Set(numbers).count == numbers.count, "nothing twice")
            #expect(balance.lostAtCollector == 0 && balance.rejected.isEmpty)
        }
        await queue.close()
    }

    @Test
    func `Killed between two commits, the queue has the first and not half of the second`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open("/a")
        for _ in 1...50 { _ = try await queue.enqueueDurably(fixture.record(.event, bytes: 3000)) }
        for _ in 1...10 { try queue.enqueue(fixture.record(.event)) }
        try fixture.copyAsKilled(from: "/a", to: "/b")
        let copy = try fixture.open("/b")
        #expect(copy.epoch == queue.epoch)
        var collector = ModelCollector()
        _ = try await collector.drain(copy)
        #expect(collector.stored[.event]?.count == 50, "durable ones all, those in the loss window not")
        await copy.close()
        await queue.close()
    }
}

extension QueueFixture {
    /// What a killed process leaves: the file and its WAL as the kernel has them.
    func copyAsKilled(from: String, to: String) throws {
        try FileManager.default.createDirectory(atPath: directory + to, withIntermediateDirectories: true)
        for name in ["queue.sqlite", "queue.sqlite-wal"] {
            try FileManager.default.copyItem(atPath: "\(directory)\(from)/\(name)", toPath: "\(directory)\(to)/\(name)")
        }
    }
}
