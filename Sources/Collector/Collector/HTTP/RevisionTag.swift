import Foundation

/// A revision as an entity tag, and what is said of it in `If-Match` and `If-None-Match`.
struct RevisionTag: Equatable {
    let text: String

    init(_ revision: UInt64) {
        self.init(text: "\"\(revision)\"")
    }

    /// - Parameter text: with its quotes.
    init(text: String) {
        self.text = text
    }

    /// Whether a field with a list of tags, or `*`, names it; a weak tag compares as a strong one.
    func isAmong(_ field: String) -> Bool {
        field.split(separator: ",").contains { part in
            let plain = part.trimmingCharacters(in: .whitespaces)
            return plain == "*" || plain == text || plain == "W/" + text
        }
    }
}
