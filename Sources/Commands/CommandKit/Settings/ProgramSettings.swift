import FoundationEssentials

/// All settings of a program. Its `init()` sets the defaults.
package protocol ProgramSettings: Sendable {
    init()

    static var table: [Setting<Self>] { get }
    static var keyStyle: SettingKeyStyle { get }

    /// Reads the configuration file, if the program has one.
    /// - Throws: `.usage` if the file cannot be read or has another form.
    static func readFile(_ path: String) throws(CommandError) -> SettingFile

    /// The settings that a reload has changed. The default is ``differences(from:)``.
    func changes(from former: Self) -> [SettingDeclaration]
}

extension ProgramSettings {
    package static var keyStyle: SettingKeyStyle { .camelCase }

    package static func readFile(_ path: String) throws(CommandError) -> SettingFile { SettingFile(path: path) }

    /// The table of settings, each with its default.
    package static var declarations: [SettingDeclaration] {
        let defaults = Self()
        return table.map { $0.declared(in: defaults) }
    }

    /// The allowed keys of the file.
    package static var fileKeys: [String] {
        declarations.filter { $0.places.contains(.file) }.map { $0.key(keyStyle) }
    }

    package func changes(from former: Self) -> [SettingDeclaration] { differences(from: former) }

    /// The settings whose values differ from `former`.
    package func differences(from former: Self) -> [SettingDeclaration] {
        Self.table.filter { !$0.isSame(self, former) }.map { $0.declared(in: self) }
    }

    /// The value for display; `nil` if there is none.
    package func shown(_ name: String) -> String? {
        Self.table.first { $0.name == name }?.shown(self)
    }
}

/// The values from flags, environment and file. A flag overrides the variable, and the variable overrides the file. All
/// programs share this look-up, so that their precedence cannot differ. An empty variable counts as not set.
package struct SettingLayers<Settings: ProgramSettings>: Sendable {
    private let given: [String: GivenSetting]
    private let mistakes: [CommandError]
    /// The whole environment, also of variables that are no settings.
    package let environment: [String: String]

    /// - Parameters:
    ///   - flags: the flags' values by name.
    package init(flags: [String: String], environment: [String: String], file: SettingFile? = nil) {
        var given: [String: GivenSetting] = [:]
        for setting in Settings.declarations {
            let key = setting.key(Settings.keyStyle)
            if let text = flags[setting.name] {
                given[setting.name] = GivenSetting(value: .text(text), place: setting.flag, isSecret: setting.isSecret)
            } else if setting.places.contains(.variable), let text = environment[setting.variable], !text.isEmpty {
                given[setting.name] = GivenSetting(
                    value: .text(text), place: setting.variable, isSecret: setting.isSecret)
            } else if let file, let value = file.values[key] {
                given[setting.name] = GivenSetting(
                    value: value, place: "\(key) in \(file.path)", isSecret: setting.isSecret,
                    line: { file.lines[[key] + $0] })
            }
        }
        self.given = given
        mistakes = file?.mistakes ?? []
        self.environment = environment
    }

    /// Uses this process's environment, and the file that `--config` or `WS1_CONFIG` names.
    package init(flags: [String: String]) throws(CommandError) {
        let environment = ProcessInfo.processInfo.environment
        let named = SettingLayers(flags: flags, environment: environment).given["config"]
        let path = try named?.text()
        let file = try path.map { path throws(CommandError) in try Settings.readFile(path) }
        self.init(flags: flags, environment: environment, file: file)
    }

    package subscript(_ path: PartialKeyPath<Settings>) -> GivenSetting? {
        Settings.table.first { $0.path == path }.flatMap { given[$0.name] }
    }

    /// Reads each given value as its type. The others keep their defaults from ``ProgramSettings/init()``.
    /// - Throws: all mistakes of the file and all wrong values in one error, each in a line of its own.
    package func read() throws(CommandError) -> Settings {
        var settings = Settings()
        var mistakes = mistakes
        for setting in Settings.table {
            guard let value = given[setting.name] else { continue }
            do throws(CommandError) { try setting.apply(value, &settings) } catch { mistakes.append(error) }
        }
        try CommandError.throwIfAny(mistakes)
        return settings
    }

    /// - Throws: if the setting is not given, with all places where it can be given.
    package func require(_ path: PartialKeyPath<Settings>) throws(CommandError) {
        guard self[path] == nil, let setting = Settings.table.first(where: { $0.path == path }) else { return }
        let declaration = setting.declared(in: Settings())
        let places: [(SettingPlaces, String)] = [
            (.flag, declaration.flag), (.variable, declaration.variable),
            (.file, "\(declaration.key(Settings.keyStyle)) in the configuration file"),
        ]
        let allowed = places.filter { declaration.places.contains($0.0) }.map(\.1).joined(separator: " or ")
        throw CommandError(.usage, "\(declaration.name) is not given: use \(allowed). \(declaration.help)")
    }

    /// An error that names where the value was given, for a value that does not go with others.
    package func refusal(_ path: PartialKeyPath<Settings>, _ objection: String) -> CommandError {
        self[path]?.refused(objection) ?? CommandError(.usage, objection)
    }
}
