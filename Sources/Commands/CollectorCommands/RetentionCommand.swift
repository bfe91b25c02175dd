import ArgumentParser
import Collector
import CollectorAPI
import CommandKit
import Foundation
import RecordStore
import Registry

struct RetentionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retention",
        abstract: "Show which records are kept, and release a retention that waits; works while a collector runs.",
        discussion: """
            A serving collector removes whole days of a stream by age and bytes (--retention-... of `serve`), at its \
            start and every hour. It stops removing if its clock may be wrong: the clock was set forward by more than \
            an hour, the newest record has a receipt time in the future, or most devices' clocks are more than two \
            days behind. It goes on after `retention release`, which the audit trail records.

            Examples:
              ws1collector retention status
              ws1collector retention release
            """,
        subcommands: [Status.self, Release.self], defaultSubcommand: Status.self)

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the kept records of each stream, and whether retention waits.")

        @OptionGroup var data: DataOptions

        @Flag(help: "Print JSON.")
        var json = false

        func run() async throws {
            let status = try await data.withData { data in
                try await RetentionService(data.registry).status(of: try await data.records())
            }
            if json { return try Output.json(RetentionView(status)) }
            try Output.table(
                [["STREAM", "FILES", "BYTES", "OLDEST", "NEWEST", "REMOVED"]]
                    + status.streams.map { stream in
                        [
                            "\(stream.stream)", "\(stream.files)", "\(stream.bytes)", stream.oldest?.description ?? "-",
                            stream.newest?.description ?? "-", "\(stream.removedFiles)",
                        ]
                    })
            if let purge = status.purge, purge.state != .done {
                try Output.line(
                    """
                    \nThe last purge, \(purge.id), \(purge.failure.map { "failed: \($0)" } ?? "has not been done yet.")
                    """
                )
            }
            if let waiting = status.waiting {
                try Output.line(
                    "\nNothing is removed. \(waiting) Check the clock, then run `ws1collector retention release`.")
            }
        }
    }

    struct Release: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Confirm that the clock is right, so that old records are removed again.")

        @OptionGroup var data: DataOptions

        @Flag(help: "Print JSON.")
        var json = false

        func run() async throws {
            let waited = try await data.withData { data in
                try RetentionService(data.registry).release(by: .commandLine, at: SystemStoreClock().now())
            }
            let words =
                waited.map {
                    "It waited for this: \($0) Old records go within the hour, or when the collector is started."
                } ?? "Retention does not wait."
            try Output.outcome(words, ["waitedFor": waited], asJSON: json)
        }
    }
}
