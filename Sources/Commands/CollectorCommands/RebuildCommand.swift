import ArgumentParser
import Collector
import CollectorStore
import Foundation
import Logging

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
        try await perform {
            let directory = try data.directory()
            let report = try await TokenCommand.withRegistry(data, exclusive: true) { registry in
                try await ProjectionRebuild(directory: directory, registry: registry).run()
            }
            try Output.line("\(report.devices) devices, from \(report.records) records.")
            if !report.unreadableFiles.isEmpty {
                throw CommandError(
                    .failed, "Left out, because damaged: \(report.unreadableFiles.joined(separator: ", ")). \(CommandError.damageRemedy)")
            }
        }
    }
}
