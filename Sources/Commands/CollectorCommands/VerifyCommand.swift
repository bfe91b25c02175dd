import ArgumentParser
import Collector
import CollectorStore
import CommandKit
import Foundation
import Logging

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Prove from what is stored that every device's history is whole and unaltered.",
        discussion: """
            Recomputes the chain over every stored record and compares it with links and marks, and every chunk of a log with its digest;
            works beside a running collector. Exits 1 when anything is wrong, naming file, device, epoch, stream and numbers.

            Examples:
              ws1collector verify --data /var/lib/ws1collector
              ws1collector verify --data /var/lib/ws1collector --json
            """)

    @OptionGroup var data: DataOptions

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let report = try await StoreVerifier(directory: try data.directory()).verify()
        if json {
            try Output.json(report)
        } else {
            for finding in report.findings {
                try Output.line("\(finding.code.rawValue)  \(finding.file)  \(finding.message)")
            }
            try Output.line(
                "\(report.records) records (\(report.recordBytes) bytes) in \(report.chains) chains and \(report.files) files; "
                    + "\(report.rejected) rejected, \(report.lostAtCollector) lost at the collector.")
            if report.chunks > 0 {
                try Output.line("\(report.chunks) chunks of logs (\(report.chunkBytes) bytes).")
            }
        }
        let count = report.findings.count + Int(report.furtherFindings)
        guard report.isWhole else { throw CommandError(.failed, "\(count) things are wrong in what is stored.") }
        if !json { try Output.line("Every record stored is proved by its chain.") }
    }
}

struct RebuildCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild",
        abstract: "Derive each device's latest state again from the records stored; no collector may run on the data.",
        discussion: """
            When a device was last seen, its beacon, identity, push token and schedule are kept in collector.sqlite beside the records they are of.
            What only records that retention removed could tell stays as it is. Nothing else is touched.

            Example:
              ws1collector rebuild --data /var/lib/ws1collector
            """)

    @OptionGroup var data: DataOptions

    func run() async throws {
        let directory = try data.directory()
        let report = try await TokenCommand.withRegistry(data, exclusive: true) { registry in
            let store = try SQLiteRecordStore.openReading(directory: directory)
            return try await ProjectionRebuild(of: store, directory: directory, metadata: registry).run()
        }
        try Output.line("\(report.devices) devices, from \(report.records) records.")
        if !report.unreadableFiles.isEmpty {
            throw CommandError(
                .failed,
                "Left out, because damaged: \(report.unreadableFiles.joined(separator: ", ")). \(CommandError.damageRemedy)"
            )
        }
    }
}
