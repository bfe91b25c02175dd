/// Why records could not be packed, or a block could not be read. Messages hold numbers and names, never content of a
/// record.
package struct RecordBlockError: Error, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// The bytes do not begin as a block does.
        case notABlock = "not-a-block"
        /// A later version of the program wrote it.
        case newerVersion = "newer-version"
        /// Fewer bytes than the block says that it has.
        case truncated
        /// A checksum differs from its bytes.
        case damaged
        /// The checksum fits, and the content is impossible. No writer of ours makes such a block.
        case malformed
        /// The block, or what is to be packed, is beyond a limit.
        case limitExceeded = "limit-exceeded"
        /// What is to be packed is no block: numbers do not ascend, for example.
        case invalid
        case outOfMemory = "out-of-memory"
    }

    package var code: Code
    /// The text for people: which block, what is wrong with it, with the numbers, and what to do.
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "\(code.rawValue): \(message)" }

    static func malformed(_ message: String) -> RecordBlockError { RecordBlockError(.malformed, message) }
}
