import Foundation
import HTTPTypes
import Hummingbird
import Logging
import RecordStore
import Registry
import WireModel

/// The next handler after a middleware.
typealias Next<Context> = (Request, Context) async throws -> Response

/// Counts every request and its time by its route, and says on every answer who answers. Hummingbird's own metrics have
/// names of their own, and no bound for requests that are no route's.
struct RequestTelemetry: RouterMiddleware {
    typealias Context = CollectorRequestContext

    let identity: CollectorIdentity
    let metrics: CollectorMetrics

    func handle(_ request: Request, context: Context, next: Next<Context>) async throws -> Response {
        let start = ContinuousClock.now
        var response = try await next(request, context)
        if request.method == .head {
            // The header that GET has, and nothing behind it.
            let length = response.headers[.contentLength]
            response.body = ResponseBody { try await $0.finish(nil) }
            response.headers[.contentLength] = length
        }
        metrics.answered(
            request.method, route: context.endpointPath, status: response.status.code,
            after: ContinuousClock.now - start)
        identity.add(to: &response.headers)
        return response
    }
}

/// Turns every error into a problem, counts it, logs it and answers it.
struct RefusalMiddleware: RouterMiddleware {
    typealias Context = CollectorRequestContext

    private static let loggedPathCharacters = 256

    let table: RouteTable
    let peers: PeerLimits
    let metrics: CollectorMetrics
    /// The answer to a problem.
    var answer: @Sendable (Problem, Request, Context) -> Response = { problem, _, _ in problem.response }

    func handle(_ request: Request, context: Context, next: Next<Context>) async throws -> Response {
        do { return try await next(request, context) } catch {
            let problem = problem(of: error, request, context)
            metrics.refused(problem.code)
            log(problem, of: request, context)
            var response = answer(problem, request, context)
            if problem.status == 415, request.method == .patch { response.headers[.acceptPatch] = WireNames.mergePatch }
            if problem.status == 405 {
                response.headers[.allow] = table.methods(at: request.uri.path).joined(separator: ", ")
            }
            return response
        }
    }

    private func problem(of error: any Error, _ request: Request, _ context: Context) -> Problem {
        switch error {
        case let problem as Problem where problem.status == 401 && request.headers[.authorization] != nil:
            return peers.failed(context.peer, at: Uptime.microseconds()).map { .tooManyFailures(wait: $0) } ?? problem
        case let problem as Problem: return problem
        case let error as EnrollError: return self.problem(of: Problem.ofEnrollment(error), request, context)
        case let error as AdministrationError: return .ofAdministration(error)
        case let error as IssueError: return .ofCommand(error)
        case let error as DeviceJobError: return .ofDeviceJob(error)
        case let error as AssignmentError: return .ofAssignments(error)
        case let error as DoNotDisturbError: return .ofDoNotDisturb(error)
        case let error as ProfileError: return .ofProfile(error)
        case let error as HTTPError where error.status == .notFound:
            // Counted as no route's.
            context.coreContext.endpointPath.value = nil
            let methods = table.methods(at: request.uri.path)
            guard methods.isEmpty else { return .methodNotAllowed(request.method.rawValue, allowed: methods) }
            return .notFound("This collector has no such route.")
        case let error as StoreError: return .ofStore(error)
        case is CancellationError: return .storeUnavailable("The collector is shutting down.")
        case let full as IngestBudget.Full: return .ofFull(full)
        default:
            context.logger.error(
                "request failed",
                metadata: ["http.method": "\(request.method)", "http.path": "\(request.uri.path)", "error": "\(error)"])
            return .internalFault
        }
    }

    /// Writes one line, unless the client's address has had too many. Long paths are cut.
    private func log(_ problem: Problem, of request: Request, _ context: Context) {
        let peer = context.peer
        guard let unlogged = peers.line(peer, at: Uptime.microseconds()) else { return }
        var metadata: Logger.Metadata = [
            "http.method": "\(request.method)",
            "http.path": "\(String(request.uri.path.prefix(Self.loggedPathCharacters)))",
            "http.status": "\(problem.status)", "problem.code": "\(problem.code)",
        ]
        if let cause = problem.cause { metadata["error"] = "\(cause)" }
        if let peer { metadata["peer.address"] = "\(peer)" }
        if unlogged > 0 { metadata["requests.unlogged"] = "\(unlogged)" }
        context.logger.log(level: problem.cause == nil ? .info : .error, "request refused", metadata: metadata)
    }
}

/// The rules for a request to a route, whoever sends it.
struct RequestCheck: RouterMiddleware {
    typealias Context = CollectorRequestContext

    let clock: @Sendable () -> Int64

    func handle(_ request: Request, context: Context, next: Next<Context>) async throws -> Response {
        // Hummingbird leaves out empty segments; here a path has one spelling.
        let segments = request.uri.path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard request.uri.path == "/" || segments[0].isEmpty && !segments.dropFirst().contains(where: \.isEmpty) else {
            throw HTTPError(.notFound)
        }
        if let coding = request.headers[.transferEncoding],
            coding.trimmingCharacters(in: .whitespaces).lowercased() != "chunked"
        {
            throw Problem.unsupportedTransferCoding
        }
        var context = context
        context.now = clock()
        return try await next(request, context)
    }
}

/// Keeps routes that are not for devices away from whoever does not come over HTTP: a broker carries the requests of
/// devices alone.
struct DirectOnly: RouterMiddleware {
    typealias Context = CollectorRequestContext

    func handle(_ request: Request, context: Context, next: Next<Context>) async throws -> Response {
        guard context.origin == nil else {
            throw Problem.notFound(
                "Over a broker the collector serves the routes of devices only. Use HTTPS for others.")
        }
        return try await next(request, context)
    }
}
