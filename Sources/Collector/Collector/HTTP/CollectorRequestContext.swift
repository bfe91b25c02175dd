import Foundation
import Hummingbird
import NIOCore
import NIOSSL
import Registry
import WireModel

/// A request's context with its connection, for what only that knows.
package struct CollectorRequestContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    fileprivate let channel: any Channel
    /// The collector's clock when the request was found well formed, microseconds since 1970.
    var now: Int64 = 0
    /// `nil`: nobody has asked yet, or anyone may send it.
    var caller: (any Caller)?
    /// Who asks from within the collector: the person of a session in the console. No request from outside sets it.
    private(set) var signedIn: Person?

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// The context of a request that the console makes for a person.
    init(of context: PersonContext, signedIn person: Person) {
        self.init(source: ApplicationRequestContextSource(channel: context.channel, logger: context.logger))
        signedIn = person
    }

    /// Where the connection comes from, as limits and log lines have it; `nil`: unknown.
    var peer: String? { PeerLimits.name(of: channel.remoteAddress) }

    /// The client's certificate, which the TLS library accepted; `nil` without one or without TLS.
    func shownCertificate() async throws -> ShownCertificate? {
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

/// The context of a route that only such callers reach.
struct CallerContext<Who: Caller>: ChildRequestContext {
    var coreContext: CoreRequestContextStorage
    let now: Int64
    let caller: Who
    fileprivate let channel: any Channel

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
