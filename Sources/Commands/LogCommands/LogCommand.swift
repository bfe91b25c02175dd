import ArgumentParser
import CommandKit

/// `ws1log`: reads logs, on this machine or at a collector.
package struct LogCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "ws1log",
        abstract: "Shows, fetches and checks the logs of this machine, and those that devices sent to a collector.",
        discussion: """
            A line has one of four levels: error, warning, information, verbose. A level stands for itself and for all \
            more severe levels. A time is given as RFC 3339 (2026-11-21T23:51:28Z, 2026-11-21) or as how long ago \
            (90s, 15m, 2h, 3d).

            Without more, the logs of this machine's agent are meant; --data names another directory. For those of a \
            device at its collector give --collector URL --device ID --token-file FILE.

            Exit codes: 0 done, 1 failed or damaged, 64 wrong usage, 75 try again later.
            """,
        version: "1.0.0",
        subcommands: [
            FetchCommand.self, ShowCommand.self, TailCommand.self, ListCommand.self, StatsCommand.self,
            VerifyCommand.self, DeleteCommand.self, SendCommand.self, RequestCommand.self,
        ])

    package init() {}

    /// Runs the program; to be called on the main thread, before there is another.
    package static func runAndExit() -> Never {
        Program.runAndExit(Self.self, describing: CommandError.log)
    }
}

extension StandardError {
    /// A note beside the output, with the program's name.
    static func warn(_ text: String) { line("ws1log: \(text)") }
}
