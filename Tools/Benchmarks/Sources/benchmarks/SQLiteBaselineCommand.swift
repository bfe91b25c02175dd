import ArgumentParser
import Foundation
import SQLite

struct SQLiteBaselineCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sqlite-baseline",
        abstract:
            """
            Rows a second of raw SQLite (WAL, synchronous=FULL) at 1, 100 and 1,000 rows to a transaction, and of our \
            layer over it.
            """
    )

    @OptionGroup var options: MeasurementOptions

    func run() async throws {
        try options.report(try await Self.compare(options))
    }

    static func compare(_ options: MeasurementOptions) async throws -> [Comparison] {
        var contestants: [Contestant] = []
        for perTransaction in [1, 100, 1000] {
            // One sync each: at the same time a hundredth of the rows.
            let rows = perTransaction == 1 ? options.records / 50 : options.records
            let name = baselineName(perTransaction)
            contestants.append(
                Contestant(name) {
                    try RawSQLite.rowsPerSecond(
                        rows: rows, perTransaction: perTransaction, directory: options.directory)
                })
            contestants.append(
                Contestant("layer, \(perTransaction) to a transaction", baseline: name) {
                    try layerRowsPerSecond(rows: rows, perTransaction: perTransaction, directory: options.directory)
                })
        }
        return [try await Comparison.run("sqlite-baseline", unit: "rows/s", rounds: options.rounds, contestants)]
    }

    static func baselineName(_ perTransaction: Int) -> String { "raw SQLite, \(perTransaction) to a transaction" }

    private static func layerRowsPerSecond(rows: Int, perTransaction: Int, directory: String) throws -> Double {
        let work = try WorkDirectory(in: directory)
        let connection = try Connection(path: work.file("layer.sqlite"))
        try connection.execute("CREATE TABLE rows(number INTEGER PRIMARY KEY, body BLOB NOT NULL)")
        var generator = SplitMix(state: 1)
        let bodies = (0..<256).map { _ in
            Data((0..<RawSQLite.rowBytes).map { _ in UInt8.random(in: 0...255, using: &generator) })
        }
        let seconds = try Stopwatch.seconds {
            var number = 0
            while number < rows {
                try connection.transaction { () throws(SQLiteError) in
                    let insert = try connection.cached("INSERT INTO rows VALUES(?1, ?2)")
                    for _ in 0..<min(perTransaction, rows - number) {
                        number += 1
                        try insert.bind(number, at: 1)
                        try insert.bind(bodies[number % bodies.count], at: 2)
                        try insert.run()
                    }
                }
            }
        }
        return Double(rows) / seconds
    }
}
