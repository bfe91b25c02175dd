import ArgumentParser
import Collector
import CommandKit

/// `ws1collector`: the collector and the commands around its data directory.
package struct CollectorCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "ws1collector",
        abstract: "Receives and stores the telemetry of devices, and answers queries about it.",
        discussion: """
            Examples:
              ws1collector serve --listen 127.0.0.1:8420
              ws1collector serve --config /etc/ws1collector.yaml
              ws1collector token create --role viewer --name dashboard
              ws1collector cluster init --config /etc/ws1collector.yaml

            Every setting of `serve` can also be set in the environment (WS1_LISTEN) or in the file (listen:). A flag \
            overrides the environment, and the environment overrides the file.

            Exit codes: 0 done, 1 failed, 64 usage or configuration, 75 try again later (data directory or port in \
            use).
            """,
        version: CollectorVersion.current,
        subcommands: [
            ServeCommand.self, ValidateCommand.self, DoctorCommand.self, TokenCommand.self, EnrollmentFileCommand.self,
            OrganizationCommand.self, DeviceCACommand.self, ClusterCommand.self, MoveCommand.self,
            VerifyCommand.self, VerifyWipeCommand.self, BalanceCommand.self, RetentionCommand.self, PurgeCommand.self,
            PackCommand.self, BackupCommand.self, RestoreCommand.self, VerifyBackupCommand.self,
            BackupIdentityCommand.self, ExportCommand.self, RebuildCommand.self,
        ])

    package init() {}

    /// Call it on the main thread, before another thread exists.
    package static func runAndExit() -> Never {
        Program.runAndExit(Self.self, describing: CommandError.collector)
    }
}
