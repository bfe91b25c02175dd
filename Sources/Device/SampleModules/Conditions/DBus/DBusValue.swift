/// A value as D-Bus marshals it (D-Bus specification, "Marshaling"), reduced to what is asked here.
indirect enum DBusValue: Equatable, Sendable {
    case boolean(Bool)
    case unsigned(UInt64)
    case signed(Int64)
    case double(Double)
    /// Strings, object paths and signatures.
    case text(String)
    case array([DBusValue])
    case structure([DBusValue])
    /// Keys that are not text are left out.
    case dictionary([String: DBusValue])

    subscript(_ key: String) -> DBusValue? {
        if case .dictionary(let entries) = self { entries[key] } else { nil }
    }

    var unsignedValue: UInt64? {
        if case .unsigned(let value) = self { value } else { nil }
    }

    var textValue: String? {
        if case .text(let text) = self { text } else { nil }
    }
}
