/// A count with what is counted, for people: `1 chunk`, `2 chunks`.
enum CountText {
    /// - Parameter noun: in the singular; its plural has an s.
    static func of(_ count: some BinaryInteger, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
