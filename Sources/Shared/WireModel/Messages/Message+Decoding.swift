import FoundationEssentials
import SwiftProtobuf

extension Message {
    /// Decodes with our typed error. Depth, memory and time are bounded by the number of bytes.
    /// - Throws: `.malformed`, also for more than ``CombiningCharacters/limit`` combining characters in a row.
    package static func decode(_ bytes: Data) throws(WireError) -> Self {
        guard !bytes.withUnsafeBytes({ CombiningCharacters.areTooMany(in: $0) }) else {
            throw WireError(
                .malformed,
                "a \(Self.protoMessageName) of \(bytes.count) bytes has more than \(CombiningCharacters.limit) combining "
                    + "characters in a row")
        }
        var options = BinaryDecodingOptions()
        options.messageDepthLimit = 16
        do { return try Self(serializedBytes: bytes, options: options) } catch {
            throw WireError(.malformed, "\(bytes.count) bytes are not a \(Self.protoMessageName): \(error)")
        }
    }

    /// The message's bytes. Serialization of a message we made cannot fail: proto3 has no required fields and strings are valid UTF-8.
    package var encoded: Data {
        do { return try serializedBytes() } catch { preconditionFailure("\(Self.protoMessageName) does not serialize: \(error)") }
    }
}
