/// A message of telemetry.proto as the privacy filter knows it: each of its fields with its class.
///
/// The filter walks messages by these tables and by nothing else; what is not in them is not sent. So a field of the
/// schema that is forgotten here is lost, never leaked, and a test that compares tables and schema names it.
package final class MessageFields: Sendable {
    /// As in telemetry.proto, without its package; empty for the entry of a map, which has no name there.
    package let name: String
    package let fields: [FieldRule]
    /// An entry goes as a whole: a key without its value would read as an empty value.
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

/// One field of a message and what it tells.
package struct FieldRule: Sendable {
    package enum Content: Sendable {
        /// Tells nothing of a person; passed on as it is.
        case technical
        case personal(FieldClass, PersonalForm)
        /// A value whose class is that of the field its message lies in.
        case inherited(PersonalForm)
        /// A message, and the class of it as a whole where it has one: then nothing of it goes when the class is
        /// dropped.
        case message(MessageFields, FieldClass?)
    }

    package let number: Int
    package let name: String
    package let content: Content
}

/// The rows of a table.
extension [FieldRule] {
    /// Fields with these names; the first has this number, each further one the next.
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

    /// `map<string, string>`: keys are technical, values of this class.
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
