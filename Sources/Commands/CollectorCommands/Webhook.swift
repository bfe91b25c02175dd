import Foundation
import WireModel

/// Where notices are posted to, one JSON object each (`NoticeView.json`).
struct Webhook: Equatable, Sendable {
    /// May hold a secret, so it is never logged.
    let url: URL

    /// - Returns: `nil` for what is no http or https URL with a host.
    init?(_ text: String) {
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased() ?? ""), url.host?.isEmpty == false else {
            return nil
        }
        self.url = url
    }

    /// Whether nobody on the way can read what is posted.
    var isConfidential: Bool { url.scheme?.lowercased() == "https" || LoopbackHost.contains(host) }

    /// What may be shown of it.
    var host: String { url.host ?? "" }
}
