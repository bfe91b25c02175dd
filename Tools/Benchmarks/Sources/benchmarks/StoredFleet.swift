import Foundation
import Logging
import MetricCatalog
import RecordStore
import SQLiteRecordStore
import Synchronization
import WireModel

/// A store with days of a fleet's samples in it.
struct StoredFleet {
    let store: SQLiteRecordStore
    private let work: WorkDirectory
    private let devices: [DeviceID]
    private let end: Int64

    private static let day: Int64 = 86_400_000_000
    private static let firstDay = 20_000
    private static let step: Int64 = 300_000_000
    private static let metric = "system.memory.usage"

    private final class Clock: StoreClock {
        private let time: Mutex<Int64>
        init(_ time: Int64) { self.time = Mutex(time) }
        func now() -> Int64 { time.withLock { $0 } }
        func set(_ time: Int64) { self.time.withLock { $0 = time } }
    }

    private struct Chain: Sendable {
        let device: DeviceID
        let epoch = EpochID.random()
        var link = ChainLink.zero
        var last: UInt64 = 0

        mutating func part(_ body: Data, at time: Int64) -> BatchPart {
            let prior = link
            last += 1
            let record = NewRecord(
                stream: .sample, kind: .sampleSystem, module: "system",
                stamp: RecordStamp(wallTime: time, bootID: nil, timeSinceBoot: last * 300_000_000), body: body
            ).serialized(number: last)
            link = link.appending(record)
            return BatchPart(
                epoch: epoch, stream: .sample, first: last, last: last, priorLink: prior, lastLink: link,
                totals: StreamTotals(produced: last, waiting: 1), records: [record])
        }
    }

    init(devices count: Int, days: Int, directory: String) async throws {
        work = try WorkDirectory(in: directory)
        let start = Int64(Self.firstDay) * Self.day
        end = start + Int64(days) * Self.day
        let clock = Clock(start)
        store = try SQLiteRecordStore.open(
            directory: work.file("collector"), clock: clock,
            logger: Logger(label: "benchmarks") { _ in SwiftLogNoOpLogHandler() })
        var chains = (0..<count).map { _ in Chain(device: .random()) }
        devices = chains.map(\.device)
        var bodies = SampleBodies(seed: 1)
        let pool = (0..<256).map { _ in bodies.next() }
        let store = store
        for time in stride(from: start, to: end, by: Int64.Stride(Self.step)) {
            clock.set(time)
            var requests: [(DeviceID, BatchPart)] = []
            for index in chains.indices {
                requests.append(
                    (chains[index].device, chains[index].part(pool[(index &+ Int(chains[index].last)) % 256], at: time))
                )
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                var rest = requests[...]
                func begin() {
                    guard let (device, part) = rest.popFirst() else { return }
                    group.addTask {
                        guard await store.append([part], from: device, receivedAt: time).first?.outcome == .stored
                        else {
                            throw BenchmarkError("a sample was not stored")
                        }
                    }
                }
                for _ in 0..<256 { begin() }
                while try await group.next() != nil { begin() }
            }
        }
    }

    /// The mean time of a request for one device at a time, each another one.
    func millisecondsPerDay() async throws -> Double {
        let selection = MetricSelection([Self.metric])
        let asked = devices.shuffled().prefix(100)
        let seconds = try await Stopwatch.seconds {
            for device in asked {
                let query = RecordQuery(
                    .one(device), stream: .sample, kinds: Set(selection.kinds.map(\.rawValue)),
                    times: RecordTimes(from: end - Self.day))
                var position: String?
                var points = 0
                repeat {
                    let page = try await store.records(query, before: position, limit: 1000)
                    for record in page.records {
                        points += try selection.read(kind: .sampleSystem, body: record.header.body(of: record.bytes))
                            .points.count
                    }
                    position = page.next
                } while position != nil
                guard points == 2 * 288 else { throw BenchmarkError("\(points) points in a day") }
            }
        }
        return seconds * 1000 / Double(asked.count)
    }

    /// - Parameter day: counted from the first; the oldest there is.
    func millisecondsToRemove(day: Int) async throws -> Double {
        try await Stopwatch.seconds {
            try await store.drop(Partition(day: UTCDay(number: Self.firstDay + day), stream: .sample))
        } * 1000
    }

    func millisecondsOfNewest() async throws -> Double {
        let selection = MetricSelection([Self.metric])
        let query = RecordQuery(.among([]), stream: .sample, kinds: Set(selection.kinds.map(\.rawValue)))
        return try await Stopwatch.seconds {
            var points = 0
            for record in try await store.newestRecords(of: devices, query).values {
                points += try selection.read(kind: .sampleSystem, body: record.header.body(of: record.bytes)).points
                    .count
            }
            guard points == 2 * devices.count else { throw BenchmarkError("\(points) newest points") }
        } * 1000
    }
}
