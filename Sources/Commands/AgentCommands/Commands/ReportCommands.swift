import ArgumentParser
import CommandKit
import DataSampler
import FoundationEssentials
import TelemetryBasics
import WireModel

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows the agent's state and the waiting records, or what is on disk if no agent runs."
    )

    @OptionGroup var options: ReportOptions

    func run() async throws {
        let access = try DeviceAccess(options.directory)
        var request = WireControlRequest()
        request.status = WireControlStatus()
        let answer = try await access.perform(request) { sampler throws(DataSamplerError) in
            try .json(try await sampler.status())
        }
        if options.json { return try Output.json(Self.withTimes(answer.json)) }
        try Output.line(StatusText(try Self.decode(AgentStatus.self, answer.json), now: Date()).text)
    }

    /// The library's values have times in microseconds since 1970. People and scripts get RFC 3339.
    static func withTimes(_ json: Data) throws(CommandError) -> JSONValue {
        guard let value = JSONValue(json) else {
            throw CommandError(.failed, "the answer of this agent's version cannot be read: it is no JSON")
        }
        return value.mapMembers { name, value in
            guard case .integer(let time) = value, times.contains(name) else { return value }
            return .string(Timestamp.text(time))
        }
    }

    private static let times: Set = [
        "lastSuccess", "lastFailure", "unreachableSince", "nextAttempt", "certificateEnds", "fetched", "lastSample",
        "time",
    ]

    /// - Throws: if an agent of another version answered in a form that this version cannot read.
    static func decode<Value: Decodable>(_ type: Value.Type, _ json: Data) throws(CommandError) -> Value {
        do { return try JSONDecoder().decode(type, from: json) } catch {
            throw CommandError(
                .failed, "the answer of this agent's version cannot be read; --json shows it", cause: error)
        }
    }
}

struct BalanceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "balance",
        abstract: "Accounts for every record: produced = stored + rejected + dropped + lost + waiting.",
        discussion: "Exits 1 if the balance does not close.")

    @OptionGroup var options: ReportOptions

    func run() async throws {
        let access = try DeviceAccess(options.directory)
        var request = WireControlRequest()
        request.balance = WireControlBalance()
        let answer = try await access.perform(request) { sampler throws(DataSamplerError) in
            try .json(try await sampler.balance())
        }
        let balance = try StatusCommand.decode(DataSamplerBalance.self, answer.json)
        if options.json { try Output.json(answer.json) } else { try Output.line(BalanceText(balance).text) }
        if !balance.closes { throw CommandError(.failed, "the balance of epoch \(balance.epoch) does not close") }
    }
}

struct ValidateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Checks flags, environment and configuration file as `run` does, and starts nothing.")

    @Flag(help: "Print JSON, also if the configuration is wrong; the exit code says which.")
    var json = false

    @OptionGroup var options: RunOptions

    func run() async throws {
        do throws(CommandError) { try check() } catch {
            if json { try Output.json(ValidationOutcome(error)) }
            throw error
        }
    }

    private func check() throws(CommandError) {
        let settings = try options.settings()
        let warnings = options.warnings(settings)
        for warning in warnings { StandardError.line("ws1agent: warning: \(warning)") }
        for remark in settings.remarks { StandardError.line("ws1agent: \(remark)") }
        let shown = AgentSettings.declarations.filter { !$0.isSecret }.compactMap { setting in
            settings.shown(setting.name).map { (setting.name, $0) }
        }
        let configuration = settings.configuration
        try Output.outcome(
            "the configuration is valid: \(configuration.collectorURL) from \(configuration.directory)",
            ValidationOutcome(
                remarks: warnings + settings.remarks, settings: Dictionary(uniqueKeysWithValues: shown)),
            asJSON: json)
    }
}

struct ProfileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profile", abstract: "Shows the settings in force and where each comes from.",
        discussion:
            """
            Precedence: default < configuration (file, environment, flag) < profile < call. A setting that can only \
            restrict is in force if any of them sets it.
            """
    )

    @Flag(help: "Ask the collector now for a new profile, and apply it. Needs a running agent.")
    var reload = false

    @Flag(help: "Print the profile's custom payload as it is, and nothing else.")
    var payload = false

    @Option(
        help: ArgumentHelp(
            """
            Print one value of the custom payload: a member of a JSON object, with dots for members of members, or the \
            value in a line `key = value`.
            """,
            valueName: "key"))
    var payloadKey: String?

    @OptionGroup var options: ReportOptions

    func run() async throws {
        let access = try DeviceAccess(options.directory)
        if reload {
            var request = WireControlRequest()
            request.reload = WireControlReload()
            _ = try await access.ask(request)
        }
        if payload || payloadKey != nil { return try await showPayload(access) }
        var request = WireControlRequest()
        request.status = WireControlStatus()
        let answer = try await access.perform(request) { sampler throws(DataSamplerError) in
            try .json(try await sampler.status())
        }
        let status = try StatusCommand.decode(DataSamplerStatus.self, answer.json)
        let shown = ProfileText.Shown(profile: status.profile, settings: status.settings)
        if options.json { return try Output.json(StatusCommand.withTimes(try JSONText.of(shown))) }
        try Output.line(ProfileText(shown).text)
    }

    func validate() throws {
        guard !payload || payloadKey == nil else { throw ValidationError("give --payload or --payload-key, not both") }
    }

    private func showPayload(_ access: DeviceAccess) async throws {
        var request = WireControlRequest()
        request.profile = WireControlProfile()
        let answer = try await access.perform(request) { sampler throws(DataSamplerError) in
            try .json(sampler.profile())
        }
        let profile = try StatusCommand.decode(DataSamplerProfile?.self, answer.json)
        guard let payload = profile?.customPayload else {
            throw CommandError(
                .failed,
                profile == nil
                    ? "there is no profile yet: start the agent, which fetches it"
                    : "the profile has no custom payload: customPayload of the profile sets it")
        }
        guard let payloadKey else { return try Output.write(payload.utf8) }
        guard let value = profile?.customPayloadValue(payloadKey) else {
            throw CommandError(.failed, "the custom payload has no '\(payloadKey)': --payload shows it whole")
        }
        try Output.line(value)
    }
}

/// Describes the settings in force in words.
struct ProfileText {
    struct Shown: Codable {
        var profile: DataSamplerStatus.Profile
        var settings: [String: DataSamplerStatus.Setting]
    }

    let text: String

    init(_ shown: Shown) {
        var lines = ["profile      revision \(shown.profile.revision)"]
        if shown.profile.revision == 0 { lines = ["profile      none yet"] }
        if let refusal = shown.profile.refusal { lines.append("refused      \(refusal)") }
        if let failure = shown.profile.failure { lines.append("not fetched  \(failure)") }
        let settings = shown.settings.sorted { $0.key < $1.key }
        let width = settings.map(\.key.count).max() ?? 0
        for (name, setting) in settings {
            let pad = String(repeating: " ", count: width - name.count + 2)
            lines.append("\(name)\(pad)\(setting.value) (\(setting.source))")
        }
        text = lines.joined(separator: "\n")
    }
}
