/// The value of an attribute of a metric, with the type that OpenTelemetry gives it.
package enum AttributeValue: Sendable, Hashable {
    case text(String)
    case integer(Int64)
    case boolean(Bool)
}

/// Names and values of a metric's attributes; empty if the metric has one series per device.
package typealias MetricAttributes = [String: AttributeValue]

extension AttributeValue: CustomStringConvertible {
    /// As text: in filters and in the order of series.
    package var description: String {
        switch self {
        case .text(let text): text
        case .integer(let integer): "\(integer)"
        case .boolean(let boolean): "\(boolean)"
        }
    }
}

/// In JSON a text, a number or a truth value.
extension AttributeValue: Encodable {
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .integer(let integer): try container.encode(integer)
        case .boolean(let boolean): try container.encode(boolean)
        }
    }
}

extension AttributeValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .boolean(value) }
}
