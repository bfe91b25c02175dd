import ArgumentParser
import CommandKit
import DataSampler
import Glibc

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Walks from the clock to the newest acknowledged record, and names the first broken link.",
        discussion: """
            Each link gets a state (ok, warning, broken, not-reached), what was found, and what mends it. Works while \
            the agent runs and while it does not. Reaches the collector itself, as the agent does, and changes \
            nothing. Give it the settings that the agent runs with: --config, or the same flags and variables. Without \
            --data and --config it reads /etc/ws1agent/agent.json5, if it can read that.

            Run it as root or as the agent's user. A member of the agent's access group gets what the running agent \
            tells. Anybody else gets the links up to the collector, and is told who may see the others.

            Exits 1 if a link is broken.
            """)

    /// The packages' configuration file.
    static let standardFile = "/etc/ws1agent/agent.json5"

    @Flag(help: "Print JSON.")
    var json = false

    @Option(help: ArgumentHelp("The most that a connection or an answer may take.", valueName: "seconds"))
    var timeout = 10

    @OptionGroup var options: RunOptions

    func validate() throws {
        guard (1...300).contains(timeout) else { throw ValidationError("--timeout is \(timeout); expected 1 to 300") }
    }

    func run() async throws {
        var flags = options.given
        let named = try SettingLayers<AgentSettings>(flags: flags)
        if flags["data"] == nil, named[\.configurationFile] == nil, access(Self.standardFile, R_OK) == 0 {
            flags["config"] = Self.standardFile
        }
        let facts = try await AgentFacts.gather(flags: flags, within: .seconds(timeout))
        try AgentDoctor(facts).report.conclude(json: json)
    }
}
