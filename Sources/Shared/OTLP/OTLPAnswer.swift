import FoundationEssentials
import SwiftProtobuf

/// An answer of OTLP/HTTP: status, type and body, in the encoding of the request.
package struct OTLPAnswer: Sendable, Equatable {
    /// Of HTTP. Only 429, 502, 503 and 504 make a sender send the same again; after any other it drops the data.
    package var status: Int
    package var encoding: OTLPEncoding
    package var body: [UInt8]
    /// For the header `Retry-After`, seconds.
    package var retryAfterSeconds: Int?

    package static let retryable: Set<Int> = [429, 502, 503, 504]

    /// 200 to a request whose items are stored, except for those that the tally says were rejected.
    package static func accepted(
        _ signal: OTLPSignal, _ tally: OTLPTally, as encoding: OTLPEncoding, limits: OTLPLimits = OTLPLimits()
    ) -> OTLPAnswer {
        let message = shortened(tally.message(signal), limits)
        switch signal {
        case .logs:
            var response = OTLPLogsResponse()
            if !message.isEmpty {
                response.partialSuccess.rejectedLogRecords = Int64(tally.rejected)
                response.partialSuccess.errorMessage = message
            }
            return OTLPAnswer(status: 200, encoding: encoding, body: bytes(of: response, as: encoding))
        case .metrics:
            var response = OTLPMetricsResponse()
            if !message.isEmpty {
                response.partialSuccess.rejectedDataPoints = Int64(tally.rejected)
                response.partialSuccess.errorMessage = message
            }
            return OTLPAnswer(status: 200, encoding: encoding, body: bytes(of: response, as: encoding))
        }
    }

    /// A refusal of the whole request, as `google.rpc.Status`.
    ///
    /// The status is changed where it would mean the opposite to a sender of OTLP. A refusal that may pass and has
    /// another status than the four becomes 503, or the sender would drop data; one that will not pass and has one of
    /// the four becomes 400.
    /// - Parameters:
    ///   - mayPass: whether the same request can succeed later.
    ///   - encoding: of the request; `nil` if it has none that OTLP knows.
    package static func refused(
        status: Int, mayPass: Bool, message: String, retryAfterSeconds: Int? = nil, as encoding: OTLPEncoding?,
        limits: OTLPLimits = OTLPLimits()
    ) -> OTLPAnswer {
        var status = status
        if mayPass != retryable.contains(status) { status = mayPass ? 503 : 400 }
        var body = OTLPStatus()
        body.code = code(of: status)
        body.message = shortened(message, limits)
        let encoding = encoding ?? .protobuf
        return OTLPAnswer(
            status: status, encoding: encoding, body: bytes(of: body, as: encoding),
            retryAfterSeconds: mayPass ? retryAfterSeconds : nil)
    }

    package static func refused(
        _ error: OTLPError, as encoding: OTLPEncoding, limits: OTLPLimits = OTLPLimits()
    ) -> OTLPAnswer {
        refused(
            status: error.code == .tooLarge ? 413 : 400, mayPass: false, message: error.message, as: encoding,
            limits: limits)
    }

    /// `google.rpc.Code` by the status of HTTP.
    private static func code(of status: Int) -> Int32 {
        switch status {
        case 401: 16  // UNAUTHENTICATED
        case 403: 7  // PERMISSION_DENIED
        case 404, 405, 501: 12  // UNIMPLEMENTED
        case 413, 429: 8  // RESOURCE_EXHAUSTED
        case 502, 503: 14  // UNAVAILABLE
        case 504: 4  // DEADLINE_EXCEEDED
        case 400..<500: 3  // INVALID_ARGUMENT
        default: 13  // INTERNAL
        }
    }

    /// The protocol bounds an answer, and a text may have been made of what a sender sent.
    private static func shortened(_ text: String, _ limits: OTLPLimits) -> String {
        guard text.unicodeScalars.count > limits.answerCharacters else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.prefix(limits.answerCharacters - 1))) + "…"
    }

    private static func bytes(of message: some Message, as encoding: OTLPEncoding) -> [UInt8] {
        do {
            switch encoding {
            case .protobuf: return try message.serializedBytes()
            case .json: return try message.jsonUTF8Bytes()
            }
        } catch {
            // It has numbers and valid texts only, and no field is required.
            preconditionFailure("\(type(of: message)) does not serialize: \(error)")
        }
    }
}
