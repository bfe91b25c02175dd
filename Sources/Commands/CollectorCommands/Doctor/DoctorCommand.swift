import ArgumentParser
import CommandKit
import Foundation
import Glibc
import Logging
import TelemetryBasics

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Walk from the clock to the servers that the collector needs, and name the first broken link.",
        discussion: """
            Each link gets a state (ok, warning, broken, not-reached), what was found, and what mends it. Works while \
            the collector runs and while it does not, and changes nothing. Give it the settings that the collector \
            runs with. Without --data and --config it reads /etc/ws1collector/collector.yaml, if it can. Run it as \
            root or as the collector's user.

            Exits 1 if a link is broken.

            Example:
              ws1collector doctor --config /etc/ws1collector/collector.yaml
            """)

    /// The packages' configuration file.
    static let standardFile = "/etc/ws1collector/collector.yaml"

    @Flag(help: "Print JSON.")
    var json = false

    @Option(help: ArgumentHelp("The most that a connection or an answer may take.", valueName: "seconds"))
    var timeout = 10

    @OptionGroup var options: ServerOptions

    func validate() throws {
        guard (1...300).contains(timeout) else { throw ValidationError("--timeout is \(timeout); expected 1 to 300") }
    }

    func run() async throws {
        var flags = options.given
        let named = try SettingLayers<Settings>(flags: flags)
        if flags["data"] == nil, named[\.configurationFile] == nil, access(Self.standardFile, R_OK) == 0 {
            flags["config"] = Self.standardFile
        }
        let settings: Result<Settings, CommandError>
        do throws(CommandError) {
            settings = .success(try Settings(try SettingLayers(flags: flags)))
        } catch { settings = .failure(error) }
        let doctor = CollectorDoctor(
            settings, file: flags["config"] ?? named.environment["WS1_CONFIG"] ?? "the settings",
            limit: .seconds(timeout))
        try await doctor.report().conclude(json: json)
    }
}
