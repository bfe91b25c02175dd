import ArgumentParser

/// One setting of a program, said once: where it goes, what it may be, and what people are told of it.
///
/// A program's table lists its settings. Everything else follows from the table: flags with their `--help`, environment
/// variables, keys of the file, messages about wrong values, what a reload changes, the JSON Schema, the commented
/// example and the tables in the documentation. The default is no part of it: it is what the program has where nobody
/// says anything, read through the same key path, so that no text can name another one.
///
/// Flags could be `@Option` properties that take name and help from the table. Each would then stand in a second list,
/// and its value in a third, and a forgotten entry is a flag that is taken and does nothing. ``SettingFlags`` makes
/// them from the table instead; the price is that it relies on ArgumentParser finding options by reflection.
package struct Setting<Root: Sendable>: Sendable {
    private let declaration: SettingDeclaration
    let path: any PartialKeyPath<Root> & Sendable
    let take: @Sendable (GivenSetting, inout Root) throws(CommandError) -> Void
    let isSame: @Sendable (Root, Root) -> Bool
    private let text: @Sendable (Root) -> String?

    var name: String { declaration.name }

    /// - Parameters:
    ///   - name: the flag's, with dashes. Variable and key of the file follow from it.
    ///   - key: the key of the file, where it does not follow from the name.
    ///   - help: what the value is, without default and range.
    ///   - value: a flag's placeholder.
    ///   - example: for one without a default, as the file has it.
    package init<Value: Equatable & Sendable>(
        _ name: String, _ path: any WritableKeyPath<Root, Value> & Sendable, _ type: SettingType<Value>, _ help: String,
        value: String? = nil, in places: SettingPlaces = .all, key: String? = nil, example: String? = nil,
        reload: SettingReload = .restart, isSecret: Bool = false
    ) {
        declaration = SettingDeclaration(
            name: name, camelCaseKey: key, help: help, valueName: value, places: places, form: type.form,
            example: example, reload: reload, isSecret: isSecret)
        self.path = path
        take = { given, root throws(CommandError) in root[keyPath: path] = try type.read(given) }
        isSame = { $0[keyPath: path] == $1[keyPath: path] }
        text = { root in
            let text = type.text(root[keyPath: path])
            return text.isEmpty ? nil : text
        }
    }

    /// - Parameter fallback: what holds where nobody says it; in words.
    package init<Value: Equatable & Sendable>(
        _ name: String, _ path: any WritableKeyPath<Root, Value?> & Sendable, _ type: SettingType<Value>,
        _ help: String,
        value: String? = nil, in places: SettingPlaces = .all, key: String? = nil, fallback: String? = nil,
        example: String? = nil, reload: SettingReload = .restart, isSecret: Bool = false
    ) {
        declaration = SettingDeclaration(
            name: name, camelCaseKey: key, help: help, valueName: value, places: places, form: type.form,
            example: example, reload: reload, isSecret: isSecret)
        self.path = path
        take = { given, root throws(CommandError) in root[keyPath: path] = try type.read(given) }
        isSame = { $0[keyPath: path] == $1[keyPath: path] }
        text = { $0[keyPath: path].map(type.text) ?? fallback }
    }

    /// With the value in `root` as the default.
    func declared(in root: Root) -> SettingDeclaration {
        var declaration = declaration
        declaration.defaultText = text(root)
        return declaration
    }

    /// The value as it may be shown; `nil`: there is none.
    func shown(_ root: Root) -> String? { text(root) }
}

/// Where a setting may be given.
package struct SettingPlaces: OptionSet, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }

    package static let flag = SettingPlaces(rawValue: 1)
    package static let variable = SettingPlaces(rawValue: 2)
    package static let file = SettingPlaces(rawValue: 4)
    package static let all: SettingPlaces = [.flag, .variable, .file]
}

/// What a running program does about a new value.
package enum SettingReload: String, Sendable {
    case atOnce = "at once"
    case restart
    /// Of files that are named: what they hold is read again.
    case content = "content at once"
}

/// What is said of a setting in help, schema, example and documentation.
package struct SettingDeclaration: Sendable {
    /// The flag's name, with dashes.
    package let name: String
    fileprivate let camelCaseKey: String?
    package let help: String
    package let valueName: String?
    package let places: SettingPlaces
    package let form: SettingForm
    package let example: String?
    package let reload: SettingReload
    package let isSecret: Bool
    /// What holds where nobody says it; `nil`: nothing does.
    package internal(set) var defaultText: String?

    fileprivate init(
        name: String, camelCaseKey: String?, help: String, valueName: String?, places: SettingPlaces, form: SettingForm,
        example: String?, reload: SettingReload, isSecret: Bool
    ) {
        self.name = name
        self.camelCaseKey = camelCaseKey
        self.help = help
        self.valueName = valueName
        self.places = places
        self.form = form
        self.example = example
        self.reload = reload
        self.isSecret = isSecret
    }

    package var flag: String { "--\(name)" }

    /// `WS1_` and the flag's name in capitals.
    package var variable: String { "WS1_" + String(name.map { $0 == "-" ? "_" : $0 }).uppercased() }

    package func key(_ style: SettingKeyStyle) -> String {
        guard style == .camelCase else { return name }
        if let camelCaseKey { return camelCaseKey }
        let words = name.split(separator: "-")
        return words[0] + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    /// As `--help` has it.
    var argumentHelp: ArgumentHelp {
        let standing = form.isSwitch ? nil : defaultText.map { "default: \($0)" }
        let facts = [form.range, standing].compactMap(\.self).joined(separator: "; ")
        return ArgumentHelp(facts.isEmpty ? "\(help)." : "\(help) (\(facts)).", valueName: valueName)
    }
}

/// How the keys of a program's file are written.
package enum SettingKeyStyle: Sendable {
    case camelCase
    case dashes
}
