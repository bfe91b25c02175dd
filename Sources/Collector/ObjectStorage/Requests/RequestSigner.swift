import Crypto
import FoundationEssentials
import TelemetryBasics
import WireModel

/// Signs requests with AWS Signature Version 4, in the Authorization header.
///
/// ```
/// canonical request   method, path, query, headers, names of the headers, digest of the payload
/// string to sign      algorithm, time, scope (day/region/service/aws4_request), digest of the canonical request
/// signing key         HMAC over day, region, service and "aws4_request", beginning with the secret
/// signature           HMAC of the string to sign with the signing key
/// ```
///
/// All headers of the message are signed. The server computes the same from what arrives, so whatever is changed on the
/// way is refused.
/// Source: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
struct RequestSigner: Sendable {
    /// A request as it is sent.
    struct Message: Sendable {
        var method: String
        /// Percent-encoded, from the root.
        var path: String
        /// The value, not encoded.
        var query: [(name: String, value: String)] = []
        /// The headers, with `host`.
        var headers: [(name: String, value: String)]
        /// SHA-256 of the body in hexadecimal.
        var payloadDigest: String
    }

    let region: String
    var service = "s3"

    private static let algorithm = "AWS4-HMAC-SHA256"

    /// Adds the headers `x-amz-date`, `x-amz-security-token` where there is one, and `authorization`.
    /// - Parameter microseconds: since 1970. Servers refuse a time that differs from theirs by more than 15 minutes.
    func sign(_ message: inout Message, with credentials: ObjectStorageCredentials, at microseconds: Int64) {
        let time = Self.time(microseconds)
        message.headers.append(("x-amz-date", time))
        if let token = credentials.sessionToken { message.headers.append(("x-amz-security-token", token)) }
        let (canonical, names) = Self.canonical(message)
        let scope = "\(time.prefix(8))/\(region)/\(service)/aws4_request"
        let digest = Data(SHA256.hash(data: Data(canonical.utf8))).hexadecimal
        let text = "\(Self.algorithm)\n\(time)\n\(scope)\n\(digest)"
        let signature = Self.code(text, key(day: String(time.prefix(8)), secret: credentials.secretAccessKey))
        message.headers.append(
            (
                "authorization",
                """
                \(Self.algorithm) Credential=\(credentials.accessKeyID)/\(scope),SignedHeaders=\(names),\
                Signature=\(signature.hexadecimal)
                """
            ))
    }

    /// - Parameter day: `20150830`.
    func key(day: String, secret: String) -> Data {
        var key = Data("AWS4\(secret)".utf8)
        for part in [day, region, service, "aws4_request"] { key = Self.code(part, key) }
        return key
    }

    /// `20150830T123600Z`.
    static func time(_ microseconds: Int64) -> String {
        Timestamp.text(microseconds).prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
    }

    /// - Returns: the canonical request, and the names of its headers.
    static func canonical(_ message: Message) -> (request: String, names: String) {
        let headers = Dictionary(grouping: message.headers) { $0.name.lowercased() }
            .mapValues { $0.map { collapsed($0.value) }.joined(separator: ",") }
            .sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        let names = headers.map(\.key).joined(separator: ";")
        let lines = headers.map { "\($0.key):\($0.value)\n" }.joined()
        let request =
            "\(message.method)\n\(message.path)\n\(query(message.query))\n\(lines)\n\(names)\n\(message.payloadDigest)"
        return (request, names)
    }

    /// Encoded and sorted: the same in the URL and in the signature.
    static func query(_ items: [(name: String, value: String)]) -> String {
        items.map { (encoded($0.name), encoded($0.value)) }
            .sorted {
                $0.0 == $1.0
                    ? $0.1.utf8.lexicographicallyPrecedes($1.1.utf8) : $0.0.utf8.lexicographicallyPrecedes($1.0.utf8)
            }
            .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    /// Every byte but letters, digits, `-`, `.`, `_` and `~` as `%2F`.
    static func encoded(_ text: String, keepingSlashes: Bool = false) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            case UInt8(ascii: "/") where keepingSlashes: bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The text without blanks at the ends, and with one where there are several.
    private static func collapsed(_ value: String) -> String {
        value.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
    }

    private static func code(_ text: String, _ key: Data) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: SymmetricKey(data: key)))
    }
}
