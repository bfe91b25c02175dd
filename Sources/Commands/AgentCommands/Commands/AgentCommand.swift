import ArgumentParser
import CommandKit
import DataSampler

/// `ws1agent`: the device's side for machines without an application of their own.
package struct AgentCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "ws1agent",
        abstract: "Samples this machine, keeps records on disk, and sends them to a collector, each exactly once.",
        discussion: """
            Every flag can also be given as an environment variable (WS1_ and its name in capitals, dashes as underscores) or as a key of the \
            configuration file (its name in camel case). A flag beats the variable, which beats the file.

            Exit codes: 0 done, 1 failed, 64 wrong usage or configuration, 75 try again later.
            """,
        version: DataSampler.version,
        subcommands: [
            RunCommand.self, StatusCommand.self, EventCommand.self, LogCommand.self, BeaconCommand.self,
            BalanceCommand.self,
            ProfileCommand.self,
            QueueCommand.self, UnlockCommand.self, DoNotDisturbCommand.self, PushTokenCommand.self, ConsentCommand.self,
            UnenrollCommand.self, EndedCommand.self, WipeCommand.self, ValidateCommand.self,
        ])

    package init() {}

    /// To be called on the main thread, before there is another.
    package static func runAndExit() -> Never {
        Program.runAndExit(Self.self, describing: CommandError.agent)
    }
}
