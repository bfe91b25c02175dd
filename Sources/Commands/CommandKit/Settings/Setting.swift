import ArgumentParser

/// One setting of a program: its property, its allowed values and its help text.
///
/// A program's table lists its settings. Everything else follows from the table: flags with their `--help`, environment
/// variables, keys of the file, messages about wrong values, the effect of a reload, the JSON Schema, the commented
/// example and the tables in the documentation. The default is the value of a new ``ProgramSettings``, read through the
/// same key path, so that no text can name another one.
///
/// ``SettingFlags`` makes the flags from the table. With `@Option` properties, each flag would also stand in a second
/// and third list, and a forgotten entry would be a flag without effect.
package struct Setting<Root: Sendable>: Sendable {
    private let declaration: SettingDeclaration
    let path: any PartialKeyPath<Root> & Sendable
    let apply: @Sendable (GivenSetting, inout Root) throws(CommandError) -> Void
    let isSame: @Sendable (Root, Root) -> Bool
    private let text: @Sendable (Root) -> String?

    var name: String { declaration.name }

    /// - Parameters:
    ///   - name: the flag's name, with dashes. Variable and key of the file follow from it.
    ///   - key: the key of the file, if it does not follow from the name.
    ///   - help: the meaning of the value, without default and range.
    ///   - value: the placeholder of the flag's value.
    ///   - example: an example in the file's syntax, for a setting without a default.
    package init<Value: Equatable & Sendable>(
        _ name: String, _ path: any WritableKeyPath<Root, Value> & Sendable, _ type: SettingType<Value>, _ help: String,
        value: String? = nil, in places: SettingPlaces = .all, key: String? = nil, example: String? = nil,
        reload: SettingReload = .restart, isSecret: Bool = false
    ) {
        declaration = SettingDeclaration(
            name: name, camelCaseKey: key, help: help, valueName: value, places: places, form: type.form,
            example: example, reload: reload, isSecret: isSecret)
        self.path = path
        apply = { given, root throws(CommandError) in root[keyPath: path] = try type.read(given) }
        isSame = { $0[keyPath: path] == $1[keyPath: path] }
        text = { root in
            let text = type.text(root[keyPath: path])
            return text.isEmpty ? nil : text
        }
    }

    /// - Parameter fallback: the default in words.
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
        apply = { given, root throws(CommandError) in root[keyPath: path] = try type.read(given) }
        isSame = { $0[keyPath: path] == $1[keyPath: path] }
        text = { $0[keyPath: path].map(type.text) ?? fallback }
    }

    /// The declaration with the value in `root` as the default.
    func declared(in root: Root) -> SettingDeclaration {
        var declaration = declaration
        declaration.defaultText = text(root)
        return declaration
    }

    /// The value for display; `nil` if there is none.
    func shown(_ root: Root) -> String? { text(root) }
}

/// The places where a setting may be given.
package struct SettingPlaces: OptionSet, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }

    package static let flag = SettingPlaces(rawValue: 1)
    package static let variable = SettingPlaces(rawValue: 2)
    package static let file = SettingPlaces(rawValue: 4)
    package static let all: SettingPlaces = [.flag, .variable, .file]
}

/// When a running program applies a new value.
package enum SettingReload: String, Sendable {
    case atOnce = "at once"
    case restart
    /// The program reads the content of the named file again.
    case content = "content at once"
}

/// The description of a setting for help, schema, example and documentation.
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
    /// The default in words; `nil` if there is none.
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

    /// The environment variable: `WS1_` and the flag's name in capitals.
    package var variable: String { "WS1_" + String(name.map { $0 == "-" ? "_" : $0 }).uppercased() }

    package func key(_ style: SettingKeyStyle) -> String {
        guard style == .camelCase else { return name }
        if let camelCaseKey { return camelCaseKey }
        let words = name.split(separator: "-")
        return words[0] + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    /// What a shell offers for the flag's value: the names that it may be, or the paths.
    var completion: CompletionKind? {
        switch (form, valueName) {
        case (.choice(let names), _), (.names(let names?), _): .list(names)
        case (_, "file"?): .file()
        case (_, "dir"?): .directory
        default: nil
        }
    }

    /// The text of `--help`.
    var argumentHelp: ArgumentHelp {
        let standing = form.isSwitch ? nil : defaultText.map { "default: \($0)" }
        let facts = [form.range, standing].compactMap(\.self).joined(separator: "; ")
        return ArgumentHelp(facts.isEmpty ? "\(help)." : "\(help) (\(facts)).", valueName: valueName)
    }
}

/// The spelling of the keys in a program's file.
package enum SettingKeyStyle: Sendable {
    case camelCase
    case dashes
}
