import FoundationEssentials
import WireModel

/// The meaning of an HTTP answer for the device. Every status and every body has a meaning, and an unknown one is never
/// success.
package enum CollectorAnswer: Equatable, Sendable {
    /// 200 from our collector. The body is not decoded yet. The entity tag is the header's value, including quotes.
    case success(Data, etag: String? = nil)
    /// 204 from our collector: success without a body.
    case empty
    /// 304: the requested document has not changed.
    case notModified
    /// 404, 405, 410: the collector does not have or offer what was requested.
    case notFound(String)
    /// 409: the request contradicts the collector's state. The code says how; `nil` if there is none.
    case conflict(String, code: String? = nil)
    /// 413 from anybody: a part or the whole body exceeds a limit. Send less.
    case tooLarge(String)
    /// The request's form was refused. Find the record that causes it.
    case refused(String)
    /// Try again later: too many requests, or an answer of a proxy.
    case retry(after: Duration?, String)
    /// 5xx: the collector failed, because of the request or for its own reasons.
    case failing(after: Duration?, String)
    /// 507 from our collector, or 429 because of the device's open uploads: it has no room for this upload. Others may
    /// have room.
    case full(after: Duration?, String)
    /// 401: the credential is not known, or no longer.
    case credentialRefused(String)
    /// 403: the collector rejects this device.
    case forbidden(String)
    /// Somebody else answered: a captive portal, a wrong host, a proxy.
    case unreachable(String)
    /// The collector has another wire version.
    case incompatible(String)
    /// The answer is from another collector than the one the queue is bound to.
    case otherCollector(CollectorID)
    /// No request was sent, because the device is not enrolled. The text says why.
    case notEnrolled(String)

    /// Whether the collector did what was requested.
    package var isSuccess: Bool {
        switch self {
        case .success, .empty, .notModified: true
        default: false
        }
    }

    /// Why the collector did not do what was requested; `nil` if it did.
    package var failure: String? {
        switch self {
        case .success, .empty, .notModified: nil
        case .notFound(let why), .conflict(let why, _), .tooLarge(let why), .refused(let why), .retry(_, let why),
            .failing(_, let why), .full(_, let why), .credentialRefused(let why), .forbidden(let why),
            .unreachable(let why), .incompatible(let why), .notEnrolled(let why):
            why
        case .otherCollector(let other): "another collector, \(other), answers at this address"
        }
    }

    /// - Parameter expected: the collector at which the device is enrolled; `nil` while it enrolls.
    package static func classify(_ response: TransportResponse, expected: CollectorID?) -> CollectorAnswer {
        let status = response.status
        let retryAfter = response.retryAfter
        guard let version = response.headers[WireNames.versionHeader.lowercased()], let source = response.source else {
            let proxy = "something between this device and the collector, such as a proxy, answered HTTP \(status)"
            switch status {
            case 413: return .tooLarge(proxy)
            case 429, 503: return .retry(after: retryAfter, proxy)
            default:
                return .unreachable(
                    "HTTP \(status) without a collector's headers: a captive portal, a proxy or another server "
                        + "answers at this address"
                )
            }
        }
        guard Int(version.prefix { $0 != "." }) == WireNames.majorVersion else {
            return .incompatible("the collector speaks version \(version), this program \(WireNames.majorVersion)")
        }
        if let expected, source.collector != expected { return .otherCollector(source.collector) }
        let problem = response.problem
        let said =
            "the collector answered HTTP \(status)" + (problem.map { " \($0.code): \($0.detail ?? $0.title)" } ?? "")
        let later = problem?.retryAfterMs.map { .milliseconds($0) } ?? retryAfter
        switch status {
        case 200: return .success(response.body, etag: response.headers["etag"])
        case 204: return .empty
        case 304: return .notModified
        case 401: return .credentialRefused(said)
        case 403: return .forbidden(said)
        case 413: return .tooLarge(said)
        case 400, 422: return .refused(said)
        case 404, 405, 410: return .notFound(said)
        case 409: return .conflict(said, code: problem?.code)
        case 429 where problem?.code == Problem.Code.tooManyUploads.rawValue: return .full(after: later, said)
        case 507: return .full(after: later, said)
        case 408, 429: return .retry(after: later, said)
        case 500...599: return .failing(after: later, said)
        default:
            // 415 and other statuses: this collector does not understand the request. No record is to blame. Wait until
            // either side is upgraded.
            return .retry(after: retryAfter, said)
        }
    }
}
