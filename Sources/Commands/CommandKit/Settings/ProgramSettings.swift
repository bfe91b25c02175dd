import FoundationEssentials

/// All that a program can be told. Its `init()` is what holds where nobody says anything.
package protocol ProgramSettings: Sendable {
    init()

    static var table: [Setting<Self>] { get }
    static var keyStyle: SettingKeyStyle { get }

    /// The configuration file's values by key; for a program that has one.
    /// - Throws: `.usage` for a file that cannot be read, and for a key that ``declaration(forKey:)`` does not know.
    static func readFile(_ path: String) throws(CommandError) -> [String: GivenSetting.Value]

    /// What a reload finds changed; ``differences(from:)`` unless a program knows better.
    func changes(from former: Self) -> [SettingDeclaration]
}

extension ProgramSettings {
    package static var keyStyle: SettingKeyStyle { .camelCase }

    package static func readFile(_ path: String) throws(CommandError) -> [String: GivenSetting.Value] { [:] }

    /// The table, each setting with its default.
    package static var declarations: [SettingDeclaration] {
        let defaults = Self()
        return table.map { $0.declared(in: defaults) }
    }

    /// The keys that the file may have.
    package static var fileKeys: [String] {
        declarations.filter { $0.places.contains(.file) }.map { $0.key(keyStyle) }
    }

    package func changes(from former: Self) -> [SettingDeclaration] { differences(from: former) }

    /// The settings whose values are others than in `former`.
    package func differences(from former: Self) -> [SettingDeclaration] {
        Self.table.filter { !$0.isSame(self, former) }.map { $0.declared(in: self) }
    }

    /// A value as it may be shown; `nil` where there is none.
    package func shown(_ name: String) -> String? {
        Self.table.first { $0.name == name }?.shown(self)
    }
}

/// What flags, environment and file say. A flag beats the variable, which beats the file: one look-up for all settings
/// of all programs, so that none can differ in its precedence. An empty variable counts as not set: that is how a unit
/// file or a shell says it.
package struct SettingLayers<Settings: ProgramSettings>: Sendable {
    private let given: [String: GivenSetting]

    /// - Parameters:
    ///   - flags: by name.
    ///   - file: the configuration file's values by key, and its path for messages.
    package init(
        flags: [String: String], environment: [String: String],
        file: (values: [String: GivenSetting.Value], path: String)? = nil
    ) {
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
                    value: value, place: "\(key) in \(file.path)", isSecret: setting.isSecret)
            }
        }
        self.given = given
    }

    /// Of this process's environment, and the file that `--config` or `WS1_CONFIG` names.
    package init(flags: [String: String]) throws(CommandError) {
        let environment = ProcessInfo.processInfo.environment
        let named = SettingLayers(flags: flags, environment: environment).given["config"]
        let path = try named?.text()
        var file: (values: [String: GivenSetting.Value], path: String)?
        if let path { file = (try Settings.readFile(path), path) }
        self.init(flags: flags, environment: environment, file: file)
    }

    package subscript(_ path: PartialKeyPath<Settings>) -> GivenSetting? {
        Settings.table.first { $0.path == path }.flatMap { given[$0.name] }
    }

    /// Each value that was given, as its type; the rest as ``ProgramSettings/init()`` has it.
    package func read() throws(CommandError) -> Settings {
        var settings = Settings()
        for setting in Settings.table {
            if let value = given[setting.name] { try setting.take(value, &settings) }
        }
        return settings
    }

    /// - Throws: where it is given nowhere, naming all the places.
    package func require(_ path: PartialKeyPath<Settings>) throws(CommandError) {
        guard self[path] == nil, let setting = Settings.table.first(where: { $0.path == path }) else { return }
        let declaration = setting.declared(in: Settings())
        throw CommandError(
            .usage,
            "\(declaration.name) is not given: use \(declaration.flag), \(declaration.variable) or "
                + "\(declaration.key(Settings.keyStyle)) in the configuration file. \(declaration.help)")
    }

    /// What is wrong with a value beside others, with where it was given.
    package func refusal(_ path: PartialKeyPath<Settings>, _ objection: String) -> CommandError {
        self[path]?.refused(objection) ?? CommandError(.usage, objection)
    }
}
