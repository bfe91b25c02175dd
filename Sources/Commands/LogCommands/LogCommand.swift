import ArgumentParser
import ControlSocket
import Glibc
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

    /// Parses the arguments, runs the command, and ends the process with its exit code. To be called on the main
    /// thread, which only waits.
    package static func runAndExit() -> Never {
        // A reader that went away shows as a failed write.
        signal(SIGPIPE, SIG_IGN)
        // Before there is a second thread: without memory for one, libdispatch would wait for ever.
        if let objection = ProcessLimits.command.objection() { finish(LogCommandError(.failed, objection)) }
        Task.detached { await runParsed() }
        while true { pause() }
    }

    private static func runParsed() async -> Never {
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
        } catch let error as LogCommandError {
            finish(error)
        } catch let error as LogStoreError {
            finish(LogCommandError(error))
        } catch {
            exit(withError: error)
        }
        Glibc.exit(0)
    }

    private static func finish(_ error: LogCommandError) -> Never {
        if error.code != .readerGone { StandardError.warn(error.message) }
        Glibc.exit(error.exitCode)
    }
}

/// The version printed by `--version`.
enum LogVersion {
    static let text = "1.0.0"
}
