import Crypto
import FoundationEssentials

/// A token or credential: random bytes in base64url after a word for its kind. Only its hash is stored, and it is
/// looked up by that. A token has 32 random bytes; `DeviceCredential` describes the contents of a device's credential.
package struct Secret: Sendable {
    package enum Kind: String {
        case device = "ws1d"
        case enrollment = "ws1e"
        case person = "ws1p"
        /// Of programs that send OTLP.
        case otlp = "ws1o"
        /// A person's session in the console.
        case session = "ws1s"
        /// Begins one session.
        case signInCode = "ws1c"
    }

    package let text: String
    package var hash: Data { Self.hash(of: text) }

    /// 32 bytes from the system's generator.
    static func randomBytes() -> Data {
        var generator = SystemRandomNumberGenerator()
        return Data((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    init(_ kind: Kind) { self.init(kind, bytes: Self.randomBytes()) }

    /// - Parameter bytes: with enough random bytes that nobody can guess the text.
    init(_ kind: Kind, bytes: Data) {
        let encoded = bytes.base64EncodedString().compactMap { character -> Character? in
            switch character {
            case "+": "-"
            case "/": "_"
            case "=": nil
            default: character
            }
        }
        text = "\(kind.rawValue)_\(String(encoded))"
    }

    /// The bytes after the word in a text of this kind; `nil` for another text.
    package static func bytes(of text: String, _ kind: Kind) -> Data? {
        let prefix = "\(kind.rawValue)_"
        guard text.hasPrefix(prefix), text.utf8.count <= 1024 else { return nil }
        var base64 = ""
        for character in text.dropFirst(prefix.count) {
            switch character {
            case "-": base64.append("+")
            case "_": base64.append("/")
            case "+", "/", "=": return nil
            default: base64.append(character)
            }
        }
        while base64.utf8.count % 4 != 0 { base64.append("=") }
        return Data(base64Encoded: base64)
    }

    /// SHA-256 of the whole text. With 256 random bits, neither salt nor stretching adds anything.
    package static func hash(of text: String) -> Data {
        Data(SHA256.hash(data: Data(text.utf8)))
    }

    /// Compares in a time that depends only on the lengths.
    static func areEqual(_ left: Data, _ right: Data) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
