import ArgumentParser
import Dispatch
import Foundation
import Synchronization

struct IngestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ingest",
        abstract:
            "Records a second that a collector process takes, durably, from devices on loopback, beside raw SQLite.",
        discussion: """
            Each device has a keep-alive connection and sends parts of 100 or 1,000 typed system samples, chained and compressed, each \
            after the former is acknowledged. Parts are made before the clock runs; the answers are checked. Load generator and \
            collector share this machine's cores.
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
        let port = collector.port
        let connection = try HTTPConnection(port: port)
        let perDevice = records / devices
        let loads = try (0..<devices).map { number in
            let credential = try collector.enroll("benchmark-\(number)", over: connection)
            return try DeviceLoad(credential: credential, records: perDevice, recordsPerPart: recordsPerPart)
        }
        let failures = Mutex<[String]>([])
        let answers = Mutex<(waits: Int, milliseconds: [Double])>((0, []))
        let processorBefore = collector.processorSeconds
        let seconds = Stopwatch.seconds {
            let group = DispatchGroup()
            for load in loads {
                group.enter()
                // A thread each: they block, as many as there are devices.
                let thread = Thread {
                    do {
                        let sent = try load.send(over: HTTPConnection(port: port))
                        answers.withLock { answers in
                            answers.waits += sent.waits
                            answers.milliseconds += sent.milliseconds
                        }
                    } catch {
                        failures.withLock { $0.append("\(error)") }
                    }
                    group.leave()
                }
                thread.start()
            }
            group.wait()
        }
        if let failure = failures.withLock({ $0.first }) { throw BenchmarkError(failure) }
        let sent = perDevice * devices
        let processor = (collector.processorSeconds - processorBefore) / Double(sent) * 1e6
        let raw = loads.reduce(0) { $0 + $1.rawBytes }
        let body = loads.reduce(0) { $0 + $1.bodyBytes }
        let (waits, milliseconds) = answers.withLock { ($0.waits, $0.milliseconds.sorted()) }
        let (half, slow) = (milliseconds[milliseconds.count / 2], milliseconds[milliseconds.count * 99 / 100])
        let note =
            "half of the answers within \(Report.number(half)) ms, 99 of 100 within \(Report.number(slow)) ms; "
            + "collector uses \(Report.number(processor)) s of processor time for 1,000,000 records, asked to wait \(waits) times; \(raw / sent) bytes a record, \(body / sent) compressed"
        return (Double(sent) / seconds, note)
    }
}
