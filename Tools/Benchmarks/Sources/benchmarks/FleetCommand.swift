import ArgumentParser
import RecordStore
import SQLiteRecordStore

struct FleetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fleet",
        abstract:
            """
            Milliseconds of what is asked of a collector's store with a fleet's samples in it, beside a fleet a tenth \
            as large.
            """,
        discussion: """
            Every device has sent a system sample of about 200 bytes every 300 s, each in a part of its own. One \
            metric of a device's last day, and
            the newest of every device: found, unpacked and decoded; the buckets and the JSON of an answer are not in \
            it. The fleet's size must
            make no difference to the former. Retention: the oldest day is removed, a day in each round, so --days is \
            more than --rounds + 1.
            """)

    @OptionGroup var options: MeasurementOptions
    @Option(help: "Devices of the large fleet.")
    var devices = 10_000
    @Option(help: "Days stored.")
    var days = 8

    func validate() throws {
        guard (10...100_000).contains(devices) else {
            throw ValidationError("--devices \(devices): a number from 10 to 100000 is needed")
        }
        guard (options.rounds + 2...90).contains(days) else {
            throw ValidationError("--days \(days): a number from --rounds + 2 (\(options.rounds + 2)) to 90 is needed")
        }
    }

    func run() async throws {
        try options.report(try await Self.compare(options, devices: devices, days: days))
    }

    static func compare(_ options: MeasurementOptions, devices: Int, days: Int) async throws -> [Comparison] {
        let small = try await StoredFleet(devices: devices / 10, days: days, directory: options.directory)
        let large = try await StoredFleet(devices: devices, days: days, directory: options.directory)
        let baseline = "a day of one of \(devices / 10) devices"
        let removal = "removing a day of \(devices / 10) devices"
        var removed = (small: 0, large: 0)
        let comparison = try await Comparison.run(
            "fleet", unit: "ms", rounds: options.rounds,
            [
                Contestant(baseline) { try await small.millisecondsPerDay() },
                Contestant("a day of one of \(devices) devices", baseline: baseline) {
                    try await large.millisecondsPerDay()
                },
                Contestant("newest value of each of \(devices) devices") { try await large.millisecondsOfNewest() },
                Contestant(removal) {
                    defer { removed.small += 1 }
                    return try await small.millisecondsToRemove(day: removed.small)
                },
                Contestant("removing a day of \(devices) devices", baseline: removal) {
                    defer { removed.large += 1 }
                    return try await large.millisecondsToRemove(day: removed.large)
                },
            ])
        await small.store.shutDown()
        await large.store.shutDown()
        return [comparison]
    }
}
