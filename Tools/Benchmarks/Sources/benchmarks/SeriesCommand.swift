import ArgumentParser
import CollectorStore

struct SeriesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "series",
        abstract: "Milliseconds to read one metric of a device's last day from the collector's store, beside a fleet's other samples.",
        discussion: """
            Every device has sent a system sample of about 200 bytes every 300 s, each in a part of its own. What is read is found, unpacked and
            decoded; the buckets and the JSON of an answer are not in it. One fleet is a tenth of the other: it must make no difference.
            """)

    @OptionGroup var options: MeasurementOptions
    @Option(help: "Devices of the large fleet.")
    var devices = 10_000
    @Option(help: "Days stored.")
    var days = 2

    func validate() throws {
        guard (10...100_000).contains(devices) else { throw ValidationError("--devices \(devices): a number from 10 to 100000 is needed") }
        guard (1...90).contains(days) else { throw ValidationError("--days \(days): a number from 1 to 90 is needed") }
    }

    func run() async throws {
        try options.report(try await Self.compare(options, devices: devices, days: days))
    }

    static func compare(_ options: MeasurementOptions, devices: Int, days: Int) async throws -> [Comparison] {
        let small = try await StoredFleet(devices: devices / 10, days: days, directory: options.directory)
        let large = try await StoredFleet(devices: devices, days: days, directory: options.directory)
        let baseline = "a day of one of \(devices / 10) devices"
        let comparison = try await Comparison.run(
            "series", unit: "ms", rounds: options.rounds,
            [
                Contestant(baseline) { try await small.millisecondsPerDay() },
                Contestant("a day of one of \(devices) devices", baseline: baseline) { try await large.millisecondsPerDay() },
                Contestant("newest value of each of \(devices) devices") { try await large.millisecondsOfNewest() },
            ])
        await small.store.shutDown()
        await large.store.shutDown()
        return [comparison]
    }
}
