import CollectorAPI
import Foundation

/// The fields of a query or of a form (`application/x-www-form-urlencoded`), in their order. A name may repeat.
package struct FormFields: Sendable, Equatable, ExpressibleByArrayLiteral {
    package struct Field: Sendable, Equatable {
        package var name: String
        package var value: String
    }

    package private(set) var fields: [Field] = []

    /// More fields are left out: no page has as many.
    private static let maximumFields = 4096

    package init() {}

    package init(_ fields: [(String, String)]) {
        self.fields = fields.map { Field(name: $0.0, value: $0.1) }
    }

    package init(arrayLiteral elements: (String, String)...) { self.init(elements) }

    /// - Parameter encoded: as in an address or a body. What is no valid percent-encoding is kept as it is.
    package init(encoded: some StringProtocol) {
        fields = encoded.split(separator: "&").prefix(Self.maximumFields).map { part in
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return Field(name: Self.decoded(pair[0]), value: pair.count > 1 ? Self.decoded(pair[1]) : "")
        }
    }

    private static func decoded(_ text: some StringProtocol) -> String {
        let spaced = String(text).replacing("+", with: " ")
        return spaced.removingPercentEncoding ?? spaced
    }

    /// The first value; `nil` if the field is absent.
    package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

    /// The first value without surrounding spaces; `nil` if the field is absent or empty. A form sends each of its
    /// fields, also those that nobody filled in.
    func text(_ name: String) -> String? {
        guard let text = self[name]?.trimmingCharacters(in: .whitespacesAndNewlines), !text.isEmpty else { return nil }
        return text
    }

    func all(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

    /// A checkbox sends a field only if it is checked.
    func isChecked(_ name: String) -> Bool { self[name] != nil }

    package var isEmpty: Bool { fields.isEmpty }

    mutating func add(_ name: String, _ value: String?) {
        if let value { fields.append(Field(name: name, value: value)) }
    }

    /// The fields of these names that have a value, in the order of the names.
    func only(_ names: [String]) -> FormFields {
        var kept = FormFields()
        for name in names { for value in all(name) where !value.isEmpty { kept.add(name, value) } }
        return kept
    }

    /// These fields with others in place of all of that name.
    func with(_ name: String, _ values: String?...) -> FormFields {
        var changed = self
        changed.fields.removeAll { $0.name == name }
        for value in values { changed.add(name, value) }
        return changed
    }

    /// These fields, and others behind them.
    func adding(_ others: FormFields) -> FormFields {
        var fields = self
        fields.fields += others.fields
        return fields
    }

    /// The fields as a query, without the question mark.
    package var encoded: String {
        fields.map { "\($0.name.percentEncoded)=\($0.value.percentEncoded)" }.joined(separator: "&")
    }

    /// An address with these fields as its query.
    func address(_ path: String) -> String { fields.isEmpty ? path : "\(path)?\(encoded)" }
}
