import ArgumentParser
import DataSampler
import WireModel

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
        let access = try DeviceAccess(options)
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
