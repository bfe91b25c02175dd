import ArgumentParser
import CollectorClient
import CommandKit

/// `ws1ctl`: what administrators ask of a collector and change there, over HTTP.
package struct CtlCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "ws1ctl",
        abstract: "Shows and changes what a collector has, over its HTTP API.",
        discussion: """
            A device is named by its name, its id, or the first four or more digits of its id. A name that several \
            devices have is refused, and the candidates are listed.

            Name a collector once with `ws1ctl context set NAME --collector URL --token-file FILE`. Flags override the \
            environment (WS1_COLLECTOR, WS1_TOKEN_FILE, WS1_TOKEN, WS1_ORGANIZATION, WS1_CA, WS1_PROXY), and the \
            environment overrides the context.

            A time is given as RFC 3339 (2026-11-21T23:51:28Z, 2026-11-21) or as how long ago (90s, 15m, 2h, 3d).

            Exit codes: 0 done, 1 failed, 64 wrong usage, 75 try again later.
            """,
        version: "1.0.0",
        subcommands: [
            ContextCommand.self, DeviceCommand.self, EventCommand.self, MetricCommand.self, LogLineCommand.self,
            ExportCommand.self,
            ProfileCommand.self, IssuedCommand.self, JobCommand.self,
            NoticeCommand.self, TokenCommand.self, ApplyCommand.self,
        ])

    package init() {}

    /// Runs the program; to be called on the main thread, before there is another.
    package static func runAndExit() -> Never {
        Program.runAndExit(Self.self) { error in (error as? CollectorClientError).map { CommandError($0) } }
    }
}
