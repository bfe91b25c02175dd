import Foundation
import Logging
import RecordQueue
import WireModel

/// The cost of one ordinary record in bulk: the call of `enqueue`, the processor for the whole way to synced disk, and
/// what is written for it.
struct EnqueueCost {
    /// Nanoseconds of one call, by the hundred: half and 99 % of the calls last no longer.
    var callMedian: Double
    var callSlow: Double
    /// Processor time of a record, this process, all threads, from the call to the sync, checkpoints and the closing of
    /// the file included.
    var microseconds: Double
    /// Bytes written for a byte of record: as the kernel counts them, checkpoints included.
    var writtenPerByte: Double

    var notes: [String] {
        func decimal(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
        return [
            """
            call of enqueue: \(Report.number(callMedian)) ns (median), \(Report.number(callSlow)) ns (99 %); goal \
            under 2,000
            """,
            "processor time of a record, whole way: \(decimal(microseconds)) us; goal under 5",
            "written a byte of record, in bulk, checkpoints included: \(decimal(writtenPerByte)) bytes; goal under 3",
        ]
    }

    /// Commits every 1,000 records.
    static func measure(_ samples: [NewRecord], count: Int, directory: String) async throws -> EnqueueCost {
        let work = try WorkDirectory(in: directory)
        var configuration = RecordQueue.Configuration()
        configuration.maximumBytes = 1 << 30
        configuration.maximumRecords = max(configuration.maximumRecords, count)
        configuration.lossWindow = .seconds(60)
        let queue = try RecordQueue.open(
            directory: work.file("queue"), configuration: configuration, clock: SystemRecordClock(),
            logger: Logger(label: "benchmarks") { _ in SwiftLogNoOpLogHandler() })
        // The WAL is allocated by the first commit, once for all.
        try queue.enqueue(samples[0])
        try await queue.flush()
        let written = EnqueueLoad.writtenBytes
        let processor = ProcessorTime.microseconds
        var calls: [Double] = []
        for start in stride(from: 0, to: count, by: 100) {
            let seconds = try Stopwatch.seconds {
                for number in start..<start + 100 { try queue.enqueue(samples[number % samples.count]) }
            }
            calls.append(seconds * 1e9 / 100)
            if (start + 100).isMultiple(of: 1000) { try await queue.flush() }
        }
        try await queue.flush()
        let bytes = try await queue.status().streams[.sample]?.waitingBytes ?? 0
        let enqueued = try await queue.balance()[.sample]?.waiting ?? 0
        await queue.close()
        guard enqueued == UInt64(count + 1), bytes > 0 else {
            throw BenchmarkError("\(enqueued) of \(count + 1) records are in the queue")
        }
        calls.sort()
        return EnqueueCost(
            callMedian: calls[calls.count / 2], callSlow: calls[calls.count * 99 / 100],
            microseconds: (ProcessorTime.microseconds - processor) / Double(count),
            writtenPerByte: Double(EnqueueLoad.writtenBytes - written) / Double(bytes))
    }
}
