/// One measured value of another program.
package struct MetricPoint: Equatable, Sendable {
    package var name: String
    /// UCUM; empty where there is none.
    package var unit: String
    package var attributes: [String: String]
    package var value: MetricValue

    package init(_ name: String, unit: String = "", attributes: [String: String] = [:], _ value: MetricValue) {
        self.name = name
        self.unit = unit
        self.attributes = attributes
        self.value = value
    }
}

package enum MetricValue: Equatable, Sendable {
    case integer(Int64)
    case number(Double)
    case flag(Bool)
    case text(String)
}

/// What a measurement may be. All custom samples have these bounds, whoever takes them.
package enum MetricBounds {
    package static let nameBytes = 1...128
    package static let unitBytes = 0...32
    package static let attributes = 16
    package static let attributeNameBytes = 1...64
    package static let attributeValueBytes = 256
    package static let textBytes = 1_024

    /// Printable ASCII without spaces.
    package static func isName(_ text: String) -> Bool {
        nameBytes.contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Printable ASCII without spaces, or nothing.
    package static func isUnit(_ text: String) -> Bool {
        unitBytes.contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Names of the agent's own measurements of a source begin with it. No other program may use them.
    static let ownPrefix = "ws1."

    /// Why a point cannot be taken in, without its content, because that may be of a person; `nil`: it can.
    static func objection(to point: MetricPoint) -> String? {
        if let objection = objection(name: point.name, attributes: point.attributes) { return objection }
        guard isUnit(point.unit) else { return "the unit must be up to 32 bytes of printable ASCII without spaces" }
        switch point.value {
        case .integer, .flag: return nil
        case .number(let number): return number.isFinite ? nil : "the value must be finite"
        case .text(let text):
            return text.utf8.count <= textBytes ? nil : "a text may have at most \(textBytes) bytes"
        }
    }

    static func objection(name: String, attributes: [String: String]) -> String? {
        guard isName(name) else { return "the name must be 1 to 128 bytes of printable ASCII without spaces" }
        guard !name.hasPrefix(ownPrefix) else { return "names that begin with \(ownPrefix) are the agent's own" }
        guard attributes.count <= Self.attributes else { return "there may be at most \(Self.attributes) attributes" }
        for (name, value) in attributes
        where !attributeNameBytes.contains(name.utf8.count) || value.utf8.count > attributeValueBytes {
            return "names of attributes must have 1 to 64 bytes, and their values at most 256"
        }
        return nil
    }
}
