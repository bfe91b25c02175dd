import CommandKit
import DataSampler
import TelemetryBasics

/// Where the data lies and who says so: on every command.
enum DirectoryFlags: FlagSet {
    static let flags = AgentSettings.declarations.filter { ["data", "config"].contains($0.name) }
}

/// What `run` and `validate` take.
enum RunFlags: FlagSet {
    static let flags = AgentSettings.declarations.filter { $0.places.contains(.flag) }
}

typealias DirectoryOptions = SettingFlags<DirectoryFlags>
typealias RunOptions = SettingFlags<RunFlags>

extension RunOptions {
    /// What is not wrong and should be otherwise, for who starts the agent.
    func warnings(_ settings: AgentSettings) -> [String] {
        let directory = settings.configuration.directory
        var warnings = DirectoryExposure.of(directory: directory).map { $0.message(directory) }
        if given["enrollment-token"] != nil {
            warnings.append(
                "--enrollment-token shows the token to every user of this machine, in the list of processes: put it into a file that only the "
                    + "agent reads and give --enrollment-token-file, or set WS1_ENROLLMENT_TOKEN")
        }
        return warnings
    }

    /// All checks that `run` makes before it starts: `validate` makes them by this too.
    func settings() throws(CommandError) -> AgentSettings {
        let settings = try AgentSettings(SettingLayers(flags: given), needsCollector: true)
        try settings.checkDirectory()
        return settings
    }
}
