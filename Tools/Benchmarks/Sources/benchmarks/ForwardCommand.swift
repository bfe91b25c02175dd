import ArgumentParser
import Foundation
import OTLP
import Synchronization

struct ForwardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forward",
        abstract:
            "Log records, data points and samples a second that a collector process forwards as OTLP/HTTP, beside "
            + "requests that are there already.",
        discussion: """
            The receiver parses a request and drops it. The collector has the records stored; each round is a new \
            endpoint with its backlog, from the reload of the configuration until the last record was taken. The \
            baseline sends batches of 1,000 that were made before the clock ran, over one connection.
            """)

    @OptionGroup var options: MeasurementOptions

    @Option(help: "The release build of ws1collector.")
    var collector = "../../.build/release/ws1collector"

    func run() async throws {
        let work = try WorkDirectory(in: options.directory)
        let settings = work.file("forward.yaml")
        try "{}".write(toFile: settings, atomically: true, encoding: .utf8)
        let collector = try CollectorProcess(
            binary: collector, directory: options.directory,
            arguments: [
                "--config", settings, "--record-device-bytes-per-day", "1000000000000",
                "--record-organization-bytes-per-day", "1000000000000",
            ])
        let token = try collector.createToken("--otlp", "--name", "benchmark")
        let receiver = try BareOTLPServer()
        let logs = try OTLPLoad(.logs, items: options.records, senders: 8, token: token)
        let points = try OTLPLoad(.metrics, items: options.records, senders: 8, token: token)
        _ = try logs.itemsPerSecond(port: collector.port)
        _ = try points.itemsPerSecond(port: collector.port)
        let samples = try IngestLoad(
            collector.addresses, records: options.records, recordsPerPart: 1000, devices: 8
        ).run().records
        let round = Mutex(0)
        let notes = Mutex<[String]>([])
        /// - Parameter sample: of the collector's metrics: what is counted until it reaches `count`.
        func forward(
            _ kind: String, _ count: Int, counting sample: (family: String, label: String)
        ) throws -> Double {
            let name = round.withLock { round in
                round += 1
                return "round-\(round)"
            }
            try """
            forward: {\(name): {url: "http://127.0.0.1:\(receiver.port)", kinds: [\(kind)], backlog: true}}
            """.write(toFile: settings, atomically: true, encoding: .utf8)
            let before = collector.processorSeconds
            let seconds = try Stopwatch.seconds {
                collector.reload()
                while try collector.metric(sample.family, labels: ["endpoint=\"\(name)\"", sample.label])
                    < Double(count)
                {
                    usleep(5000)
                }
            }
            let processor = (collector.processorSeconds - before) / Double(count) * 1e6
            notes.withLock {
                $0.append("\(kind): collector uses \(Report.number(processor)) s of processor time for 1,000,000")
            }
            return Double(count) / seconds
        }
        let baseline = "log records that are there already"
        let items = (family: "ws1_forward_items_total", label: "stream=")
        var comparison = try await Comparison.run(
            "forwarding", unit: "items/s", rounds: options.rounds,
            [
                Contestant(baseline) {
                    try OTLPLoad(.logs, items: options.records, senders: 1, token: token)
                        .itemsPerSecond(port: receiver.port)
                },
                Contestant("log records of OTLP", baseline: baseline) {
                    try forward("otlp-logs", logs.items, counting: items)
                },
                Contestant("data points of OTLP", baseline: baseline) {
                    try forward("otlp-metrics", points.items, counting: items)
                },
                Contestant("system samples", baseline: baseline) {
                    try forward("samples", samples, counting: ("ws1_forward_records_total", "fate=\"sent\""))
                },
            ])
        comparison.notes = notes.withLock { Array($0.suffix(3)) }
        comparison.notes.append(
            "collector: at most \(Report.number(Double(collector.peakResidentBytes) / 1e6)) MB resident")
        try options.report([comparison])
    }
}
