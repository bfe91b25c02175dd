import ArgumentParser
import DataSampler
import WireModel

/// Telling a running agent what it cannot see by itself.
struct UnlockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock", abstract: "Says that the device was unlocked: a beacon goes at once.",
        discussion: "Needs a running agent. For a hook of the login manager, or a session's start.")

    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        var request = WireControlRequest()
        request.unlock = WireControlUnlock()
        let answer = try await DeviceAccess(options, creates: false).ask(request)
        StandardStreams.output("beacon \(answer.number)")
    }
}

struct DoNotDisturbCommand: AsyncParsableCommand {
    enum Switch: String, CaseIterable, ExpressibleByArgument {
        case on
        case off
    }

    static let configuration = CommandConfiguration(
        commandName: "dnd", abstract: "Begins or ends do-not-disturb: samples, events and logs pause, beacons go on.",
        discussion: "Needs a running agent, and a profile that allows it.")

    @Argument(help: "on or off.")
    var state: Switch

    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        var request = WireControlRequest()
        request.doNotDisturb.on = state == .on
        _ = try await DeviceAccess(options, creates: false).ask(request)
        StandardStreams.output("do-not-disturb is \(state.rawValue)")
    }
}

struct PushTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push-token", abstract: "Tells the collector how to wake this device: a beacon with the token goes at once.",
        discussion: "Needs a running agent. A token that has not changed is not sent again.")

    @Argument(help: "The token, up to 4096 bytes.")
    var token: String?

    @Flag(help: "The collector forgets the one it has.")
    var clear = false

    @OptionGroup var options: DirectoryOptions

    func validate() throws {
        guard (token == nil) == clear else { throw ValidationError("give a token, or --clear") }
    }

    func run() async throws {
        var request = WireControlRequest()
        if let token { request.pushToken.token.token = token } else { request.pushToken.token.cleared = true }
        _ = try await DeviceAccess(options, creates: false).ask(request)
        StandardStreams.output(clear ? "the push token is cleared" : "the push token is set")
    }
}

struct ConsentCommand: AsyncParsableCommand {
    enum Decision: String, CaseIterable, ExpressibleByArgument {
        case granted
        case pending
        case denied

        var wire: WireConsent {
            switch self {
            case .granted: .granted
            case .pending: .pending
            case .denied: .denied
            }
        }
    }

    static let configuration = CommandConfiguration(
        commandName: "consent", abstract: "Says what the person whose device it is has decided.",
        discussion: """
            pending: records wait apart. granted: they are moved into their streams and sent. denied: they are deleted, and nothing is recorded; \
            both are counted. Needs a running agent; it remembers.
            """)

    @Argument(help: "granted, pending or denied.")
    var decision: Decision

    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        var request = WireControlRequest()
        request.consent.consent = decision.wire
        _ = try await DeviceAccess(options, creates: false).ask(request)
        StandardStreams.output("consent is \(decision.rawValue)")
    }
}

struct ProfileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profile", abstract: "Shows the settings in force and which layer says each.",
        discussion:
            "Precedence: default < configuration (file, environment, flag) < profile < call; what only tightens holds from any of them.")

    @Flag(help: "Ask the collector now whether there is another profile, and apply it. Needs a running agent.")
    var reload = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var options: DirectoryOptions

    func run() async throws {
        let access = try DeviceAccess(options, creates: false)
        if reload {
            var request = WireControlRequest()
            request.reload = WireControlReload()
            _ = try await access.ask(request)
        }
        var request = WireControlRequest()
        request.status = WireControlStatus()
        let answer = try await access.perform(request) { sampler throws(DataSamplerError) in try .json(try await sampler.status()) }
        let status = try StatusCommand.decode(DataSamplerStatus.self, answer.json)
        let shown = ProfileText.Shown(profile: status.profile, settings: status.settings)
        if json { return StandardStreams.output(try JSONText.bytes(shown)) }
        StandardStreams.output(ProfileText(shown).text)
    }
}

/// The settings in force, in words.
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
