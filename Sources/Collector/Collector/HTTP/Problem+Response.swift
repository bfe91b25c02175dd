import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import WireModel

/// All refusals of the collector as RFC 9457 problem+json, in one place so each code has one meaning.
extension Problem {
    var body: ByteBuffer {
        // It has only strings and integers, so encoding cannot fail.
        guard let bytes = try? JSONEncoder.stable().encode(self) else {
            return ByteBuffer(string: #"{"title":"error"}"#)
        }
        return ByteBuffer(bytes: bytes)
    }

    var headerFields: HTTPFields {
        var fields: HTTPFields = [.contentType: WireNames.problem, .cacheControl: "no-store"]
        if let retryAfterMs { fields[.retryAfter] = String((retryAfterMs + 999) / 1000) }
        if status == 401 { fields[.wwwAuthenticate] = #"Bearer realm="ws1-collector""# }
        return fields
    }

    var response: Response {
        if let handover = Handover.current {
            handover.put(self)
            return Response(status: .init(code: status))
        }
        return Response(status: .init(code: status), headers: headerFields, body: .init(byteBuffer: body))
    }

    // Faults of the sender.

    static let credentialMissing = Problem(
        status: 401, code: .credentialUnknown, title: "No credential",
        detail: "The request has no `Authorization: Bearer` header. Send the device's credential, or a person's token.",
        scope: .device)

    static let credentialUnknown = Problem(
        status: 401, code: .credentialUnknown, title: "Credential unknown",
        detail: "No device of this collector has this credential. Enroll the device again.", scope: .device)

    static let tokenUnknown = Problem(
        status: 401, code: .credentialUnknown, title: "Token unknown",
        detail: "The token is unknown or revoked. Create one with `ws1collector token create`.", scope: .device)

    static let enrollmentTokenUnknown = Problem(
        status: 401, code: .credentialUnknown, title: "Enrollment token unknown",
        detail: "The enrollment token is unknown. Create one with `ws1collector token create --enrollment`.",
        scope: .device)

    static let credentialExpired = Problem(
        status: 401, code: .credentialExpired, title: "Credential expired",
        detail: "The credential or enrollment token has expired. Enroll again with a current enrollment token.",
        scope: .device)

    static let revoked = Problem(
        status: 403, code: .revoked, title: "Revoked",
        detail: "This device's enrollment was revoked by an administrator.", scope: .device)

    /// The problem of a device that has left, for the device the same as being revoked: it stops until it is enrolled
    /// again.
    static let left = Problem(
        status: 403, code: .revoked, title: "Unenrolled",
        detail: "This device has unenrolled. Enroll it again before it can send.", scope: .device)

    /// - Parameter wait: microseconds.
    static func tooManyFailures(wait: Int64) -> Problem {
        Problem(
            status: 429, code: .tooManyFailedAttempts, title: "Too many failed attempts",
            detail:
                """
                Too many wrong credentials came from this address, and this one is wrong too. Valid credentials still \
                work.
                """,
            retryable: true, scope: .device, retryAfterMs: max(1, Int(wait / 1000)))
    }

    static func forbidden(_ detail: String) -> Problem {
        Problem(status: 403, code: .forbidden, title: "Not allowed", detail: detail, scope: .device)
    }

    // Faults of the request's target.

    static func notFound(_ detail: String) -> Problem {
        Problem(status: 404, code: .notFound, title: "Not found", detail: detail)
    }

    static func methodNotAllowed(_ method: String, allowed: [String]) -> Problem {
        Problem(
            status: 405, code: .methodNotAllowed, title: "Method not allowed",
            detail: "\(method) is not allowed here; use \(allowed.joined(separator: ", ")).")
    }

    static func invalidParameter(_ name: String, _ detail: String) -> Problem {
        Problem(status: 400, code: .invalidParameter, title: "Invalid parameter", detail: "`\(name)` \(detail)")
    }

    // Faults of the body.

    static func malformed(_ detail: String, code: Code = .malformed) -> Problem {
        Problem(status: 400, code: code, title: "Malformed request", detail: detail, scope: .stream)
    }

    static func bodyTooLarge(limit: Int, _ what: String) -> Problem {
        Problem(
            status: 413, code: .bodyTooLarge, title: "Body too large",
            detail: "\(what); at most \(limit) are accepted. Send less at a time.", scope: .stream, limit: limit)
    }

    static func unsupportedMediaType(_ detail: String, code: Code = .unsupportedMediaType) -> Problem {
        Problem(status: 415, code: code, title: "Unsupported media type", detail: detail, scope: .device)
    }

    static func slowBody(_ limits: ConnectionLimits) -> Problem {
        Problem(
            status: 408, code: .bodyTooSlow, title: "Body too slow",
            detail:
                """
                The request did not arrive within \(limits.bodySeconds) s, or after \(limits.bodyGraceSeconds) s at \
                less than \(limits.bodyLeastBytesPerSecond) bytes a second. Send less at a time.
                """,
            retryable: true, scope: .stream, retryAfterMs: 1000, limit: Int(limits.bodySeconds))
    }

    static let unsupportedTransferCoding = Problem(
        status: 501, code: .unsupportedTransferEncoding, title: "Unsupported Transfer-Encoding",
        detail: "Transfer-Encoding must be chunked. Compress with `Content-Encoding: gzip`.", scope: .device)

    // What the collector cannot do now.

    /// - Parameter wait: microseconds.
    static func busy(_ detail: String, wait: Int64 = 1_000_000) -> Problem {
        Problem(
            status: 429, code: .busy, title: "Too many requests", detail: detail, retryable: true,
            retryAfterMs: max(1, Int(wait / 1000)))
    }

    /// - Parameter wait: microseconds.
    static func storeUnavailable(_ detail: String, wait: Int64 = 5_000_000) -> Problem {
        Problem(
            status: 503, code: .storeUnavailable, title: "Store unavailable", detail: detail, retryable: true,
            retryAfterMs: max(1, Int(wait / 1000)))
    }

    static let internalFault = Problem(
        status: 500, code: .internal, title: "Internal error", detail: "The collector failed; its log says why.",
        retryable: true, retryAfterMs: 5000)

    /// Returns the problem for an answer that the HTTP framework made itself.
    static func ofFramework(status: Int) -> Problem {
        switch status {
        case 400:
            Problem(
                status: 400, code: .malformedHTTP, title: "Malformed HTTP",
                detail: "The request is not HTTP/1.1, or its header is too long.")
        case 413: Problem(status: 413, code: .bodyTooLarge, title: "Body too large", scope: .stream)
        case 404: .notFound("There is nothing here.")
        case 500...:
            Problem(status: status, code: .internal, title: "Internal error", retryable: true, retryAfterMs: 5000)
        default: Problem(status: status, code: .refused, title: "Refused")
        }
    }
}
