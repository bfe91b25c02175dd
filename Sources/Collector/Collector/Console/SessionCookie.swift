import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import WireModel

/// The cookie of a session, and the form tokens that belong to it.
struct SessionCookie {
    private static let nonceBytes = 16

    let secret: String

    init(secret: String) { self.secret = secret }

    /// The cookie of a request; `nil` if it has none.
    init?(of request: Request) {
        guard let secret = Self.value(of: Self.name, in: request, maximumBytes: 128) else { return nil }
        self.secret = secret
    }

    /// The value of a cookie; `nil` if the request has none, or a longer one.
    static func value(of cookie: String, in request: Request, maximumBytes: Int) -> String? {
        let name = name(cookie, for: request)
        for field in request.headers[values: .cookie] {
            for pair in field.split(separator: ";") {
                let parts = pair.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, parts[0].trimmingCharacters(in: .whitespaces) == name,
                    parts[1].utf8.count <= maximumBytes
                else { continue }
                return parts[1].trimmingCharacters(in: .whitespaces)
            }
        }
        return nil
    }

    private static let name = "ws1_session"

    /// The field that sets it.
    func field(for request: Request, maximumAge: Int64, isSecure: Bool) -> String {
        Self.field(Self.name, secret, for: request, maximumAge: maximumAge, isSecure: isSecure)
    }

    /// The field that sets a cookie. Scripts cannot read it, and other sites' pages send it only when they link here.
    static func field(
        _ cookie: String, _ value: String, for request: Request, maximumAge: Int64, isSecure: Bool
    ) -> String {
        let base = request.consoleBase
        return "\(name(cookie, for: request))=\(value); Path=\(base.isEmpty ? "/" : base); Max-Age=\(maximumAge)"
            + "; HttpOnly; SameSite=Lax" + (isSecure ? "; Secure" : "")
    }

    /// It has the port that the browser sees. Browsers send a cookie to all ports of a host, so consoles on several
    /// ports would otherwise replace each other's session.
    private static func name(_ name: String, for request: Request) -> String {
        guard let authority = request.consoleAuthority, let colon = authority.lastIndex(of: ":"),
            let port = UInt16(authority[authority.index(after: colon)...])
        else { return name }
        return "\(name)_\(port)"
    }

    // MARK: Form tokens

    /// A token for the forms of one page: a nonce, and its authentication code under the session's secret. Each page
    /// has another, so that the length of compressed pages reveals nothing about it (BREACH).
    func newFormToken() -> String {
        var generator = SystemRandomNumberGenerator()
        let nonce = Data((0..<Self.nonceBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
        return (nonce + Data(HMAC<SHA256>.authenticationCode(for: nonce, using: key))).base64EncodedString()
    }

    func accepts(formToken: String) -> Bool {
        guard let bytes = Data(base64Encoded: formToken), bytes.count == Self.nonceBytes + SHA256.byteCount else {
            return false
        }
        return HMAC<SHA256>.isValidAuthenticationCode(
            bytes.dropFirst(Self.nonceBytes), authenticating: bytes.prefix(Self.nonceBytes), using: key)
    }

    var key: SymmetricKey { SymmetricKey(data: Data(secret.utf8)) }
}

/// The console's address as a browser sees it. A proxy in front reports it in header fields. Whoever sends such fields
/// without a proxy changes only links in their own answer.
extension Request {
    /// The prefix under which a proxy serves the console (`X-Forwarded-Prefix`), such as `/telemetry`; empty without.
    var consoleBase: String {
        guard let field = headers[.xForwardedPrefix], field.utf8.count <= 256 else { return "" }
        let segments = field.split(separator: "/", omittingEmptySubsequences: true)
        let isPlain = segments.allSatisfy { segment in
            segment != "." && segment != ".."
                && segment.utf8.allSatisfy {
                    ($0 | 0x20 >= UInt8(ascii: "a") && $0 | 0x20 <= UInt8(ascii: "z"))
                        || ($0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9")) || "-._~".utf8.contains($0)
                }
        }
        return isPlain ? segments.map { "/\($0)" }.joined() : ""
    }

    var isForwardedFromTLS: Bool { headers[.xForwardedProto]?.lowercased() == "https" }

    func consoleOrigin(servesTLS: Bool) -> String {
        "\(servesTLS || isForwardedFromTLS ? "https" : "http")://\(consoleAuthority ?? "localhost")"
    }

    /// The host, and its port if the browser names one; `nil` if nothing is said about it.
    fileprivate var consoleAuthority: String? { headers[.xForwardedHost] ?? head.authority }
}

extension HTTPField.Name {
    fileprivate static let xForwardedPrefix = known("X-Forwarded-Prefix")
    fileprivate static let xForwardedProto = known("X-Forwarded-Proto")
    fileprivate static let xForwardedHost = known("X-Forwarded-Host")
    static let secFetchSite = known("Sec-Fetch-Site")
    static let secFetchDest = known("Sec-Fetch-Dest")
    static let contentSecurityPolicy = known("Content-Security-Policy")
    static let referrerPolicy = known("Referrer-Policy")
    static let crossOriginOpenerPolicy = known("Cross-Origin-Opener-Policy")
    static let crossOriginResourcePolicy = known("Cross-Origin-Resource-Policy")
}
