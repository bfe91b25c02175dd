import ArgumentParser

/// The settings that a command accepts as flags.
package protocol FlagSet {
    static var flags: [SettingDeclaration] { get }
}

/// An option group with a flag for each setting of a table.
///
/// ArgumentParser finds a type's options by reflection and fills them through `Decodable`. This type implements both:
/// its mirror shows an `Option` or `Flag` for each setting, and `init(from:)` decodes them by the same names.
package struct SettingFlags<Flags: FlagSet>: ParsableArguments, CustomReflectable {
    /// The given values by setting name.
    package private(set) var given: [String: String] = [:]

    package init() {}

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Name.self)
        for setting in Flags.flags {
            let key = Name(stringValue: setting.name)
            if setting.form.isSwitch {
                given[setting.name] = try container.decode(Flag<Bool>.self, forKey: key).wrappedValue ? "true" : nil
            } else {
                given[setting.name] = try container.decode(Option<String?>.self, forKey: key).wrappedValue
            }
        }
    }

    package var customMirror: Mirror {
        let options = Flags.flags.map { setting -> (label: String?, value: Any) in
            let name = NameSpecification.customLong(setting.name)
            return setting.form.isSwitch
                ? (setting.name, Flag(wrappedValue: false, name: name, help: setting.argumentHelp))
                : (
                    setting.name,
                    Option<String?>(name: name, help: setting.argumentHelp, completion: setting.completion)
                )
        }
        return Mirror(self, children: options)
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
