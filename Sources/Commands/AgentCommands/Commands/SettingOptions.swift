import ArgumentParser
import CommandKit
import DataSampler
import TelemetryBasics

/// The flags of every command: the data directory and the configuration file.
enum DirectoryFlags: FlagSet {
    static let flags = AgentSettings.declarations.filter { ["data", "config"].contains($0.name) }
}

/// The flags of `run` and `validate`.
enum RunFlags: FlagSet {
    static let flags = AgentSettings.declarations.filter { $0.places.contains(.flag) }
}

typealias DirectoryOptions = SettingFlags<DirectoryFlags>
typealias RunOptions = SettingFlags<RunFlags>

/// The options of a command that reports in words or as JSON.
struct ReportOptions: ParsableArguments {
    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var directory: DirectoryOptions
}

extension RunOptions {
    /// Warns about settings that are valid but unsafe.
    func warnings(_ settings: AgentSettings) -> [String] {
        let directory = settings.configuration.directory
        var warnings = DirectoryExposure.of(directory: directory).map { $0.message(directory) }
        if given["enrollment-token"] != nil {
            warnings.append(
                """
                --enrollment-token shows the token to every user of this machine, in the list of processes: put it \
                into a file that only the agent reads and give --enrollment-token-file, or set WS1_ENROLLMENT_TOKEN
                """)
        }
        return warnings
    }

    /// Reads the settings with all checks of a start. `run` and `validate` share it.
    func settings() throws(CommandError) -> AgentSettings {
        let settings = try AgentSettings(SettingLayers(flags: given), needsCollector: true)
        try settings.checkDirectory()
        return settings
    }
}
