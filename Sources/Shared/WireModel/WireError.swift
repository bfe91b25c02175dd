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
