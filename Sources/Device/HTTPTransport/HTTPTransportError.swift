/// Why a transport could not be made from what was configured. What goes wrong in an exchange is a `TransportError`.
package struct HTTPTransportError: Error, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        case invalidCollectorURL = "invalid-collector-url"
        case invalidProxyURL = "invalid-proxy-url"
        case certificateAuthorities = "certificate-authorities"
        /// Plain HTTP beyond this machine that nobody has asked for.
        case plaintext
    }

    package let code: Code
    /// What was given, what is wrong with it, and what is expected.
    package let message: String
    package let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    package var description: String { "\(code.rawValue): \(message)" }
}
