import Foundation
import Logging
import RecordQueue
import WireModel

/// One way of filling the queue.
struct EnqueueLoad {
    var name: String
    /// Rows to a transaction of the baseline it is set against.
    var baselineRows: Int
    var records: Int
    var callers: Int
    /// Ordinary records, committed after so many; nil: every caller waits for the sync of each of its records.
    var flushEvery: Int?

    /// Typed system samples, to be queued again and again.
    static func records(_ count: Int) -> [NewRecord] {
        let clock = SystemRecordClock()
        var bodies = SampleBodies(seed: 1)
        return (0..<count).map { _ in
            NewRecord(stream: .sample, kind: .sampleSystem, module: "system", stamp: clock.now(), body: bodies.next())
        }
    }

    func recordsPerSecond(_ samples: [NewRecord], directory: String) async throws -> Double {
        let work = try WorkDirectory(in: directory)
        var configuration = RecordQueue.Configuration()
        configuration.maximumBytes = 1 << 30
        configuration.maximumRecords = max(configuration.maximumRecords, records)
        // A commit comes when it is asked for, not in between.
        configuration.lossWindow = .seconds(60)
        let queue = try RecordQueue.open(
            directory: work.file("queue"), configuration: configuration, clock: SystemRecordClock(),
            logger: Logger(label: "benchmarks") { _ in SwiftLogNoOpLogHandler() })
        let seconds = try await Stopwatch.seconds {
            if let flushEvery {
                for number in 0..<records {
                    try queue.enqueue(samples[number % samples.count])
                    if (number + 1).isMultiple(of: flushEvery) { try await queue.flush() }
                }
                try await queue.flush()
            } else {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for caller in 0..<callers {
                        group.addTask {
                            for number in 0..<records / callers {
                                _ = try await queue.enqueueDurably(samples[(caller + number) % samples.count])
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
        let balance = try await queue.balance()[.sample]
        await queue.close()
        let expected = UInt64(flushEvery == nil ? records / callers * callers : records)
        guard let balance, balance.closes, balance.produced == expected, balance.waiting == expected else {
            throw BenchmarkError(
                "\(name): the queue's balance is \(balance.map { "\($0)" } ?? "absent"), expected \(expected) waiting")
        }
        return Double(expected) / seconds
    }

    /// Bytes this process has caused to be written to storage.
    static var writtenBytes: Int {
        let text = (try? String(contentsOfFile: "/proc/self/io", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("write_bytes:") }
        return line?.split(separator: " ").last.flatMap { Int($0) } ?? 0
    }
}
