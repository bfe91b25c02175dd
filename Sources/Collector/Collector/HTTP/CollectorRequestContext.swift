import Foundation
import Hummingbird
import Logging
import NIOCore
import NIOSSL
import Registry
import WireModel

/// A request's context with its connection, for what only that knows.
package struct CollectorRequestContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// `nil` for a request that came another way than over a connection to this collector.
    fileprivate let channel: (any Channel)?
    /// How a request came that is not over HTTP; `nil` for all others.
    let origin: DeviceOrigin?
    /// The collector's clock when the request was found well formed, microseconds since 1970.
    var now: Int64 = 0
    /// `nil`: nobody has asked yet, or anyone may send it.
    var caller: (any Caller)?
    /// Who asks from within the collector: the person of a session in the console. No request from outside sets it.
    private(set) var signedIn: Person?

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        origin = nil
    }

    /// The context of a request that the console makes for a person.
    init(of context: PersonContext, signedIn person: Person) {
        coreContext = CoreRequestContextStorage(source: DetachedSource(logger: context.logger))
        channel = context.channel
        origin = nil
        signedIn = person
    }

    /// The context of a device's request that came another way than over HTTP.
    init(from origin: DeviceOrigin, logger: Logger) {
        coreContext = CoreRequestContextStorage(source: DetachedSource(logger: logger))
        channel = nil
        self.origin = origin
    }

    private struct DetachedSource: RequestContextSource {
        let logger: Logger
    }

    /// Where the request comes from, as limits and log lines have it; `nil`: unknown.
    var peer: String? { origin?.peer ?? PeerLimits.name(of: channel?.remoteAddress) }

    /// The client's certificate, which the TLS library accepted; `nil` without one or without TLS. A broker that ends
    /// TLS shows none.
    func shownCertificate() async throws -> ShownCertificate? {
        guard let channel else { return nil }
        let shown = try await channel.eventLoop.submit { [channel] in
            try (try? channel.pipeline.syncOperations.nioSSL_peerCertificate())?.toDERBytes()
        }.get()
        return shown.map { ShownCertificate(der: $0) }
    }
}

/// Who sends a request, known by a credential.
protocol Caller: Sendable {
    /// The share of the budget that the request's body draws on.
    var share: IngestBudget.Share { get }
}

struct EnrollmentToken: Caller {
    let text: String
    var share: IngestBudget.Share { .enrollment }
}

extension DeviceRow: Caller { var share: IngestBudget.Share { .device(id) } }
extension Person: Caller { var share: IngestBudget.Share { .people } }
extension OTLPSender: Caller { var share: IngestBudget.Share { .otlp(token: tokenID) } }

/// The context of a route that only such callers reach.
struct CallerContext<Who: Caller>: ChildRequestContext {
    var coreContext: CoreRequestContextStorage
    let now: Int64
    let caller: Who
    fileprivate let channel: (any Channel)?

    /// A group whose authentication finds other callers: a fault of this program.
    private struct Fault: Error {}

    init(context: CollectorRequestContext) throws {
        guard let caller = context.caller as? Who else { throw Fault() }
        (coreContext, now, self.caller, channel) = (context.coreContext, context.now, caller, context.channel)
    }
}

typealias EnrollmentContext = CallerContext<EnrollmentToken>
typealias DeviceContext = CallerContext<DeviceRow>
typealias PersonContext = CallerContext<Person>
typealias OTLPContext = CallerContext<OTLPSender>

extension DeviceContext { var device: DeviceRow { caller } }
extension PersonContext { var person: Person { caller } }

extension RequestContext {
    /// A parameter of the path, percent-decoded once, which Hummingbird leaves to the handler.
    func parameter(_ name: String) throws -> String {
        let given = parameters.get(name) ?? ""
        let value = given.removingPercentEncoding ?? given
        guard !value.hasControlCharacters else { throw Problem.invalidParameter(name, "has control characters.") }
        return value
    }
}
