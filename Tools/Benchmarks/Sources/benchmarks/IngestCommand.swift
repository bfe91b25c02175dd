import ArgumentParser
import Synchronization

struct IngestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ingest",
        abstract:
            "Records a second that a collector process takes, durably, from devices on loopback, beside raw SQLite.",
        discussion: """
            Each device has a keep-alive connection and sends parts of 100 or 1,000 typed system samples, chained and \
            compressed, each after the former is acknowledged. Parts are made before the clock runs; the answers are \
            checked. Load generator and collector share this machine's cores.
            """)

    @OptionGroup var options: MeasurementOptions
    @OptionGroup var ingest: IngestOptions

    func run() async throws {
        try options.report(try await Self.compare(options, ingest))
    }

    static func compare(_ options: MeasurementOptions, _ ingest: IngestOptions) async throws -> [Comparison] {
        let collector = try CollectorProcess(binary: ingest.collector, directory: options.directory)
        let notes = Mutex<[String]>([])
        var contestants: [Contestant] = []
        for size in [100, 1000] {
            let name = SQLiteBaselineCommand.baselineName(size)
            contestants.append(
                Contestant(name) {
                    try RawSQLite.rowsPerSecond(
                        rows: options.records, perTransaction: size, directory: options.directory)
                })
            contestants.append(
                Contestant("ingest, \(size) to a part, \(ingest.devices) devices", baseline: name) {
                    let measured = try measure(
                        collector, records: options.records, recordsPerPart: size, devices: ingest.devices)
                    notes.withLock { $0.append("\(size) to a part: \(measured.note)") }
                    return measured.recordsPerSecond
                })
        }
        var comparison = try await Comparison.run("ingest", unit: "records/s", rounds: options.rounds, contestants)
        comparison.notes = notes.withLock { Array($0.suffix(2)) }
        comparison.notes.append(
            "collector: at most \(Report.number(Double(collector.peakResidentBytes) / 1e6)) MB resident")
        return [comparison]
    }

    static func measure(
        _ collector: CollectorProcess, records: Int, recordsPerPart: Int, devices: Int
    ) throws -> (recordsPerSecond: Double, note: String) {
        let load = try IngestLoad(
            collector.addresses, records: records, recordsPerPart: recordsPerPart, devices: devices)
        let before = collector.processorSeconds
        let result = try load.run()
        let processor = (collector.processorSeconds - before) / Double(result.records) * 1e6
        let note =
            "\(result.note); collector uses \(Report.number(processor)) s of processor time for 1,000,000 records"
        return (result.recordsPerSecond, note)
    }
}
