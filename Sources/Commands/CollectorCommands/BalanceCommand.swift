import ArgumentParser
import Collector
import CollectorAPI
import CollectorStore
import CommandKit
import Foundation
import WireModel

struct BalanceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "balance",
        abstract: "Account for every record: produced = stored + rejected + dropped + lostAtCollector + waiting.",
        discussion: """
            One line per device, epoch and stream, counted from what is on disk; works beside a running collector. Waiting is what the device
            had not yet been rid of when it last said so. Exits 1 when a balance does not close,
            or a record file cannot be read. Where a device says of
            itself what cannot be, that is told, its stream is left out of the totals, and the command exits 1 only if
            --device names it.

            Examples:
              ws1collector balance --data /var/lib/ws1collector
              ws1collector balance --data /var/lib/ws1collector --device 7d9f3a52-6c1e-4b0f-9a57-0d6a5f2b8c11 --json
            """)

    @OptionGroup var data: DataOptions

    @Option(help: ArgumentHelp("This device only.", valueName: "id"))
    var device: String?

    @Flag(
        help: """
            Print JSON: `closes`, `totals`, `findings`, `streams` with the counts of each, and `missing` where record files are damaged.
            """)
    var json = false

    func run() async throws {
        var only: DeviceID?
        if let device {
            only = DeviceID(device)
            guard only != nil else {
                throw CommandError(.usage, "--device is \(device); expected a device id (a UUID).")
            }
        }
        let balances = try await SQLiteRecordStore.openReading(directory: try data.directory()).balances()
        var devices = balances.devices
        if let only {
            devices.removeAll { $0.device != only }
            guard !devices.isEmpty else { throw CommandError(.failed, "Nothing is stored of device \(only).") }
        }
        let report = BalanceReport(
            devices.map { ($0.device, $0.epochs) }, isFleet: only == nil, missing: balances.unreadableFiles)
        if json { try Output.json(report) } else { try show(report) }
        if let missing = report.missing {
            throw CommandError(
                .failed,
                "Not counted, because damaged: \(missing.joined(separator: ", ")). \(CommandError.damageRemedy)")
        }
        guard report.closes else {
            throw CommandError(
                .failed,
                report.findings.allSatisfy { $0.code == .deviceClaims }
                    ? "The balance does not close: the device says of itself what cannot be."
                    : "A balance does not close. `ws1collector verify` looks at what is stored.")
        }
    }

    private func show(_ report: BalanceReport) throws(CommandError) {
        let header = [
            "DEVICE", "EPOCH", "STREAM", "PRODUCED", "STORED", "REJECTED", "DROPPED", "LOST", "WAITING", "CLOSES",
        ]
        try Output.table(
            [header]
                + report.streams.map { stream in
                    [
                        stream.device, stream.epoch, stream.stream, "\(stream.produced)", "\(stream.stored)",
                        "\(stream.rejected.values.saturatingSum)", "\(stream.dropped.values.saturatingSum)",
                        "\(stream.lostAtCollector)",
                        "\(stream.waiting)", stream.closes ? "yes" : "NO",
                    ]
                } + [Self.row(report.totals)])
        for finding in report.findings {
            try Output.line(
                "\(finding.code.rawValue): device \(finding.device), \(finding.stream) stream, epoch \(finding.epoch). \(finding.message)"
            )
        }
        if report.totals.leftOut > 0 {
            try Output.line("\(report.totals.leftOut) streams do not close and are not in the total.")
        }
    }

    private static func row(_ totals: BalanceReport.Totals) -> [String] {
        [
            "total", "-", "-", "\(totals.produced)", "\(totals.stored)", "\(totals.rejected)", "\(totals.dropped)",
            "\(totals.lostAtCollector)", "\(totals.waiting)", totals.leftOut == 0 ? "yes" : "in part",
        ]
    }
}
