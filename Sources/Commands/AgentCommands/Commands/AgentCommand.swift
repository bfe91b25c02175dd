import ArgumentParser
import CommandKit
import DataSampler

/// `ws1agent`: the agent, for machines whose applications do not use the library.
package struct AgentCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "ws1agent",
        abstract: "Samples this machine, keeps records on disk, and sends them to a collector, each exactly once.",
        discussion: """
            Every flag can also be set by an environment variable (WS1_ and the name in capitals, dashes as \
            underscores) or by a key of the configuration file (the name in camel case). A flag overrides the \
            variable, and the variable overrides the file.

            Exit codes: 0 done, 1 failed, 64 wrong usage or configuration, 75 try again later.
            """,
        version: DataSampler.version,
        subcommands: [
            RunCommand.self, StatusCommand.self, EventCommand.self, LogCommand.self, BeaconCommand.self,
            BalanceCommand.self,
            ProfileCommand.self,
            QueueCommand.self, RefreshCommand.self, UnlockCommand.self, UserCommand.self, DoNotDisturbCommand.self,
            PushTokenCommand.self,
            ConsentCommand.self,
            PasscodeCommand.self, GiveUpSealedCommand.self, ResetCredentialsCommand.self, UnenrollCommand.self,
            EndedCommand.self, WipeCommand.self,
            DiagnoseCommand.self, DoctorCommand.self,
            ValidateCommand.self,
        ])

    package init() {}

    /// Call it on the main thread, before another thread exists.
    package static func runAndExit() -> Never {
        Program.runAndExit(Self.self, describing: CommandError.agent)
    }
}
