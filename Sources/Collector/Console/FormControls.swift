import CollectorAPI
import JSON
import WireModel

/// The choices that forms offer.
enum Choice {
    /// - Parameter choices: what is sent, and what is shown.
    static func list(_ choices: [(value: String, label: String)], chosen: String?) -> JSONValue {
        .array(
            choices.map { value, label in
                ["value": .text(value), "label": .text(label), "isChosen": .boolean(value == chosen ?? "")]
            })
    }

    /// Values that are their own names.
    static func list(_ choices: [String], chosen: String?) -> JSONValue {
        list(choices.map { ($0, $0) }, chosen: chosen)
    }
}

extension FormFields {
    /// The fields for inputs that a form carries along.
    var hidden: JSONValue { .array(fields.map { ["name": .text($0.name), "value": .text($0.value)] }) }

    /// A whole number; `nil` if nobody filled the field in.
    func integer(_ name: String, label: String) throws(Problem) -> JSONValue? {
        guard let text = text(name) else { return nil }
        guard let value = Int64(text) else { throw .field(label, "is not a whole number.") }
        return .integer(value)
    }
}

extension Problem {
    /// A field of a form that cannot be made part of a request.
    static func field(_ label: String, _ text: String) -> Problem {
        Problem(status: 422, code: .invalidField, title: "Field not accepted", detail: "\(label) \(text)")
    }
}

extension Visit {
    /// The names of the organizations that the visitor sees.
    func organizationNames() async throws -> [String] {
        if let own = visitor.organization { return [own] }
        return try await api.all(.listOrganizations).map(\.name)
    }
}
