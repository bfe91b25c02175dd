import Crypto
import FoundationEssentials

/// A token or credential: 32 random bytes in base64url behind a word that says what it is. Only its hash is kept; it is looked up by that.
struct Secret: Sendable {
    enum Kind: String {
        case device = "ws1d"
        case enrollment = "ws1e"
        case person = "ws1p"
    }

    let text: String
    var hash: Data { Self.hash(of: text) }

    /// 32 bytes from the system's generator.
    static func randomBytes() -> Data {
        var generator = SystemRandomNumberGenerator()
        return Data((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    init(_ kind: Kind) {
        let encoded = Self.randomBytes().base64EncodedString().compactMap { character -> Character? in
            switch character {
            case "+": "-"
            case "/": "_"
            case "=": nil
            default: character
            }
        }
        text = "\(kind.rawValue)_\(String(encoded))"
    }

    /// SHA-256 of the whole text: with 256 random bits in it neither salt nor stretching adds anything.
    static func hash(of text: String) -> Data {
        Data(SHA256.hash(data: Data(text.utf8)))
    }

    /// Compares in a time that depends on the lengths alone.
    static func areEqual(_ left: Data, _ right: Data) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
