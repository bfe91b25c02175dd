import JSON
import TelemetryBasics
import WireModel

extension WireEventType {
    /// The type's name, or its number if this version does not know it.
    package var viewName: String { Self.named.first { $0.type == self }?.name ?? "type-\(rawValue)" }
}

extension WireValue {
    /// The value, and the name of its type.
    package var json: (value: JSONValue, type: String) {
        switch value {
        case .text(let value): (.text(value), "string")
        case .integer(let value): (.integer(value), "integer")
        case .real(let value): (.real(value), "double")
        case .boolean(let value): (.boolean(value), "boolean")
        case .date(let value): (.text(Timestamp.text(value)), "date")
        case nil: (.null, "none")
        }
    }

    /// The value as text; `nil` if there is none.
    package var viewText: String? {
        switch value {
        case .text(let text): text
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .boolean(let flag): "\(flag)"
        case .date(let date): Timestamp.text(date)
        case nil: nil
        }
    }
}
