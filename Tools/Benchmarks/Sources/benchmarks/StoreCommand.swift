import ArgumentParser
import Logging
import RecordStore
import SQLiteRecordStore
import WireModel

struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Records a second into the collector's store, durably and without HTTP, beside raw SQLite.",
        discussion:
            "What `ingest` does, from the decoded part to the answer: the difference between the two is the server.")

    @OptionGroup var options: MeasurementOptions
    @Option(help: "Devices whose parts arrive at the same time.")
    var devices = 16

    func validate() throws {
        guard (1...1000).contains(devices) else {
            throw ValidationError("--devices \(devices): a number from 1 to 1000 is needed")
        }
    }

    func run() async throws {
        try options.report(try await Self.compare(options, devices: devices))
    }

    static func compare(_ options: MeasurementOptions, devices: Int) async throws -> [Comparison] {
        var contestants: [Contestant] = []
        for size in [100, 1000] {
            let name = SQLiteBaselineCommand.baselineName(size)
            contestants.append(
                Contestant(name) {
                    try RawSQLite.rowsPerSecond(
                        rows: options.records, perTransaction: size, directory: options.directory)
                })
            contestants.append(
                Contestant("store, \(size) to a part, \(devices) devices", baseline: name) {
                    try await recordsPerSecond(options, recordsPerPart: size, devices: devices)
                })
        }
        return [try await Comparison.run("store", unit: "records/s", rounds: options.rounds, contestants)]
    }

    private static func recordsPerSecond(_ options: MeasurementOptions, recordsPerPart: Int, devices: Int) async throws
        -> Double
    {
        let work = try WorkDirectory(in: options.directory)
        let clock = SystemStoreClock()
        let store = try SQLiteRecordStore.open(
            directory: work.file("collector"), clock: clock,
            logger: Logger(label: "benchmarks") { _ in SwiftLogNoOpLogHandler() })
        let perDevice = options.records / devices
        let chains = (0..<devices).map { _ in SampleChain.parts(records: perDevice, recordsPerPart: recordsPerPart) }
        let seconds = try await Stopwatch.seconds {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for chain in chains {
                    group.addTask {
                        let device = DeviceID.random()
                        for part in chain {
                            let answer = await store.append([part], from: device, receivedAt: clock.now()).first
                            guard answer?.outcome == .stored, answer?.mark.number == part.last,
                                answer?.mark.link == part.lastLink
                            else {
                                throw BenchmarkError(
                                    "part up to \(part.last): \(answer.map { "\($0)" } ?? "no answer")")
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        await store.shutDown()
        return Double(perDevice * devices) / seconds
    }
}
