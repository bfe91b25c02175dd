import WireModel

/// Names of an enum's values in the API: kebab-case without the prefix of telemetry.proto. The full names of protobuf's
/// JSON are accepted too (`wifi`, `NETWORK_CLASS_WIFI`). Enums with the option `named` have theirs in `Generated/`.
struct EnumName<Value: RawRepresentable & Hashable & Sendable>: Sendable where Value.RawValue == Int {
    private let values: [(name: String, value: Value)]
    private let prefix: String

    /// - Parameter named: the values that may be used, with their names.
    init(prefix: String, _ named: [(name: String, value: Value)]) {
        self.prefix = prefix
        values = named
    }

    func value(_ text: String, _ place: String) throws(Problem) -> Value {
        let plain = text.hasPrefix(prefix) ? text.dropFirst(prefix.count).lowercased().replacing("_", with: "-") : text
        guard let found = values.first(where: { $0.name == plain }) else {
            throw .invalidField(place, "must be one of \(values.map(\.name).joined(separator: ", ")).")
        }
        return found.value
    }

    /// The value's name, or its number if it has none.
    func name(_ value: Value) -> String { values.first { $0.value == value }?.name ?? "\(value.rawValue)" }
}

/// Names of record kinds in the API: those of telemetry.proto in kebab-case without prefix.
package enum RecordKindName {
    private static let names = EnumName.recordKind

    /// The kind's name, or its number if this version does not know it.
    package static func text(_ kind: Int) -> String { WireRecordKind(rawValue: kind).map(names.name) ?? "\(kind)" }

    /// The stream with records of a kind; `nil` for an unknown kind, and for one that several streams have.
    package static func stream(of kind: Int) -> StreamName? {
        switch WireRecordKind(rawValue: kind) {
        case .beacon, .commandResult: .status
        case .event, .otlpLog: .event
        case .otlpContext, .unspecified, .UNRECOGNIZED, nil: nil
        default: .sample
        }
    }

    /// - Returns: the kind's raw value; `nil` if no kind has this name.
    package static func kind(_ text: String) -> Int? { (try? names.value(text, "kind"))?.rawValue }
}
