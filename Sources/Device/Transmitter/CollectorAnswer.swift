import FoundationEssentials
import WireModel

/// What an HTTP answer means to the device. Total: every status and every body has a meaning, and unknown is never
/// success.
package enum CollectorAnswer: Equatable, Sendable {
    /// 200 from our collector; the body is still to be decoded. The entity tag is as the header says it, quotes
    /// included.
    case success(Data, etag: String? = nil)
    /// 204 from our collector: done, and nothing to say.
    case empty
    /// 304: what was asked for has not changed.
    case notModified
    /// 404, 405, 410: the collector has no such thing, or does not offer what was asked.
    case notFound(String)
    /// 409: what was asked contradicts what the collector knows; the code says in what. `nil`: it said none.
    case conflict(String, code: String? = nil)
    /// 413, whoever says it: a part, or the whole body, is over a limit: send less.
    case tooLarge(String)
    /// The request's form was refused: find the record that is to blame.
    case refused(String)
    /// Try again later: too many requests, or a proxy's word.
    case retry(after: Duration?, String)
    /// 5xx: the collector failed, because of what was sent or for reasons of its own.
    case failing(after: Duration?, String)
    /// 401: the credential is not, or no longer, known.
    case credentialRefused(String)
    /// 403: this device is not wanted.
    case forbidden(String)
    /// Somebody else answered: captive portal, wrong host, proxy.
    case unreachable(String)
    /// A collector whose wire version is not ours.
    case incompatible(String)
    /// Another collector than the one the queue is bound to.
    case otherCollector(CollectorID)
    /// Nothing was asked: the device is not enrolled, for this reason.
    case notEnrolled(String)

    /// The collector did what was asked.
    package var isSuccess: Bool {
        switch self {
        case .success, .empty, .notModified: true
        default: false
        }
    }

    /// - Parameter expected: the collector the device is enrolled at; `nil` while it enrolls.
    package static func classify(_ response: TransportResponse, expected: CollectorID?) -> CollectorAnswer {
        let status = response.status
        let retryAfter = response.retryAfter
        guard let version = response.headers[WireNames.versionHeader.lowercased()], let source = response.source else {
            switch status {
            case 413:
                return .tooLarge("something between this device and the collector, such as a proxy, answered HTTP 413")
            case 429, 503:
                return .retry(
                    after: retryAfter,
                    "something between this device and the collector, such as a proxy, answered HTTP \(status)")
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
        case 408, 429: return .retry(after: problem?.retryAfterMs.map { .milliseconds($0) } ?? retryAfter, said)
        case 500...599: return .failing(after: problem?.retryAfterMs.map { .milliseconds($0) } ?? retryAfter, said)
        default:
            // 415 and what else: this collector does not understand what we ask. Nothing about a record; wait for an
            // upgrade of either.
            return .retry(after: retryAfter, said)
        }
    }
}
