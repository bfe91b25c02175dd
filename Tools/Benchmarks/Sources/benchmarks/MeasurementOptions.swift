import ArgumentParser
import Foundation

/// The options that all measurements share.
struct MeasurementOptions: ParsableArguments {
    @Option(help: "Rounds that count; one more before them warms up.")
    var rounds = 5

    @Option(help: "Records of one measurement at full speed.")
    var records = 100_000

    @Option(help: "Where to write; give a directory on the disk that is meant. It is made, and emptied afterwards.")
    var directory = "benchmark-data"

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard (1...1000).contains(rounds) else {
            throw ValidationError("--rounds \(rounds): a number from 1 to 1000 is needed")
        }
        guard (1000...100_000_000).contains(records) else {
            throw ValidationError("--records \(records): a number from 1,000 to 100,000,000 is needed")
        }
    }

    func report(_ comparisons: [Comparison]) throws {
        let report = Report(machine: .current(directory: directory), rounds: rounds, comparisons: comparisons)
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            print(String(decoding: try encoder.encode(report), as: UTF8.self))
        } else {
            print(report.text)
        }
    }
}
