import ControlSocket
import FoundationEssentials
import LogStore
import Transmitter
import WireModel

/// What a command failed at, for people, and the exit code for scripts.
struct LogCommandError: Error, Sendable, CustomStringConvertible {
    enum Code: Sendable {
        case usage, tryAgain, failed
        /// Nobody reads the output any more, as with `ws1log show | head`: no failure.
        case readerGone
    }

    let code: Code
    /// What failed, on what, and what to do.
    let message: String
    let cause: (any Error)?
    /// When the other side asks to be asked again, where it said so before it did anything.
    let retryAfter: Duration?

    init(_ code: Code, _ message: String, cause: (any Error)? = nil, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
        self.retryAfter = retryAfter
    }

    /// Sorts the store's errors by whether trying again can help.
    init(_ error: LogStoreError) {
        let code: Code =
            switch error.code {
            case .invalid: .usage
            case .busy, .diskFull, .networkNotAllowed: .tryAgain
            default: .failed
            }
        self.init(code, error.message, cause: error)
    }

    /// What asking a running agent failed at.
    init(_ error: ControlError) {
        let code: Code =
            switch error.code {
            case .usage: .usage
            case .tryAgain: .tryAgain
            case .failed: .failed
            }
        self.init(code, error.message, cause: error)
    }

    /// As sysexits.h has them.
    var exitCode: Int32 {
        switch code {
        case .readerGone: 0
        case .failed: 1
        case .usage: 64
        case .tryAgain: 75
        }
    }

    var description: String { message }
}

extension LogCommandError {
    /// Why an answer is not what was asked for; `nil` where it is. Total: an unknown answer is never success.
    /// - Parameter peer: the collector as it was named.
    static func refusal(_ response: TransportResponse, from peer: String) -> LogCommandError? {
        let status = response.status
        guard let version = response.headers[WireNames.versionHeader.lowercased()], response.source != nil else {
            if status == 429 || status == 503 {
                return LogCommandError(.tryAgain, "\(peer): a proxy answered HTTP \(status). \(again(response))")
            }
            return LogCommandError(
                .tryAgain,
                "\(peer) is answered by something that is no collector (HTTP \(status)"
                    + (response.headers["location"].map { ", it points to \(shown($0))" } ?? "")
                    + "): a captive portal, a proxy or another server. Check --collector and --proxy, and the network")
        }
        guard Int(version.prefix { $0 != "." }) == WireNames.majorVersion else {
            return LogCommandError(
                .failed,
                "\(peer) speaks version \(shown(version)), this program \(WireNames.majorVersion): use a ws1log of the collector's version"
            )
        }
        if (200...204).contains(status) { return nil }
        let problem = response.problem
        let said =
            problem.map { "HTTP \(status) \(shown($0.code)): \(shown($0.detail ?? $0.title))" } ?? "HTTP \(status)"
        switch status {
        case 401:
            return LogCommandError(
                .failed,
                "\(peer) does not know the access token (\(said)). Check --token-file; `ws1collector token` makes tokens"
            )
        case 403:
            return LogCommandError(
                .failed, "\(peer) does not allow this with your access token (\(said)). Ask an administrator")
        case 408, 429, 500...599:
            return LogCommandError(
                .tryAgain, "\(peer) cannot answer now: \(said). \(again(response))",
                retryAfter: status == 429 || status == 503 ? wait(response) : nil)
        default: return LogCommandError(.failed, "\(peer) refused: \(said)")
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
        let code: Code =
            switch error.code {
            case .nameResolution, .connectionRefused, .connectionClosed, .timedOut, .other, .cancelled: .tryAgain
            case .tls, .pinMismatch, .clientCertificate, .responseTooLarge: .failed
            }
        self.init(code, "\(peer) gave no whole answer: \(error.message)", cause: error)
    }

    /// Text of the other side as a terminal may have it: bounded, nothing that steers it.
    static func shown(_ text: String) -> String {
        String(
            String.UnicodeScalarView(text.unicodeScalars.prefix(500).map { $0.isHidden ? " " : $0 }))
    }
}
