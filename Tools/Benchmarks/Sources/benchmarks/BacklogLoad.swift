import Foundation
import Glibc
import Logging
import RecordQueue
import WireModel

/// A queue is filled, closed, opened and drained.
struct BacklogLoad {
    struct Figures {
        var emptyOpenSeconds = 0.0
        var openSeconds = 0.0
        var statusSeconds = 0.0
        var firstPartSeconds = 0.0
        var drainedPerSecond = 0.0
        var residentBefore = 0.0
        var residentOpen = 0.0
        var residentGreatest = 0.0
    }

    var records: Int
    var partRecords: Int

    func measure(directory: String) async throws -> Figures {
        let work = try WorkDirectory(in: directory)
        var figures = Figures()
        var empty: RecordQueue?
        // The second opening: the first one makes the file.
        await (try open(work.file("empty"))).close()
        figures.emptyOpenSeconds = try Stopwatch.seconds { empty = try open(work.file("empty")) }
        await empty?.close()
        try await fill(work.file("queue"))

        figures.residentBefore = try Self.resident()
        var opened: RecordQueue?
        figures.openSeconds = try Stopwatch.seconds { opened = try open(work.file("queue")) }
        guard let queue = opened else { throw BenchmarkError("the queue was not opened") }
        figures.residentOpen = try Self.resident()
        figures.statusSeconds = try await Stopwatch.seconds { _ = try await queue.status() }
        figures.firstPartSeconds = try await Stopwatch.seconds { _ = try await queue.part(records: partRecords) }
        let seconds = try await Stopwatch.seconds {
            try await queue.drain(partRecords: partRecords) { parts in
                guard parts.isMultiple(of: 50) else { return }
                figures.residentGreatest = max(figures.residentGreatest, try Self.resident())
            }
        }
        figures.residentGreatest = max(figures.residentGreatest, try Self.resident())
        let balance = try await queue.balance()[.sample]
        await queue.close()
        guard let balance, balance.closes, balance.stored == UInt64(records), balance.waiting == 0 else {
            throw BenchmarkError(
                "backlog: the queue's balance is \(balance.map { "\($0)" } ?? "absent"), expected \(records) stored")
        }
        figures.drainedPerSecond = Double(records) / seconds
        return figures
    }

    private func open(_ directory: String) throws -> RecordQueue {
        var configuration = RecordQueue.Configuration()
        configuration.maximumBytes = 1 << 30
        configuration.maximumRecords = max(configuration.maximumRecords, records)
        configuration.lossWindow = .seconds(60)
        return try RecordQueue.open(
            directory: directory, configuration: configuration, clock: SystemRecordClock(),
            logger: Logger(label: "benchmarks") { _ in SwiftLogNoOpLogHandler() })
    }

    private func fill(_ directory: String) async throws {
        let samples = EnqueueLoad.records(1000)
        let queue = try open(directory)
        for number in 0..<records {
            try queue.enqueue(samples[number % samples.count])
            if (number + 1).isMultiple(of: 1000) { try await queue.flush() }
        }
        await queue.close()
    }

    private static func resident() throws -> Double { Double(try ProcessFigures(of: getpid()).residentBytes) }
}

extension RecordQueue {
    func part(records: Int) async throws -> BatchPart? {
        try await nextPart(of: .sample, maximumBytes: WireLimits.partBytes, maximumRecords: records, hold: .zero)
    }

    /// Takes every sample from the queue, as if a collector had stored it. `taken` is told the number of parts so far.
    func drain(partRecords: Int, taken: (Int) throws -> Void = { _ in }) async throws {
        var mark = StreamMark.none
        var parts = 0
        while let part = try await part(records: partRecords) {
            mark.stored += part.last - mark.number
            mark.number = part.last
            mark.link = part.lastLink
            _ = try await apply(PartAnswer(epoch: part.epoch, stream: part.stream, outcome: .stored, mark: mark))
            parts += 1
            try taken(parts)
        }
    }
}
