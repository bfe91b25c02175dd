/// Why bytes could not be compressed or inflated. Messages hold numbers, never content.
package struct GzipError: Error, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// More output than `InflateLimits.maximumBytes`.
        case limitExceeded
        /// More output for the input than `InflateLimits.maximumRatio`: a bomb.
        case ratioExceeded
        /// The input ends inside a member, or there is none.
        case truncated
        /// Not gzip, or its content contradicts its structure, checksum or length.
        case corrupt
        /// What follows a complete member is not another one.
        case trailingGarbage
        case outOfMemory
        /// The program used this wrongly, e.g. a level outside 0...9.
        case misuse
    }

    package var code: Code
    /// What was wrong, with the numbers, and the remedy.
    package var message: String

    package init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "gzip \(code.rawValue): \(message)" }
}
