import ArgumentParser
import Collector
import CollectorMaintenance
import CommandKit
import Foundation
import Logging
import RecordStore
import Registry
import TelemetryBasics

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify that every device's stored history is complete and unaltered.",
        discussion: """
            Recomputes the record chain over every stored record, compares it with links and marks, and compares every \
            log chunk with its digest. Works while a collector runs. Exits 1 if anything is wrong, and names file, \
            device, epoch, stream and numbers. The result is kept in the data directory (verify.json), where the \
            collector finds it for GET /api/v1/balance.

            Examples:
              ws1collector verify
              ws1collector verify --json
            """)

    @OptionGroup var data: DataOptions

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let report = try await data.withData { data in
            let clock = SystemStoreClock()
            let begun = clock.now()
            let report = try await StoreVerifier(
                records: try await data.records(), chunks: try data.chunks(), registry: data.registry
            ).verify()
            let summary = VerifySummary(report, begun: begun, ended: clock.now())
            do throws(StoreError) { try summary.keep(in: data.registry) } catch {
                StandardError.line("The result is not kept for the collector: \(error.message)")
            }
            return report
        }
        if json {
            try Output.json(report)
        } else {
            for finding in report.findings {
                try Output.line("\(finding.code.rawValue)  \(finding.file)  \(finding.message)")
            }
            try Output.line(
                """
                \(CountText.of(report.records, "record")) (\(CountText.of(report.recordBytes, "byte"))) in \
                \(CountText.of(report.chains, "chain")) and \(CountText.of(report.files, "file")); \(report.rejected) \
                rejected, \(report.lostAtCollector) lost at the collector.
                """)
            if report.chunks > 0 {
                try Output.line(
                    "\(CountText.of(report.chunks, "chunk")) of logs (\(CountText.of(report.chunkBytes, "byte"))).")
            }
        }
        let count = report.findingCount
        guard report.isWhole else {
            throw CommandError(.failed, "\(CountText.of(count, "finding")) in the stored data.")
        }
        if !json { try Output.line("The record chains prove every stored record.") }
    }
}

struct RebuildCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild",
        abstract: "Rebuild each device's latest state from the stored records; no collector may run on the data.",
        discussion: """
            collector.sqlite keeps of each device the time it was last seen, its beacon, identity, push token and \
            schedule, which come from records. State from records that retention has removed stays as it is. Nothing \
            else changes.

            Example:
              ws1collector rebuild
            """)

    @OptionGroup var data: DataOptions

    func run() async throws {
        let data = DirectoryData(
            directory: try data.directory(
                otherwise:
                    "rebuild is for a data directory. In a cluster each device's latest state comes with its next data."
            ))
        let metadata = try data.metadata(exclusive: true)
        let result: Result<ProjectionRebuild.Report, any Error>
        do {
            result = .success(try await ProjectionRebuild(of: try data.records(), metadata: metadata).run())
        } catch { result = .failure(error) }
        await metadata.close()
        let report = try result.get()
        try Output.line("\(CountText.of(report.devices, "device")), from \(CountText.of(report.records, "record")).")
        if !report.unreadableFiles.isEmpty {
            throw CommandError(
                .failed,
                """
                Left out because of damage: \(report.unreadableFiles.joined(separator: ", ")). \
                \(CommandError.damageRemedy)
                """
            )
        }
    }
}
