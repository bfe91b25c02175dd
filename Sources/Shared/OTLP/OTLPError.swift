import TelemetryBasics

/// A request of OTLP that nobody can decode, or that asks for too much.
package struct OTLPError: CodedError, Equatable {
    package enum Code: String, Sendable {
        /// The body is not the request in its encoding. The same body will never be accepted.
        case malformed
        /// The body has more bytes or elements than the limits allow.
        case tooLarge = "too-large"
    }

    package let code: Code
    /// The text: what and where it is, and what to do. Never a value of the body.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// How much of one request a receiver takes.
///
/// The bytes alone do not bound its memory: two bytes can be an empty message, which takes a hundred times as much once
/// decoded. So elements are counted, before anything is decoded.
package struct OTLPLimits: Sendable, Equatable {
    /// Bytes of a body after inflation. The protocol recommends 64 MiB.
    package var bodyBytes: Int
    /// Messages in messages, and the same in JSON. A log record lies four deep; each level of a value takes two.
    package var depth: Int
    /// Messages and items of lists together. One log record with six attributes has 14.
    package var elements: Int
    /// Characters of a message for people in an answer. The protocol recommends at most 4 MiB for the whole answer.
    package var answerCharacters: Int

    package init(
        bodyBytes: Int = 64 << 20, depth: Int = 64, elements: Int = 1_000_000, answerCharacters: Int = 4096
    ) {
        self.bodyBytes = bodyBytes
        self.depth = depth
        self.elements = elements
        self.answerCharacters = answerCharacters
    }
}

/// Counts a request's elements against the limit.
struct OTLPElementCount {
    private var left: Int
    private let limit: Int

    var count: Int { limit - left }

    init(limit: Int) {
        left = limit
        self.limit = limit
    }

    mutating func add(_ count: Int = 1) throws(OTLPError) {
        left -= count
        guard left >= 0 else {
            throw OTLPError(
                .tooLarge, "The request has more than \(limit) messages and items of lists. Send less at a time.")
        }
    }
}
