/// The type of a setting's value: how to read, show and describe it.
package struct SettingType<Value: Sendable>: Sendable {
    package let form: SettingForm
    let read: @Sendable (GivenSetting) throws(CommandError) -> Value
    let text: @Sendable (Value) -> String

    package init(
        _ form: SettingForm, text: @escaping @Sendable (Value) -> String = { "\($0)" },
        read: @escaping @Sendable (GivenSetting) throws(CommandError) -> Value
    ) {
        self.form = form
        self.text = text
        self.read = read
    }
}

/// The form of a value, which messages, help, schema and documentation describe.
package indirect enum SettingForm: Sendable {
    /// - Parameters:
    ///   - range: the allowed values in words.
    ///   - pattern: the pattern in JSON Schema.
    case text(range: String?, pattern: String?)
    case number(SettingRange)
    case flag
    case choice([String])
    /// - Parameter known: the allowed names; `nil` for any.
    case names(known: [String]?)
    case object([SettingDeclaration])
    /// An object whose keys the user chooses.
    case entries(known: [String]?, SettingForm)

    /// The allowed values in words; `nil` if there is no limit to describe.
    package var range: String? {
        switch self {
        case .text(let range, _): range
        case .number(let range): range.description
        case .choice(let names), .names(let names?): names.joined(separator: ", ")
        case .flag, .names, .object, .entries: nil
        }
    }

    /// Whether the flag has no value.
    package var isSwitch: Bool {
        if case .flag = self { true } else { false }
    }
}

/// The numbers that a setting accepts.
package struct SettingRange: Sendable, CustomStringConvertible {
    package let least: Double
    package let greatest: Double
    package let isWhole: Bool
    /// Whether `least` itself is refused.
    package let excludesLeast: Bool
    /// Whether 0 is allowed too.
    package let takesZero: Bool
    package let unit: String?

    package init(
        _ range: ClosedRange<Double>, _ unit: String? = nil, isWhole: Bool = false, excludesLeast: Bool = false,
        takesZero: Bool = false
    ) {
        (least, greatest) = (range.lowerBound, range.upperBound)
        self.unit = unit
        self.isWhole = isWhole
        self.excludesLeast = excludesLeast
        self.takesZero = takesZero
    }

    /// NaN and the infinities are in no range.
    func contains(_ value: Double) -> Bool {
        guard !isWhole || value == value.rounded() else { return false }
        return value >= least && value <= greatest && !(excludesLeast && value == least) || takesZero && value == 0
    }

    package var description: String {
        let span =
            greatest == .greatestFiniteMagnitude
            ? "\(Self.text(least)) or more"
            : excludesLeast
                ? "above \(Self.text(least)) and at most \(Self.text(greatest))"
                : "\(Self.text(least)) to \(Self.text(greatest))"
        return (takesZero ? "0, or " : "") + span + (unit.map { " \($0)" } ?? "")
    }

    package static func text(_ value: Double) -> String {
        Int(exactly: value).map { "\($0)" } ?? "\(value)"
    }
}

extension SettingType where Value == String {
    package static let text = text()

    package static func text(_ range: String? = nil, pattern: String? = nil) -> SettingType {
        SettingType(.text(range: range, pattern: pattern)) { given throws(CommandError) in try given.text() }
    }
}

extension SettingType where Value == Bool {
    package static let flag = SettingType(.flag) { given throws(CommandError) in try given.flag() }
}

extension SettingType where Value == Double {
    package static func number(_ range: SettingRange) -> SettingType {
        SettingType(.number(range), text: SettingRange.text) { given throws(CommandError) in try given.number(range) }
    }
}

extension SettingType where Value: FixedWidthInteger {
    package static func integer(_ range: ClosedRange<Value>, _ unit: String? = nil, takesZero: Bool = false)
        -> SettingType
    {
        let greatest = range.upperBound == .max ? Double.greatestFiniteMagnitude : Double(range.upperBound)
        let words = SettingRange(Double(range.lowerBound)...greatest, unit, isWhole: true, takesZero: takesZero)
        return SettingType(.number(words)) { given throws(CommandError) in
            // A text is parsed as an integer, because a large one has no exact `Double`.
            if case .text(let text) = given.value {
                guard let number = Value(text), range.contains(number) || takesZero && number == 0 else {
                    throw given.wrong("a whole number, \(words)")
                }
                return number
            }
            guard let number = Value(exactly: try given.number(words)) else {
                throw given.wrong("a whole number, \(words)")
            }
            return number
        }
    }
}

extension SettingType where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
    /// One of an enumeration's names.
    /// - Parameter value: may know other spellings, too.
    package static func choice(
        _ value: @escaping @Sendable (String) -> Value? = { Value(rawValue: $0) }
    ) -> SettingType {
        let names = Value.allCases.map(\.rawValue)
        return SettingType(.choice(names), text: \.rawValue) { given throws(CommandError) in
            if case .text(let text) = given.value, let choice = value(text) { return choice }
            throw given.wrong("one of \(names.joined(separator: ", "))")
        }
    }
}

extension SettingType {
    /// An object with settings inside. Missing ones keep their value of `prototype`.
    package static func object(_ prototype: Value, _ fields: [Setting<Value>]) -> SettingType {
        let declarations = fields.map { $0.declared(in: prototype) }
        let keys = declarations.map { $0.key(.camelCase) }
        return SettingType(
            .object(declarations),
            text: { value in
                let entries = zip(keys, fields).compactMap { key, field in field.shown(value).map { "\(key): \($0)" } }
                return "{ \(entries.joined(separator: ", ")) }"
            }
        ) { given throws(CommandError) in
            var value = prototype
            try given.forEachEntry { key, entry throws(CommandError) in
                guard let field = keys.firstIndex(of: key).map({ fields[$0] }) else { throw entry.unknownKey(keys) }
                try field.apply(entry, &value)
            }
            return value
        }
    }

    /// An object whose keys the user chooses.
    package static func entries<Entry: Sendable>(
        named known: [String]? = nil, _ type: SettingType<Entry>
    ) -> SettingType where Value == [String: Entry] {
        SettingType(
            .entries(known: known, type.form),
            text: { value in
                guard !value.isEmpty else { return "none" }
                let entries = value.sorted { $0.key < $1.key }.map { "\($0.key): \(type.text($0.value))" }
                return "{ \(entries.joined(separator: ", ")) }"
            }
        ) { given throws(CommandError) in
            var value: Value = [:]
            try given.forEachEntry { key, entry throws(CommandError) in value[key] = try type.read(entry) }
            return value
        }
    }
}
