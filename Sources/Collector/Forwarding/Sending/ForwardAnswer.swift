import FoundationEssentials
import HTTPConnection
import OTLP
import SwiftProtobuf
import WireModel

/// What a receiver's answer means for the request.
package enum ForwardAnswer: Equatable, Sendable {
    /// It has the request, but for so many log records or data points that it will never take.
    case accepted(rejected: Int, message: String)
    /// It may take the same request later.
    case later(String, retryAfter: Duration?)
    /// It would take less at a time.
    case tooLarge(String)
    /// It will never take this request.
    case refused(String)
    /// It takes nothing, because of an address or a credential. A person has to mend that, and no record is to blame.
    case misconfigured(String)
}

extension ForwardAnswer {
    /// Longer texts of a receiver are cut.
    private static let messageCharacters = 300

    /// The rules of OTLP/HTTP: the same request is sent again after 429, 502, 503 and 504 alone.
    ///
    /// Two things are decided otherwise than a plain client does. After 413 the records are sent again in smaller
    /// requests, which are others. And 401, 403, 404, 405, 407 and redirects say nothing of the records: after these
    /// they wait, because to drop all records until somebody has renewed a token would lose them.
    /// - Parameters:
    ///   - secrets: texts that must not be in messages, even if the receiver repeats them.
    ///   - now: microseconds since 1970, for a `Retry-After` with a date.
    package init(_ response: TransportResponse, to signal: OTLPSignal, hiding secrets: [String], at now: Int64) {
        let said = Self.message(response, hiding: secrets)
        let words = "status \(response.status)" + (said.isEmpty ? "" : ": \(said)")
        switch response.status {
        case 200..<300:
            let (rejected, message) = Self.partialSuccess(response, signal)
            self = .accepted(rejected: rejected, message: Self.shown(message, hiding: secrets))
        case 429, 502, 503, 504: self = .later(words, retryAfter: Self.retryAfter(response, at: now))
        case 413: self = .tooLarge(words)
        case 300..<400: self = .misconfigured("\(words); redirects are not followed, so give the final address")
        case 401, 403, 407: self = .misconfigured("\(words); check the headers that are sent, such as the token")
        case 404, 405: self = .misconfigured("\(words); check the address, /v1/\(signal.rawValue) is added to it")
        default: self = .refused(words)
        }
    }

    private static func partialSuccess(_ response: TransportResponse, _ signal: OTLPSignal) -> (Int, String) {
        // An answer that cannot be read is a success all the same: its status says so.
        switch signal {
        case .logs:
            guard let answer = try? OTLPLogsResponse(serializedBytes: response.body) else { return (0, "") }
            return (max(0, Int(clamping: answer.partialSuccess.rejectedLogRecords)), answer.partialSuccess.errorMessage)
        case .metrics:
            guard let answer = try? OTLPMetricsResponse(serializedBytes: response.body) else { return (0, "") }
            return (max(0, Int(clamping: answer.partialSuccess.rejectedDataPoints)), answer.partialSuccess.errorMessage)
        }
    }

    private static func message(_ response: TransportResponse, hiding secrets: [String]) -> String {
        guard response.headers["content-type"].flatMap({ OTLPEncoding(contentType: $0) }) == .protobuf,
            let status = try? OTLPStatus(serializedBytes: response.body)
        else { return "" }
        return shown(status.message, hiding: secrets)
    }

    /// A receiver's text for people: of one line, cut, without secrets.
    private static func shown(_ text: String, hiding secrets: [String]) -> String {
        var text = text
        for secret in secrets where !secret.isEmpty { text = text.replacing(secret, with: "***") }
        let line = text.unicodeScalars.prefix(messageCharacters).map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }
        return String(String.UnicodeScalarView(line))
    }

    /// Seconds, or a date.
    private static func retryAfter(_ response: TransportResponse, at now: Int64) -> Duration? {
        if let seconds = response.retryAfter { return seconds }
        guard let date = response.headers["retry-after"].flatMap({ TransportResponse.time(ofHeader: $0) }) else {
            return nil
        }
        return .microseconds(max(0, min(date - now, 86_400_000_000)))
    }
}
