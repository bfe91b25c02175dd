import WireModel

/// The fields of a telemetry.proto message, each with its privacy class.
///
/// The filter walks messages by these tables alone; a field that is not in them is not sent. Tools/generate-wire writes
/// them from the options of telemetry.proto, and refuses a field without a class.
final class MessageFields: Sendable {
    /// The name in telemetry.proto without its package. Empty for a map's entry, which has no name.
    let name: String
    let fields: [FieldRule]
    /// An entry is dropped as a whole, because a key without its value would read as an empty value.
    let isMapEntry: Bool
    private let byNumber: [FieldRule?]

    init(_ name: String, _ fields: [FieldRule]..., isMapEntry: Bool = false) {
        let fields = fields.flatMap { $0 }
        self.name = name
        self.fields = fields
        self.isMapEntry = isMapEntry
        var byNumber = [FieldRule?](repeating: nil, count: (fields.map(\.number).max() ?? 0) + 1)
        for field in fields { byNumber[field.number] = field }
        self.byNumber = byNumber
    }

    func rule(_ number: Int) -> FieldRule? { number < byNumber.count ? byNumber[number] : nil }
}

/// One field of a message, and how personal it is.
struct FieldRule: Sendable {
    enum Content: Sendable {
        /// Not personal. Passed on unchanged.
        case technical
        case personal(FieldClass, PersonalForm)
        /// Has the class of the field that contains its message.
        case inherited(PersonalForm)
        /// A message, and its class as a whole if it has one. If that class is dropped, the whole message is.
        case message(MessageFields, FieldClass?)
    }

    let number: Int
    let name: String
    let content: Content
}

/// The rows of a table.
extension [FieldRule] {
    /// Fields with consecutive numbers, starting at `first`.
    static func technical(_ first: Int, _ names: String...) -> Self {
        names.enumerated().map { FieldRule(number: first + $0, name: $1, content: .technical) }
    }

    static func personal(_ number: Int, _ name: String, _ fieldClass: FieldClass, _ form: PersonalForm) -> Self {
        [FieldRule(number: number, name: name, content: .personal(fieldClass, form))]
    }

    static func inherited(_ number: Int, _ name: String, _ form: PersonalForm) -> Self {
        [FieldRule(number: number, name: name, content: .inherited(form))]
    }

    static func message(
        _ number: Int, _ name: String, _ fields: MessageFields, _ fieldClass: FieldClass? = nil
    ) -> Self {
        [FieldRule(number: number, name: name, content: .message(fields, fieldClass))]
    }

    /// `map<string, string>`. Keys are technical; values have this class.
    static func map(_ number: Int, _ name: String, _ fieldClass: FieldClass) -> Self {
        let entry = MessageFields("", .technical(1, "key"), .personal(2, "value", fieldClass, .text), isMapEntry: true)
        return .message(number, name, entry, fieldClass)
    }

    /// `map<string, Value>`.
    static func map(_ number: Int, _ name: String, of value: MessageFields, _ fieldClass: FieldClass) -> Self {
        let entry = MessageFields("", .technical(1, "key"), .message(2, "value", value, fieldClass), isMapEntry: true)
        return .message(number, name, entry, fieldClass)
    }
}
