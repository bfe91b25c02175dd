/// Puts an index's text together.
struct IndexWriter {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// The word and each number after a space.
    mutating func line(_ word: some StringProtocol, _ numbers: [some BinaryInteger]) {
        bytes.append(contentsOf: word.utf8)
        for number in numbers {
            bytes.append(UInt8(ascii: " "))
            bytes.append(contentsOf: String(number).utf8)
        }
        bytes.append(UInt8(ascii: "\n"))
    }
}
