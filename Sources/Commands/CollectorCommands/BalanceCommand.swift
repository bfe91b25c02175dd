import ArgumentParser
import Collector
import CollectorAPI
import CommandKit
import Foundation
import RecordStore
import TelemetryBasics
import WireModel

struct BalanceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "balance",
        abstract: "Account for every record: produced = stored + rejected + dropped + lostAtCollector + waiting.",
        discussion: """
            Prints one line per device, epoch and stream, counted from the data on disk; works while a collector runs. \
            WAITING is the number that the device last reported. Exits 1 if a balance does not close or a record file \
            cannot be read. If a device reports impossible numbers, the command prints a finding and leaves the stream \
            out of the totals; it then exits 1 only if --device names that device.

            Examples:
              ws1collector balance
              ws1collector balance --device 7d9f3a52-6c1e-4b0f-9a57-0d6a5f2b8c11 --json
            """)

    @OptionGroup var data: DataOptions

    @Option(help: ArgumentHelp("Only this device.", valueName: "id"))
    var device: String?

    @Flag(
        help: """
            Print JSON: `closes`, `totals`, `findings`, `streams` with the counts of each, and `missing` if record \
            files are damaged.
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
        let balances = try await data.withData { try await $0.records().balances() }
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
                "Not counted because of damage: \(missing.joined(separator: ", ")). \(CommandError.damageRemedy)")
        }
        guard report.closes else {
            throw CommandError(
                .failed,
                report.findings.allSatisfy { $0.code == .deviceClaims }
                    ? "The balance does not close: the device reports impossible numbers."
                    : "A balance does not close. `ws1collector verify` checks the stored data.")
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
                        "\(stream.lostAtCollector)", "\(stream.waiting)", stream.closes ? "yes" : "NO",
                    ]
                } + [Self.row(report.totals)])
        for finding in report.findings {
            try Output.line(
                """
                \(finding.code.rawValue): device \(finding.device), \(finding.stream) stream, epoch \(finding.epoch). \
                \(finding.message)
                """
            )
        }
        if report.totals.leftOut > 0 {
            try Output.line(
                """
                Not in the total, because the balance does not close: \(CountText.of(report.totals.leftOut, "stream")).
                """
            )
        }
    }

    private static func row(_ totals: BalanceReport.Totals) -> [String] {
        [
            "total", "-", "-", "\(totals.produced)", "\(totals.stored)", "\(totals.rejected)", "\(totals.dropped)",
            "\(totals.lostAtCollector)", "\(totals.waiting)", totals.leftOut == 0 ? "yes" : "in part",
        ]
    }
}
