import RecordQueue
import RecordStore
import StoreTestKit
import WireModel

/// A collector as one device meets it, and what the judge asks it.
struct JudgedCollector {
    /// A stream's balance, summed over the device's epochs.
    struct Sum: Equatable {
        var produced: UInt64 = 0
        var stored: UInt64 = 0
        var lostAtCollector: UInt64 = 0
        var waiting: UInt64 = 0
        var rejected: UInt64 = 0
        var dropped: [String: UInt64] = [:]

        mutating func add(_ balance: StreamBalance) {
            produced += balance.produced
            stored += balance.stored
            lostAtCollector += balance.lostAtCollector
            waiting += balance.waiting
            rejected += balance.rejected.values.reduce(0, +)
            dropped.merge(balance.dropped, uniquingKeysWith: +)
        }
    }

    struct Stored {
        var number: UInt64
        var identity: UInt64
    }

    let store: any CrashingStore
    let device: DeviceID
    /// Decides the same parts in the same order; its answers must be the real ones.
    var reference: InMemoryRecordStore?

    func append(_ part: BatchPart) async throws -> PartAnswer {
        let answers = await store.store.append([part], from: device, receivedAt: 1)
        guard let answer = answers.first, answers.count == 1 else {
            throw Violation("\(answers.count) answers to one part")
        }
        if let reference {
            let expected = await reference.append([part], from: device, receivedAt: 1)
            guard answer.outcome == expected.first?.outcome, answer.mark == expected.first?.mark else {
                throw Violation("the store answered \(answer), the reference \(String(describing: expected.first))")
            }
        }
        return answer
    }

    /// All records of a stream, newest first.
    func stored(_ stream: StreamName) async throws -> [Stored] {
        var stored: [Stored] = []
        var position: String?
        repeat {
            let page = try await store.store.records(
                of: device, stream: stream, kind: nil, module: nil, before: position, limit: 1_000)
            stored += page.records.map {
                Stored(number: $0.header.number, identity: BodyMint.identity(of: $0.bytes, $0.header))
            }
            position = page.next
        } while position != nil
        return stored
    }

    /// The collector's balances, after both sides' were found to close.
    @discardableResult
    func balances(beside queue: RecordQueue) async throws -> [StreamName: Sum] {
        for (stream, balance) in try await queue.balance() where !balance.closes {
            throw Violation("the device's balance of \(stream) does not close: \(balance)")
        }
        var sums: [StreamName: Sum] = [:]
        for epoch in try await store.store.balance(of: device) {
            guard epoch.balance.closes else {
                throw Violation("the collector's balance of \(epoch.stream) does not close: \(epoch.balance)")
            }
            sums[epoch.stream, default: Sum()].add(epoch.balance)
        }
        return sums
    }
}
