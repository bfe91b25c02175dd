import ArgumentParser
import Testing

@testable import CommandKit

/// A table of a program that does not exist.
private struct ScriptedSettings: ProgramSettings, Equatable {
    enum Colour: String, CaseIterable, Sendable {
        case red, green
    }

    struct Size: Equatable, Sendable {
        var width = 1
        var height = 2.5
    }

    var title = "none"
    var colour: Colour?
    var seconds = 60.0
    var count = 3
    var isQuiet = false
    var size = Size()
    var sizes: [String: Size] = [:]
    var secret: String?

    static let sizeType = SettingType.object(
        Size(),
        [
            Setting("width", \Size.width, .integer(1...9), "Width"),
            Setting("height", \Size.height, .number(SettingRange(0...10, excludesLeast: true)), "Height"),
        ])

    static let table: [Setting<ScriptedSettings>] = [
        Setting("title", \.title, .text, "A title"),
        Setting("colour-of-it", \.colour, .choice(), "Its colour", fallback: "any"),
        Setting("seconds", \.seconds, .number(SettingRange(1...86_400, "seconds")), "How long", reload: .atOnce),
        Setting("count", \.count, .integer(2...1_000_000_000_000_000_001, takesZero: true), "How many"),
        Setting("quiet", \.isQuiet, .flag, "Say nothing"),
        Setting("size", \.size, sizeType, "How large", in: .file),
        Setting("sizes", \.sizes, .entries(sizeType), "How large each", in: .file),
        Setting("secret", \.secret, .text("two words", pattern: nil), "A secret", isSecret: true),
    ]
}

private enum ScriptedFlags: FlagSet {
    static let flags = ScriptedSettings.declarations.filter { $0.places.contains(.flag) }
}

private struct ScriptedCommand: ParsableCommand {
    @OptionGroup var options: SettingFlags<ScriptedFlags>
}

@Suite struct SettingTableTests {
    private typealias Layers = SettingLayers<ScriptedSettings>

    private func read(
        _ flags: [String: String] = [:], _ environment: [String: String] = [:],
        _ file: [String: GivenSetting.Value] = [:]
    ) throws -> ScriptedSettings {
        try Layers(flags: flags, environment: environment, file: SettingFile(path: "a.file", values: file)).read()
    }

    @Test func `What nobody gives is as the program has it`() throws {
        #expect(try read() == ScriptedSettings())
    }

    @Test func `A flag beats the variable, which beats the file, and an empty variable is not set`() throws {
        let file: [String: GivenSetting.Value] = ["title": .text("file"), "seconds": .number(3), "count": .number(4)]
        let settings = try read(["title": "flag"], ["WS1_TITLE": "v", "WS1_SECONDS": "2", "WS1_COUNT": ""], file)
        #expect(settings.title == "flag" && settings.seconds == 2 && settings.count == 4)
    }

    @Test func `A large whole number keeps all its digits`() throws {
        #expect(try read(["count": "1000000000000000001"]).count == 1_000_000_000_000_000_001)
        #expect(try read(["count": "0"]).count == 0)
        #expect(throws: CommandError.self) { try read(["count": "1"]) }
        #expect(throws: CommandError.self) { try read([:], [:], ["count": .number(2.5)]) }
    }

    @Test(arguments: [
        (["seconds": "0"], "--seconds is '0': it must be a number, 1 to 86400 seconds"),
        (["seconds": "nan"], "--seconds"), (["colour-of-it": "blue"], "it must be one of red, green"),
        (["quiet": "perhaps"], "true or false"), (["title": ""], "not empty"),
    ]) func `What cannot be is an error that names the place and what is allowed`(
        flags: [String: String], words: String
    ) {
        let error = #expect(throws: CommandError.self) { try read(flags) }
        #expect(error?.exitCode == 64 && error?.message.contains(words) == true, "\(error?.message ?? "")")
    }

    @Test func `An object is read by its own table, and its wrong keys are reported`() throws {
        let table = GivenSetting.Value.table(["width": .number(7)])
        #expect(try read([:], [:], ["size": table]).size == .init(width: 7, height: 2.5))
        #expect(try read([:], [:], ["sizes": .table(["a": table])]).sizes == ["a": .init(width: 7, height: 2.5)])
        for (entry, words) in [
            (GivenSetting.Value.table(["widht": .number(7)]), "a.widht of sizes in a.file"),
            (.table(["height": .number(0)]), "a.height of sizes in a.file"), (.number(1), "an object"),
        ] {
            let error = #expect(throws: CommandError.self) { try read([:], [:], ["sizes": .table(["a": entry])]) }
            #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        }
    }

    @Test func `A missing setting names the places where it may be given`() {
        let layers = Layers(flags: [:], environment: [:])
        let everywhere = #expect(throws: CommandError.self) { try layers.require(\.title) }
        #expect(everywhere?.message.contains("use --title or WS1_TITLE or title in the configuration file.") == true)
        let file = #expect(throws: CommandError.self) { try layers.require(\.size) }
        #expect(file?.message.contains("use size in the configuration file.") == true)
    }

    @Test func `A secret is in no message`() throws {
        let layers = Layers(flags: ["secret": "hidden words"], environment: [:])
        #expect(layers.refusal(\.secret, "it is wrong").message == "--secret: it is wrong")
    }

    @Test func `What changed is named once, by the effect`() throws {
        let changed = try read(["seconds": "60", "title": "other", "quiet": "yes"]).changes(from: ScriptedSettings())
        #expect(changed.map(\.name) == ["title", "quiet"])
    }

    @Test func `Flags are made from the table`() throws {
        let command = try #require(
            try ScriptedCommand.parseAsRoot(["--seconds", "5", "--quiet", "--colour-of-it", "green"])
                as? ScriptedCommand)
        #expect(command.options.given == ["seconds": "5", "quiet": "true", "colour-of-it": "green"])
        #expect(throws: (any Error).self) { try ScriptedCommand.parseAsRoot(["--size", "1"]) }
    }

    @Test func `Help reports range and default`() {
        let help = ScriptedCommand.helpMessage(columns: 200)
        #expect(help.contains("How long (1 to 86400 seconds; default: 60)."), "\(help)")
        #expect(help.contains("Its colour (red, green; default: any).") && help.contains("Say nothing."), "\(help)")
    }
}
