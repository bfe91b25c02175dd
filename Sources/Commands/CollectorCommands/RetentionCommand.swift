import ArgumentParser
import Collector
import CollectorStore
import CommandKit
import Foundation

struct RetentionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retention",
        abstract:
            "What is kept of the records, and whether removing old ones waits for you; works beside a running collector.",
        discussion: """
            A serving collector removes whole days of a stream by age and bytes (--retention-... of `serve`), at its start and every hour. When the
            clock was set forward by more than an hour, the newest record came after the present time, or most devices' clocks are more than two
            days behind, it removes nothing until somebody has looked at the clock and said `retention release`, which the audit trail keeps.

            Examples:
              ws1collector retention status --data /var/lib/ws1collector
              ws1collector retention release --data /var/lib/ws1collector
            """,
        subcommands: [Status.self, Release.self], defaultSubcommand: Status.self)

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "What is kept of each stream, and whether retention waits.")

        @OptionGroup var data: DataOptions

        @Flag(help: "Print JSON.")
        var json = false

        func run() async throws {
            let directory = try data.directory()
            let status = try await RetentionService(directory: directory).status(
                of: try SQLiteRecordStore.openReading(directory: directory))
            if json { return try Output.json(RetentionView(status)) }
            try Output.table(
                [["STREAM", "FILES", "BYTES", "OLDEST", "NEWEST", "REMOVED"]]
                    + status.streams.map { stream in
                        [
                            "\(stream.stream)", "\(stream.files)", "\(stream.bytes)",
                            stream.oldest?.description ?? "-",
                            stream.newest?.description ?? "-", "\(stream.removedFiles)",
                        ]
                    })
            if let purge = status.purge, purge.state != .done {
                try Output.line(
                    "\nThe last purge, \(purge.id), \(purge.failure.map { "failed: \($0)" } ?? "has not been done yet.")"
                )
            }
            if let waiting = status.waiting {
                try Output.line(
                    "\nNothing is removed. \(waiting) Look at the clock, then say `ws1collector retention release`."
                )
            }
        }
    }

    struct Release: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "The clock is right: old records may be removed again.")

        @OptionGroup var data: DataOptions

        func run() async throws {
            let service = RetentionService(directory: try data.directory())
            guard let waited = try service.release(by: .commandLine, at: SystemStoreClock().now()) else {
                return try Output.line("Retention does not wait.")
            }
            try Output.line(
                "It waited for this: \(waited) Old records go within the hour, or when the collector is started.")
        }
    }
}
