import ArgumentParser
import Foundation
import Logging
import RecordQueue
import Synchronization
import WireModel

struct BacklogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backlog",
        abstract:
            """
            A queue in which a million records wait: opening it, the first part, draining it, and the memory that takes.
            """,
        discussion: """
            A part is taken, its answer made from the part alone, and applied, until nothing waits; beside raw SQLite \
            that reads and deletes as many rows to a transaction. The balance has to say that all of it was stored.
            """)

    @OptionGroup var options: MeasurementOptions

    @Option(help: "Records that wait.")
    var backlog = 1_000_000

    func run() async throws {
        try options.report(try await Self.compare(options, backlog: backlog))
    }

    /// Goals, in words beside the figures.
    private static let goals = "goals: opened in less than 100 ms, resident memory that does not depend on the backlog"

    static func compare(_ options: MeasurementOptions, backlog: Int) async throws -> [Comparison] {
        let partRecords = 1000
        let measured = Mutex<[BacklogLoad.Figures]>([])
        let baseline = "raw SQLite, \(partRecords) to a transaction"
        let contestants = [
            Contestant(baseline) {
                try RawSQLite.drainedPerSecond(rows: backlog, perTransaction: partRecords, directory: options.directory)
            },
            Contestant("queue, parts of \(partRecords)", baseline: baseline) {
                let figures = try await BacklogLoad(records: backlog, partRecords: partRecords).measure(
                    directory: options.directory)
                measured.withLock { $0.append(figures) }
                return figures.drainedPerSecond
            },
        ]
        var comparison = try await Comparison.run(
            "backlog", unit: "records drained/s", rounds: options.rounds, contestants)
        let all = measured.withLock { Array($0.dropFirst()) }
        func median(_ value: (BacklogLoad.Figures) -> Double) -> Double { Figures(all.map(value)).median }
        comparison.notes = [
            "\(Report.number(Double(backlog))) records waiting; medians of \(all.count) rounds; \(goals)",
            """
            opening: \(milliseconds(median(\.openSeconds))) ms, of an empty queue: \
            \(milliseconds(median(\.emptyOpenSeconds))) ms
            """,
            "first part of \(partRecords): \(milliseconds(median(\.firstPartSeconds))) ms, "
                + "status: \(milliseconds(median(\.statusSeconds))) ms",
            "resident memory: \(Report.number(median(\.residentBefore) / 1024)) KiB before opening, "
                + "\(Report.number(median(\.residentOpen) / 1024)) KiB once open, "
                + "\(Report.number(median(\.residentGreatest) / 1024)) KiB at most while draining",
        ]
        return [comparison]
    }

    private static func milliseconds(_ seconds: Double) -> String {
        let microseconds = Int((seconds * 1e6).rounded())
        return "\(microseconds / 1000).\(String(microseconds % 1000 + 1000).dropFirst())"
    }
}
