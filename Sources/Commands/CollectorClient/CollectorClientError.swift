import TelemetryBasics
import WireModel

/// Why a collector did not do what it was asked.
package struct CollectorClientError: CodedError {
    package let code: FailureCode
    /// The text for people: what failed, at which collector, and what to do.
    package let message: String
    package let cause: (any Error)?
    /// When the collector asks to be asked again, where it said so before it did anything.
    let retryAfter: Duration?
    /// The HTTP status of an answer that did not come from a collector, but from a proxy or another server.
    let foreignStatus: Int?
    /// The code of the collector's problem, such as `not-found`, where it refused what was asked.
    package let problemCode: String?

    init(
        _ code: FailureCode, _ message: String, cause: (any Error)? = nil, retryAfter: Duration? = nil,
        foreignStatus: Int? = nil, problemCode: String? = nil
    ) {
        self.code = code
        self.message = message
        self.cause = cause
        self.retryAfter = retryAfter
        self.foreignStatus = foreignStatus
        self.problemCode = problemCode
    }
}

extension CollectorClientError {
    /// Why an answer is not what was asked for; `nil` where it is. Total: an unknown answer is never success.
    /// - Parameter peer: the collector as it was named.
    static func refusal(_ response: TransportResponse, from peer: String) -> CollectorClientError? {
        let status = response.status
        guard let version = response.headers[WireNames.versionHeader.lowercased()], response.source != nil else {
            if [429, 502, 503, 504].contains(status) {
                return CollectorClientError(
                    .tryAgain, "\(peer): a proxy answered HTTP \(status). \(again(response))", foreignStatus: status)
            }
            return CollectorClientError(
                .tryAgain,
                "\(peer) is answered by something that is no collector (HTTP \(status)"
                    + (response.headers["location"].map { ", it points to \($0.fromPeer)" } ?? "")
                    + "): a captive portal, a proxy or another server. Check --collector and --proxy, and the network",
                foreignStatus: status)
        }
        guard Int(version.prefix { $0 != "." }) == WireNames.majorVersion else {
            return CollectorClientError(
                .failed,
                """
                \(peer) speaks version \(version.fromPeer), this program \(WireNames.majorVersion): use programs of \
                the collector's version
                """
            )
        }
        if (200...204).contains(status) { return nil }
        let problem = response.problem
        let said =
            problem.map { "HTTP \(status) \($0.code.fromPeer): \(($0.detail ?? $0.title).fromPeer)" }
            ?? "HTTP \(status)"
        switch status {
        case 401:
            return CollectorClientError(
                .failed,
                """
                \(peer) does not know the access token (\(said)). Check --token-file; `ws1collector token` makes tokens
                """
            )
        case 403:
            return CollectorClientError(
                .failed, "\(peer) does not allow this with your access token (\(said)). Ask an administrator")
        case 408, 429, 500...599:
            return CollectorClientError(
                .tryAgain, "\(peer) cannot answer now: \(said). \(again(response))",
                retryAfter: status == 429 || status == 503 ? wait(response) : nil)
        default: return CollectorClientError(.failed, "\(peer) refused: \(said)", problemCode: problem?.code)
        }
    }

    private static func wait(_ response: TransportResponse) -> Duration? {
        response.problem?.retryAfterMs.map { Duration.milliseconds($0) } ?? response.retryAfter
    }

    private static func again(_ response: TransportResponse) -> String {
        wait(response).map { "Try again in \(max(1, $0.components.seconds)) s" } ?? "Try again later"
    }

    /// Why there was no answer.
    /// - Parameter peer: the collector as it was named.
    init(_ error: TransportError, peer: String) {
        let code: FailureCode =
            switch error.code {
            case .nameResolution, .connectionRefused, .connectionClosed, .timedOut, .proxy, .other, .cancelled:
                .tryAgain
            case .tls, .pinMismatch, .clientCertificate, .responseTooLarge: .failed
            }
        self.init(code, "\(peer) gave no whole answer: \(error.message)", cause: error)
    }
}

extension String {
    /// Text of the other side as a terminal may have it: bounded, nothing that steers it.
    package var fromPeer: String {
        String(UnicodeScalarView(unicodeScalars.prefix(500).map { $0.isHidden ? " " : $0 }))
    }
}
