import ArgumentParser
import Foundation
import OTLP
import Synchronization

struct OTLPCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "otlp",
        abstract:
            "Log records and data points a second that a collector process takes over OTLP/HTTP, durably, beside a "
            + "server that parses and drops them.",
        discussion: """
            Senders each have a keep-alive connection and send batches of 1,000 log records of about 300 bytes, or of \
            1,000 data points, in gzip and Protobuf, each after the former is answered with 200. Batches are made \
            before the clock runs, and sent again and again: without log.record.uid each is stored each time. Load \
            generator and server share this machine's cores.
            """)

    @OptionGroup var options: MeasurementOptions

    @Option(help: "The release build of ws1collector.")
    var collector = "../../.build/release/ws1collector"

    @Option(help: "Senders at the same time, each over a connection of its own.")
    var senders = 8

    func validate() throws {
        guard (1...32).contains(senders) else {
            throw ValidationError("--senders \(senders): a number from 1 to 32 is needed, which a token may have")
        }
    }

    func run() async throws {
        let collector = try CollectorProcess(
            binary: collector, directory: options.directory,
            arguments: [
                "--record-device-bytes-per-day", "1000000000000",
                "--record-organization-bytes-per-day", "1000000000000",
            ])
        let token = try collector.createToken("--otlp", "--name", "benchmark")
        let bare = try BareOTLPServer()
        let notes = Mutex<[String]>([])
        var comparisons: [Comparison] = []
        for signal in OTLPSignal.allCases {
            let load = try OTLPLoad(signal, items: options.records, senders: senders, token: token)
            let name = "parses and drops"
            let contestants = [
                Contestant(name) { try load.itemsPerSecond(port: bare.port) },
                Contestant("ws1collector, \(senders) senders", baseline: name) {
                    let before = collector.processorSeconds
                    let rate = try load.itemsPerSecond(port: collector.port)
                    let processor = (collector.processorSeconds - before) / Double(load.items) * 1e6
                    notes.withLock {
                        $0.append("collector uses \(Report.number(processor)) s of processor time for 1,000,000")
                    }
                    return rate
                },
            ]
            var comparison = try await Comparison.run(
                "OTLP in, \(signal.rawValue)", unit: signal == .logs ? "log records/s" : "data points/s",
                rounds: options.rounds, contestants)
            comparison.notes = notes.withLock { Array($0.suffix(1)) }
            comparison.notes.append("\(load.bytesPerItem) bytes each, \(load.compressedBytesPerItem) compressed")
            comparisons.append(comparison)
        }
        let peak = Report.number(Double(collector.peakResidentBytes) / 1e6)
        comparisons[comparisons.count - 1].notes.append("collector: at most \(peak) MB resident")
        try options.report(comparisons)
    }
}
