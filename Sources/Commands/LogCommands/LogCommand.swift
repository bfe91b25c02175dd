import ArgumentParser
import CollectorClient
import CommandKit
import LogStore

/// `ws1log`: the logs of this device, for people and scripts.
package struct LogCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "ws1log",
        abstract: "Shows, fetches and checks the logs kept on this device, and those that devices sent to a collector.",
        discussion: """
            Lines have one of four levels: error, warning, information, verbose. A level stands for itself and all that is more severe. Times \
            are given as RFC 3339 (2026-11-21T23:51:28Z, 2026-11-21) or as how long ago (90s, 15m, 2h, 3d).

            Logs of this machine are named by --data, those of any device at its collector by --collector URL --device ID --token-file FILE.

            Exit codes: 0 done, 1 failed or damaged, 64 wrong usage, 75 try again later.
            """,
        version: LogVersion.text,
        subcommands: [
            FetchCommand.self, ShowCommand.self, TailCommand.self, ListCommand.self, StatsCommand.self,
            VerifyCommand.self,
            DeleteCommand.self, SendCommand.self, RequestCommand.self,
        ])

    package init() {}

    /// To be called on the main thread, before there is another.
    package static func runAndExit() -> Never {
        Program.runAndExit(Self.self) { error in
            let known =
                error as? LogCommandError ?? (error as? LogStoreError).map { LogCommandError($0) }
                ?? (error as? CollectorClientError).map { LogCommandError($0) }
            guard let known else { return nil }
            let code: CommandError.Code =
                switch known.code {
                case .usage: .usage
                case .tryAgain: .tryAgain
                case .failed: .failed
                case .readerGone: .readerGone
                }
            return CommandError(code, known.message, cause: known.cause)
        }
    }
}

/// The version printed by `--version`.
enum LogVersion {
    static let text = "1.0.0"
}
