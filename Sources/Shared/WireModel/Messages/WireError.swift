import FoundationEssentials
import SwiftProtobuf
import TelemetryBasics

/// A message from the other side does not conform to telemetry.proto.
package struct WireError: CodedError, Equatable {
    package enum Code: String, Sendable {
        /// The bytes are not Protobuf, or not this message.
        case malformed
        /// A field has an impossible value: an id without 16 bytes, an unknown stream.
        case invalidField = "invalid-field"
    }

    package let code: Code
    /// The text: what and where it is, and which value was expected. Never personal data.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension Message {
    /// Decodes a record's body. Anybody may have chosen its texts.
    /// - Throws: `.malformed`, also for a run of more than ``CombiningCharacters/limit`` combining characters.
    package static func decodeBody(_ bytes: Data) throws(WireError) -> Self {
        guard !bytes.withUnsafeBytes({ CombiningCharacters.areTooMany(in: $0) }) else {
            throw WireError(
                .malformed,
                "a \(Self.protoMessageName) of \(bytes.count) bytes has more than \(CombiningCharacters.limit) "
                    + "combining characters in a row")
        }
        return try decode(bytes)
    }

    /// Decodes with a typed error. Recursion is bounded, and memory is bounded by the size of the input.
    package static func decode(_ bytes: Data) throws(WireError) -> Self {
        var options = BinaryDecodingOptions()
        options.messageDepthLimit = 16
        do { return try Self(serializedBytes: bytes, options: options) } catch {
            throw WireError(.malformed, "\(bytes.count) bytes are not a \(Self.protoMessageName): \(error)")
        }
    }

    /// The message's bytes. Serializing our own message cannot fail: proto3 has no required fields, and strings are
    /// valid UTF-8.
    package var encoded: Data {
        do { return try serializedBytes() } catch {
            preconditionFailure("\(Self.protoMessageName) does not serialize: \(error)")
        }
    }
}
