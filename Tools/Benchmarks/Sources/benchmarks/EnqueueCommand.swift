import ArgumentParser
import Foundation
import Logging
import RecordQueue
import Synchronization
import WireModel

struct EnqueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enqueue",
        abstract:
            "Records a second into the device's queue, durably, beside raw SQLite with as many rows to a transaction.",
        discussion: """
            Ordinary records are flushed every 100 or 1,000; durable ones come from 1 or 100 callers that each wait \
            for the sync. Every record is numbered, chained and kept with its totals; the queue's balance is checked \
            afterwards.
            """)

    @OptionGroup var options: MeasurementOptions

    func run() async throws {
        try options.report(try await Self.compare(options))
    }

    static func compare(_ options: MeasurementOptions) async throws -> [Comparison] {
        let records = EnqueueLoad.records(1000)
        let written = Mutex<[String: Double]>([:])
        var contestants: [Contestant] = []
        for size in [1, 100, 1000] {
            let rows = size == 1 ? options.records / 50 : options.records
            contestants.append(
                Contestant(SQLiteBaselineCommand.baselineName(size)) {
                    let before = EnqueueLoad.writtenBytes
                    let figure = try RawSQLite.rowsPerSecond(
                        rows: rows, perTransaction: size, directory: options.directory)
                    let bytes = Double(EnqueueLoad.writtenBytes - before) / Double(rows)
                    written.withLock { $0["raw, \(size) to a transaction"] = bytes }
                    return figure
                })
        }
        let loads = [
            EnqueueLoad(
                name: "durable, 1 caller", baselineRows: 1, records: options.records / 50, callers: 1, flushEvery: nil),
            EnqueueLoad(
                name: "durable, 100 callers", baselineRows: 100, records: options.records / 5, callers: 100,
                flushEvery: nil),
            EnqueueLoad(
                name: "ordinary, flushed every 100", baselineRows: 100, records: options.records, callers: 1,
                flushEvery: 100),
            EnqueueLoad(
                name: "ordinary, flushed every 1000", baselineRows: 1000, records: options.records, callers: 1,
                flushEvery: 1000),
        ]
        for load in loads {
            contestants.append(
                Contestant(load.name, baseline: SQLiteBaselineCommand.baselineName(load.baselineRows)) {
                    let before = EnqueueLoad.writtenBytes
                    let figure = try await load.recordsPerSecond(records, directory: options.directory)
                    let bytes = Double(EnqueueLoad.writtenBytes - before) / Double(load.records)
                    written.withLock { $0[load.name] = bytes }
                    return figure
                })
        }
        let cost = try await EnqueueCost.measure(records, count: options.records, directory: options.directory)
        var comparison = try await Comparison.run("enqueue", unit: "records/s", rounds: options.rounds, contestants)
        comparison.notes = written.withLock { written in
            written.sorted { $0.key < $1.key }.map { "\($0.key): \(Report.number($0.value)) bytes written a record" }
                + cost.notes
        }
        return [comparison]
    }
}
