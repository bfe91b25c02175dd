import FoundationEssentials
import SwiftProtobuf

/// A message from the other side that is not what telemetry.proto says.
package struct WireError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// Not protobuf, or not this message.
        case malformed
        /// A field whose value cannot be: an id that is not 16 bytes, an unknown stream.
        case invalidField = "invalid-field"
    }

    package let code: Code
    /// What, where, and which value was expected; never data of a person.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "\(code.rawValue): \(message)" }
}

extension Message {
    /// Decodes the body of a record, whose texts anybody may have chosen.
    /// - Throws: `.malformed`, also for more than ``CombiningCharacters/limit`` combining characters in a row.
    package static func decodeBody(_ bytes: Data) throws(WireError) -> Self {
        guard !bytes.withUnsafeBytes({ CombiningCharacters.areTooMany(in: $0) }) else {
            throw WireError(
                .malformed,
                "a \(Self.protoMessageName) of \(bytes.count) bytes has more than \(CombiningCharacters.limit) "
                    + "combining characters in a row")
        }
        return try decode(bytes)
    }

    /// Decodes with our typed error. Recursion is bounded; memory is bounded by the bytes given.
    package static func decode(_ bytes: Data) throws(WireError) -> Self {
        var options = BinaryDecodingOptions()
        options.messageDepthLimit = 16
        do { return try Self(serializedBytes: bytes, options: options) } catch {
            throw WireError(.malformed, "\(bytes.count) bytes are not a \(Self.protoMessageName): \(error)")
        }
    }

    /// The message's bytes. Serialization of a message we made cannot fail: proto3 has no required fields and strings
    /// are valid UTF-8.
    package var encoded: Data {
        do { return try serializedBytes() } catch {
            preconditionFailure("\(Self.protoMessageName) does not serialize: \(error)")
        }
    }
}
