/// A count with its noun, for people: `1 chunk`, `2 chunks`.
package enum CountText {
    /// - Parameter noun: in the singular; its plural ends in s.
    package static func of(_ count: some BinaryInteger, _ noun: String) -> String {
        "\(count) \(noun)\(count == 1 ? "" : "s")"
    }
}
