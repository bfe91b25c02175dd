import ArgumentParser
import CommandKit
import DataSampler
import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// Where the data lies and who says so: on every command.
struct DirectoryOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The data directory: queue, identity, control socket. (WS1_DATA)", valueName: "dir"))
    var data: String?

    @Option(
        help: ArgumentHelp(
            "A JSON5 file of settings; its keys are the flags' names in camel case. (WS1_CONFIG)", valueName: "file"))
    var config: String?

    /// Flags over environment over file.
    func layers(_ flags: [SettingName: String] = [:]) throws(CommandError) -> SettingLayers {
        var flags = flags
        flags[.data] = data
        let environment = Self.environment()
        let path = config ?? environment["WS1_CONFIG"]
        let file: (values: [SettingName: GivenSetting.Value], path: String)? =
            if let path { (try ConfigurationFile.read(path), path) } else { nil }
        return SettingLayers(flags: flags, environment: environment, file: file)
    }

    private static func environment() -> [String: String] {
        ProcessInfo.processInfo.environment.filter { $0.key.hasPrefix("WS1_") }
    }
}

/// What `run` and `validate` take besides the directory. Texts here, checked together with what environment and file
/// say.
struct RunOptions: ParsableArguments {
    @OptionGroup var directory: DirectoryOptions

    @Option(help: ArgumentHelp("The collector: http[s]://HOST[:PORT][/PREFIX]. (WS1_COLLECTOR)", valueName: "url"))
    var collector: String?

    @Option(
        help: ArgumentHelp(
            "Enrolls this device at its first contact. Other users see it in the list of processes: better the file. (WS1_ENROLLMENT_TOKEN)",
            valueName: "token"))
    var enrollmentToken: String?

    @Option(help: ArgumentHelp("A file with the enrollment token. (WS1_ENROLLMENT_TOKEN_FILE)", valueName: "file"))
    var enrollmentTokenFile: String?

    @Option(help: ArgumentHelp("Seconds between two samples, 1 to 86400; default 60.", valueName: "s"))
    var sampleInterval: String?

    @Option(help: ArgumentHelp("Seconds between two transmits, 1 to 86400; default 300.", valueName: "s"))
    var transmitInterval: String?

    @Option(
        help: ArgumentHelp(
            "Names of modules, separated by commas; default system,analytics,custom.", valueName: "names"))
    var modules: String?

    @Option(
        help: ArgumentHelp("Seconds an event is held before it is sent, 0 to 259200; default 7200.", valueName: "s"))
    var eventHold: String?

    @Option(help: ArgumentHelp("Seconds between two beacons, 60 to 86400; default 900.", valueName: "s"))
    var beaconInterval: String?

    @Option(
        help: ArgumentHelp(
            "Seconds of ordinary records that a kill or power cut may take, 0 to 60; default 10.", valueName: "s"))
    var lossWindow: String?

    @Option(
        help: ArgumentHelp(
            "PEM file of the only certificate authorities to trust; default those of the system.", valueName: "file"))
    var ca: String?

    @Option(
        help: ArgumentHelp(
            "PEM file of the private key of this device's client certificate; default none.", valueName: "file"))
    var clientKey: String?

    @Option(
        help: ArgumentHelp(
            "File with the certificate signing request made with it; the collector answers it with the certificate.",
            valueName: "file"))
    var clientRequest: String?

    @Option(help: ArgumentHelp("An HTTP proxy: http://HOST[:PORT]; default none.", valueName: "url"))
    var proxy: String?

    @Flag(help: "Speak plain http:// to another machine too. Everybody on the way can then read credentials and data.")
    var allowPlaintext = false

    @Option(help: ArgumentHelp("off, error, warning, information or verbose; default information.", valueName: "level"))
    var logLevel: String?

    /// What is not wrong and should be otherwise, for who starts the agent.
    func warnings(_ settings: AgentSettings) -> [String] {
        let directory = settings.configuration.directory
        var warnings = DirectoryExposure.of(directory: directory).map { $0.message(directory) }
        if enrollmentToken != nil {
            warnings.append(
                "--enrollment-token shows the token to every user of this machine, in the list of processes: put it into a file that only the "
                    + "agent reads and give --enrollment-token-file, or set WS1_ENROLLMENT_TOKEN")
        }
        return warnings
    }

    /// All checks that `run` makes before it starts: `validate` makes them by this too.
    func settings() throws(CommandError) -> AgentSettings {
        let flags: [SettingName: String?] = [
            .collector: collector, .enrollmentToken: enrollmentToken, .enrollmentTokenFile: enrollmentTokenFile,
            .sampleInterval: sampleInterval, .transmitInterval: transmitInterval, .modules: modules,
            .eventHold: eventHold,
            .beaconInterval: beaconInterval, .lossWindow: lossWindow, .ca: ca, .clientKey: clientKey,
            .clientRequest: clientRequest,
            .proxy: proxy, .allowPlaintext: allowPlaintext ? "true" : nil, .logLevel: logLevel,
        ]
        let settings = try AgentSettings(try directory.layers(flags.compactMapValues { $0 }), needsCollector: true)
        try settings.checkDirectory()
        return settings
    }
}
