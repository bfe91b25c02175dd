import FoundationEssentials
import TelemetryBasics

/// An enrollment file: what a new device needs to reach its collector for the first time and to enroll there.
///
/// `ws1collector enrollment-file` writes it; `ws1agent run --enrollment` and the library read it. One JSON object:
///
///     {
///       "certificateAuthorities" : ["<base64>"],
///       "certificatePins" : ["<base64>", "<base64>"],
///       "collector" : "https://collector.example:8420",
///       "expires" : "2026-12-31T12:00:00.000000Z",
///       "token" : "<enrollment token>",
///       "version" : 1
///     }
///
/// The pins are those of the key in use and of a backup key; behind a message broker, the broker's. Without TLS there
/// are none. The authorities are certificates in DER that devices trust beside those of their system; most files have
/// none. Unknown members are ignored; a change that an older reader would misunderstand raises the version. A file that
/// is cut off is no JSON, because an object ends with its brace. The file holds a secret, so its mode is 0600. The
/// schema is `Schemas/enrollment/enrollment-file.schema.json`.
///
/// The enrollment URL holds the same members. It is the collector's address with the rest as a query in the fragment,
/// which no client sends to a server. Each pin is a `pin`, each authority a `ca`; letters that a query cannot hold are
/// percent-encoded. The version is last, so that a URL that is cut off has none:
///
///     https://collector.example:8420#pin=...&pin=...&token=...&expires=2026-12-31T12:00:00.000000Z&version=1
package struct EnrollmentFile: Equatable, Sendable {
    package static let currentVersion = 1
    package static let maximumBytes = 64 * 1024
    /// The most bytes of a token; more does not fit into a request's header.
    package static let maximumTokenBytes = 505
    /// The most certificate authorities.
    package static let maximumAuthorities = 8

    /// `http[s]://HOST[:PORT][/PREFIX]` or `mqtts://BROKER[:PORT]/PREFIX`, as devices reach the collector.
    package var collector: String
    /// SHA-256 of the subject public key info of each key that the collector may show; empty for no pinning.
    package var certificatePins: [Data]
    /// Certificates in DER of authorities that the system of a device does not know; at most eight.
    package var certificateAuthorities: [Data]
    /// The enrollment token.
    package var token: String
    /// When the token expires, by the collector's clock: microseconds since 1970.
    package var expires: Int64

    package init(
        collector: String, certificatePins: [Data], certificateAuthorities: [Data] = [], token: String, expires: Int64
    ) {
        self.collector = collector
        self.certificatePins = certificatePins
        self.certificateAuthorities = certificateAuthorities
        self.token = token
        self.expires = expires
    }

    private struct Form: Codable {
        var version: Int?
        var collector: String?
        var certificatePins: [String]?
        var certificateAuthorities: [String]?
        var token: String?
        var expires: String?
    }

    /// - Throws: `malformed` or `invalidField`. The message continues the file's name: "is cut off ...".
    package init(_ bytes: Data) throws(WireError) {
        guard bytes.count <= Self.maximumBytes else {
            throw WireError(.malformed, "has more than \(Self.maximumBytes) bytes and is no enrollment file")
        }
        let form: Form
        do { form = try JSONDecoder().decode(Form.self, from: bytes) } catch DecodingError.dataCorrupted {
            throw WireError(.malformed, "is no JSON: it is damaged, cut off, or another file")
        } catch {
            throw WireError(.malformed, "is no enrollment file: a member has another type than expected")
        }
        try self.init(form)
    }

    /// - Throws: `malformed` or `invalidField`. The message continues "the enrollment URL", and never shows the token.
    package init(url: String) throws(WireError) {
        guard url.utf8.count <= Self.maximumBytes else {
            throw WireError(.malformed, "has more than \(Self.maximumBytes) bytes")
        }
        let parts = url.split(separator: "#", maxSplits: 1)
        guard parts.count == 2, let members = URLComponents(string: "?" + parts[1])?.queryItems else {
            throw WireError(.malformed, "has nothing to read after a #. Quote it: a shell ends it at the first &")
        }
        func value(_ name: String) -> String? { members.first { $0.name == name }?.value }
        func values(_ name: String) -> [String] { members.filter { $0.name == name }.map { $0.value ?? "" } }
        // What is no number is a version that this program does not know.
        let version = value("version").map { Int($0) ?? .max }
        try self.init(
            Form(
                version: version, collector: String(parts[0]),
                certificatePins: values("pin"), certificateAuthorities: values("ca"),
                token: value("token"), expires: value("expires")))
    }

    private init(_ form: Form) throws(WireError) {
        func member<Value>(_ name: String, _ value: Value?) throws(WireError) -> Value {
            guard let value else {
                throw WireError(.invalidField, "is none that `ws1collector enrollment-file` made: \(name) is missing")
            }
            return value
        }
        let version = try member("version", form.version)
        guard version <= Self.currentVersion else {
            throw WireError(
                .invalidField, "has version \(version), this program reads up to \(Self.currentVersion): update it")
        }
        collector = try member("collector", form.collector)
        token = try member("token", form.token)
        guard Self.isToken(token) else { throw WireError(.invalidField, "has a token that no collector makes") }
        guard let expires = Timestamp.parse(try member("expires", form.expires), []) else {
            throw WireError(.invalidField, "says in expires no time such as 2026-01-31T12:00:00Z")
        }
        self.expires = expires
        certificatePins = try Self.pins(form.certificatePins ?? [])
        certificateAuthorities = try Self.authorities(form.certificateAuthorities ?? [])
    }

    /// - Parameter texts: base64. Whether they are certificates shows when they are used.
    package static func authorities(_ texts: [String]) throws(WireError) -> [Data] {
        guard texts.count <= maximumAuthorities else {
            throw WireError(
                .invalidField, "has \(texts.count) certificateAuthorities; at most \(maximumAuthorities) are used")
        }
        var authorities: [Data] = []
        for (place, text) in texts.enumerated() {
            guard let authority = Data(base64Encoded: text), !authority.isEmpty else {
                throw WireError(.invalidField, "has in certificateAuthorities[\(place)] no base64 of a certificate")
            }
            authorities.append(authority)
        }
        return authorities
    }

    /// Whether a request's header can hold the text as a token. A zero byte, as in a file of UTF-16, cannot be sent.
    package static func isToken(_ text: String) -> Bool {
        (1...maximumTokenBytes).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// - Parameter texts: base64.
    package static func pins(_ texts: [String]) throws(WireError) -> [Data] {
        guard texts.count <= ProfileLimits.pins else {
            throw WireError(.invalidField, "has \(texts.count) certificatePins; at most \(ProfileLimits.pins) are used")
        }
        var pins: [Data] = []
        for (place, text) in texts.enumerated() {
            guard let pin = Data(base64Encoded: text), pin.count == ProfileLimits.digestBytes else {
                throw WireError(
                    .invalidField, "has in certificatePins[\(place)] not the 32 bytes of a SHA-256 in base64")
            }
            pins.append(pin)
        }
        return pins
    }

    /// The file's content, which ends with a newline.
    package var text: String {
        get throws {
            let form = Form(
                version: Self.currentVersion, collector: collector,
                certificatePins: certificatePins.isEmpty ? nil : pinTexts,
                certificateAuthorities: certificateAuthorities.isEmpty ? nil : authorityTexts, token: token,
                expires: Timestamp.text(expires))
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(form), as: UTF8.self) + "\n"
        }
    }

    /// The same as an enrollment URL.
    package var url: String {
        var members = URLComponents()
        members.queryItems =
            pinTexts.map { URLQueryItem(name: "pin", value: $0) }
            + authorityTexts.map { URLQueryItem(name: "ca", value: $0) } + [
                URLQueryItem(name: "token", value: token),
                URLQueryItem(name: "expires", value: Timestamp.text(expires)),
                URLQueryItem(name: "version", value: "\(Self.currentVersion)"),
            ]
        return collector + "#" + (members.percentEncodedQuery ?? "")
    }

    private var authorityTexts: [String] { certificateAuthorities.map { $0.base64EncodedString() } }

    private var pinTexts: [String] { certificatePins.map { $0.base64EncodedString() } }
}
