import CollectorAPI
import Console
import Crypto
import Foundation
import Hummingbird

/// The result of a form, for the page that the browser loads next. That page says it once and removes the cookie.
///
/// The value is an authentication code under the session's secret and the text. So nobody can write one for another's
/// session, as a link with the text could.
struct NoteCookie {
    private static let name = "ws1_note"
    /// Encoded, each byte of the text may need three.
    private static let textBytes = 1000
    private static let valueBytes = 64 + 1 + 3 * textBytes
    /// A page that is not loaded within a minute says nothing.
    private static let seconds: Int64 = 60

    let session: SessionCookie

    /// The text of a request; `nil` if it has none, or not of this session.
    func text(of request: Request) -> String? {
        guard let value = SessionCookie.value(of: Self.name, in: request, maximumBytes: Self.valueBytes),
            let dot = value.firstIndex(of: "."),
            let text = String(value[value.index(after: dot)...]).removingPercentEncoding,
            code(text) == value[..<dot]
        else { return nil }
        return text
    }

    /// The field that sets it.
    /// - Parameter text: `nil` removes it.
    func field(_ text: String?, for request: Request, isSecure: Bool) -> String {
        let text = text.map { String($0.prefix(Self.textBytes / 4)) }
        return SessionCookie.field(
            Self.name, text.map { "\(code($0)).\($0.percentEncoded)" } ?? "", for: request,
            maximumAge: text == nil ? 0 : Self.seconds, isSecure: isSecure)
    }

    private func code(_ text: String) -> String {
        // A key of its own, so that no code of a message is one of a form token.
        let key = SymmetricKey(data: Data(HMAC<SHA256>.authenticationCode(for: Data("note".utf8), using: session.key)))
        return HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key).map {
            ($0 < 16 ? "0" : "") + String($0, radix: 16)
        }.joined()
    }
}
