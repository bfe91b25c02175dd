import HTTPTypes
import Hummingbird
import NIOCore
import OTLP
import TelemetryBasics
import WireModel

/// What an answer to a request of OTLP/HTTP depends on: the request's encoding. Every layer of the server asks this
/// before it refuses a request, because a sender of OTLP reads no problem+json and decides by the status alone whether
/// it drops its data.
struct OTLPExchange: Sendable {
    /// Every path below is OTLP's: also a path that this collector does not serve, such as that of traces.
    static let root = "/v1/"

    /// `nil` if the request has a type that OTLP does not have, or none.
    let encoding: OTLPEncoding?

    /// - Returns: `nil` unless the request's path is one of OTLP's.
    init?(_ head: HTTPRequest) {
        guard let path = head.path, path.utf8.starts(with: Self.root.utf8) else { return nil }
        encoding = head.headerFields[.contentType].flatMap { OTLPEncoding(contentType: $0) }
    }

    /// The refusal that says to a sender of OTLP what the problem says to a device.
    func refusal(_ problem: Problem) -> OTLPAnswer {
        var message = problem.detail ?? problem.title
        if problem.status == 404 {
            message += " It takes OTLP at \(OTLPSignal.allCases.map(\.path).joined(separator: " and "))."
        }
        return OTLPAnswer.refused(
            status: problem.status, mayPass: problem.retryable, message: message,
            retryAfterSeconds: problem.retryAfterMs.map { ($0 + 999) / 1000 }, as: encoding)
    }

    func answer(to problem: Problem) -> Response { refusal(problem).response }
}

extension OTLPAnswer {
    var headerFields: HTTPFields {
        var fields: HTTPFields = [.contentType: encoding.contentType, .cacheControl: "no-store"]
        if let retryAfterSeconds { fields[.retryAfter] = String(retryAfterSeconds) }
        if status == 401 { fields[.wwwAuthenticate] = #"Bearer realm="ws1-collector""# }
        return fields
    }

    var response: Response {
        Response(
            status: .init(code: status), headers: headerFields,
            body: .init(byteBuffer: ByteBuffer(bytes: body)))
    }
}

extension Problem {
    static let otlpTokenMissing = Problem(
        status: 401, code: .credentialUnknown, title: "No token",
        detail:
            """
            The request has no `Authorization: Bearer` header. Create a token with `ws1collector token create --otlp`, \
            and set OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer%20TOKEN".
            """,
        scope: .device)

    static let otlpTokenUnknown = Problem(
        status: 401, code: .credentialUnknown, title: "Token unknown",
        detail:
            "The token is not one for OTLP, or is unknown. Create one with `ws1collector token create --otlp`.",
        scope: .device)

    static let otlpTokenExpired = Problem(
        status: 401, code: .credentialExpired, title: "Token expired",
        detail: "The token for OTLP has expired. Create another with `ws1collector token create --otlp`.",
        scope: .device)

    static let otlpTokenRevoked = Problem(
        status: 403, code: .tokenRevoked, title: "Token revoked",
        detail: "The token for OTLP was revoked. Create another with `ws1collector token create --otlp`.",
        scope: .device)

    /// - Parameter wait: microseconds.
    static func tooManyOTLPDevices(limit: Int, wait: Int64) -> Problem {
        Problem(
            status: 429, code: .tooManyDevices, title: "Too many new devices",
            detail:
                """
                This token may make \(CountText.of(limit, "device")) a day (UTC), and the request has resources that \
                are further ones. Set `host.id`, or a `service.instance.id` that stays the same at each start of the \
                program. The devices that are known go on in requests of their own.
                """,
            retryable: true, scope: .device, retryAfterMs: Int(wait / 1000), limit: limit)
    }
}
