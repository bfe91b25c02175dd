import CollectorAPI
import HTTPTypes
import Hummingbird
import Registry
import Synchronization
import WireModel

/// One route: what it is called and who may call it. `Schemas/api/openapi.yaml` is tested against the table of routes.
package struct Route: Sendable {
    package enum Access: Sendable, Equatable {
        case anyone
        /// Bearer is an enrollment token.
        case enrollmentToken
        case device
        case person(PersonRole)
        /// Bearer is a token of senders of OTLP.
        case otlpToken
    }

    package let method: HTTPRequest.Method
    /// Segments in braces are parameters: `/api/v1/devices/{device}`.
    package var path: String { pattern.description }
    package let access: Access
    fileprivate let pattern: RouterPath
}

/// The routes served, in the order in which they were added. Hummingbird's router knows neither who may call a route
/// nor which methods a path accepts, which a refusal with 405 must list (RFC 9110).
final class RouteTable: Sendable {
    private let added = Mutex<[Route]>([])

    var routes: [Route] { added.withLock { $0 } }

    func add(_ route: Route) { added.withLock { $0.append(route) } }

    /// The methods that a path accepts; none if it has no route. HEAD is answered as GET, without the body. A route
    /// without parameters has its path for itself: `/devices/facets` is not the device `facets`.
    func methods(at path: String) -> [String] {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        let matching = routes.filter { route in
            route.pattern.count == segments.count && zip(route.pattern, segments).allSatisfy { !$1.isEmpty && $0 ~= $1 }
        }
        let exact = matching.filter { $0.path == path }
        return (exact.isEmpty ? matching : exact).flatMap {
            $0.method == .get ? ["GET", "HEAD"] : [$0.method.rawValue]
        }
    }
}

/// Hummingbird's group of routes for one kind of caller. It adds each route to the table, too.
struct AccessGroup<Context: RequestContext>: RouterMethods {
    let access: Route.Access
    let group: RouterGroup<Context>
    let table: RouteTable

    @discardableResult
    func on<Responder: HTTPResponder>(
        _ path: RouterPath, method: HTTPRequest.Method, responder: Responder
    ) -> Self where Responder.Context == Context {
        table.add(Route(method: method, access: access, pattern: path))
        group.on(path, method: method, responder: responder)
        // Hummingbird's own HEAD says `Content-Length: 0` for an answer whose length is not known yet.
        if method == .get { group.on(path, method: .head, responder: responder) }
        return self
    }

    func add(middleware: any MiddlewareProtocol<Request, Response, Context>) -> Self {
        group.add(middleware: middleware)
        return self
    }
}

/// Hummingbird's router with the collector's middleware, and a group of routes for each kind of caller.
///
/// A request passes these in order: metrics and log line (`RequestTelemetry`), the rendering of errors
/// (`RefusalMiddleware`), the check of its form (`RequestCheck`), the check of its credential (`Authentication`), and
/// the limits of its caller. The body is not read before the route's handler runs.
struct CollectorRouter {
    private let router = Router(context: CollectorRequestContext.self)
    private let table = RouteTable()
    private let checked: RouterGroup<CollectorRequestContext>
    /// Of `checked`, what is for HTTP alone.
    private let direct: RouterGroup<CollectorRequestContext>
    private let callers: Callers
    private let rate: RequestRate<DeviceID>
    private let load: PeopleLoad
    let peers = PeerLimits()
    /// Renders, counts and logs errors.
    let refusals: RefusalMiddleware

    /// - Parameters:
    ///   - rate: of each device's requests.
    ///   - shares: of people's requests that are worked on at a time.
    ///   - people: where people's requests are worked on.
    init(
        metadata: MetadataService, certificates: DeviceCertificates, identity: CollectorIdentity,
        metrics: CollectorMetrics, rate: RequestRate<DeviceID>, shares: RequestShares, people: PeopleExecutor,
        clock: @escaping @Sendable () -> Int64
    ) {
        let refusals = RefusalMiddleware(
            table: table, peers: peers, metrics: metrics,
            answer: { problem, request, _ in OTLPExchange(request.head)?.answer(to: problem) ?? problem.response })
        router.addMiddleware {
            RequestTelemetry(identity: identity, metrics: metrics)
            refusals
        }
        self.refusals = refusals
        checked = router.group().add(middleware: RequestCheck(clock: clock))
        direct = checked.group().add(middleware: DirectOnly())
        callers = Callers(metadata: metadata, certificates: certificates, peers: peers)
        self.rate = rate
        load = PeopleLoad(shares: shares, executor: people)
    }

    var anyone: AccessGroup<CollectorRequestContext> {
        AccessGroup(access: .anyone, group: direct.group().add(middleware: AnswerFinish()), table: table)
    }

    var enrollment: AccessGroup<EnrollmentContext> {
        AccessGroup(access: .enrollmentToken, group: group(in: checked, callers.enrollment), table: table)
    }

    var devices: AccessGroup<DeviceContext> {
        AccessGroup(access: .device, group: group(in: checked, callers.device).add(middleware: rate), table: table)
    }

    var otlpSenders: AccessGroup<OTLPContext> {
        AccessGroup(access: .otlpToken, group: group(in: direct, callers.otlp), table: table)
    }

    /// - Parameter least: the role that a person needs.
    func people(_ least: PersonRole) -> AccessGroup<PersonContext> {
        let callers = callers
        let group = group(in: direct) { request, context in try await callers.person(request, context, least) }
        return AccessGroup(
            access: .person(least), group: group.add(middleware: load).add(middleware: AnswerFinish()), table: table)
    }

    private func group<Who: Caller>(
        in parent: RouterGroup<CollectorRequestContext>,
        _ caller: @escaping @Sendable (Request, CollectorRequestContext) async throws -> Who
    ) -> RouterGroup<CallerContext<Who>> {
        parent.group().add(middleware: Authentication(caller: caller)).group(context: CallerContext<Who>.self)
    }

    var routes: [Route] { table.routes }

    /// - Precondition: every route has been added.
    func responder() -> RouterResponder<CollectorRequestContext> { router.buildResponder() }
}

/// Answers requests to the API, to health and metrics, and all others with the console.
package struct CollectorResponder: HTTPResponder {
    /// The routes without those of the console.
    package let routes: [Route]
    let api: RouterResponder<CollectorRequestContext>
    /// `nil` without its assets.
    let console: RouterResponder<CollectorRequestContext>?

    private static let apiPaths = ["/livez", "/readyz", "/metrics", "/metrics/devices"]

    package func respond(to request: Request, context: CollectorRequestContext) async throws -> Response {
        // Each request has a task of its own. A task keeps its frames' memory until it ends, so with one task per
        // connection each idle device would hold ten kilobytes or more. A middleware cannot start the task: it must
        // call the next one in its own task.
        let path = request.uri.path
        let isForAPI = path.hasPrefix("/api/") || path.hasPrefix(OTLPExchange.root) || Self.apiPaths.contains(path)
        let router = isForAPI ? api : console ?? api
        async let response = router.respond(to: request, context: context)
        return try await response
    }
}
