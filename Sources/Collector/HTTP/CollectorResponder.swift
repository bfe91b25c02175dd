import CollectorStore
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import WireModel

/// Finds the route, checks who asks before anything of the body is read, and turns every error into a problem.
package struct CollectorResponder: HTTPResponder {
    package typealias Context = BasicRequestContext

    package let routes: [Route]
    private let registry: any DeviceRegistry
    private let identity: CollectorIdentity
    private let clock: @Sendable () -> Int64
    private let finish = AnswerFinish()

    init(routes: [Route], registry: any DeviceRegistry, identity: CollectorIdentity, clock: @escaping @Sendable () -> Int64) {
        self.routes = routes
        self.registry = registry
        self.identity = identity
        self.clock = clock
    }

    package func respond(to request: Request, context: Context) async throws -> Response {
        var response: Response
        do {
            response = try await finish.finish(try await answer(request), to: request)
        } catch let problem as Problem {
            response = problem.response
            if problem.status == 405 { response.headers[.allow] = allowed(at: request.uri.path).joined(separator: ", ") }
        } catch let error as StoreError {
            log(error, of: request, context)
            response = Problem.ofStore(error).response
        } catch is CancellationError {
            response = Problem.storeUnavailable("The collector is shutting down.").response
        } catch let full as IngestBudget.Full {
            response = Problem.ofFull(full).response
        } catch {
            log(error, of: request, context)
            response = Problem.internalFault.response
        }
        identity.add(to: &response.headers)
        if response.status.code >= 400 {
            context.logger.info(
                "request refused",
                metadata: [
                    "http.method": "\(request.method)", "http.path": "\(request.uri.path)", "http.status": "\(response.status.code)",
                ])
        }
        return response
    }

    private func log(_ error: any Error, of request: Request, _ context: Context) {
        context.logger.error(
            "request failed",
            metadata: ["http.method": "\(request.method)", "http.path": "\(request.uri.path)", "error": "\(error)"])
    }

    private func answer(_ request: Request) async throws -> Response {
        let segments = Self.segments(of: request.uri.path)
        var found: (route: Route, parameters: [String: String])?
        var pathIsKnown = false
        for route in routes {
            guard let parameters = route.match(segments) else { continue }
            pathIsKnown = true
            if route.method == request.method {
                found = (route, parameters)
                break
            }
        }
        guard let (route, parameters) = found else {
            throw pathIsKnown
                ? Problem.methodNotAllowed(request.method.rawValue, allowed: allowed(at: request.uri.path))
                : Problem.notFound("This collector has no such route.")
        }
        let now = clock()
        let sender = try await authenticate(request, for: route.access)
        return try await route.handle(Exchange(request: request, parameters: parameters, sender: sender, now: now))
    }

    private func allowed(at path: String) -> [String] {
        let segments = Self.segments(of: path)
        return routes.filter { $0.match(segments) != nil }.map(\.method.rawValue)
    }

    private static func segments(of path: String) -> [Substring] {
        path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { $0 }
    }

    private func authenticate(_ request: Request, for access: Route.Access) async throws -> Exchange.Sender {
        switch access {
        case .anyone: return .anyone
        case .enrollmentToken:
            let token = try Self.bearer(of: request)
            do throws(EnrollError) { try await registry.checkEnrollmentToken(token) } catch { throw Problem.ofEnrollment(error) }
            return .bearer(token)
        case .device:
            switch try await registry.authenticateDevice(credential: Self.bearer(of: request)) {
            case .device(let device): return .device(device)
            case .unknown: throw Problem.credentialUnknown
            case .revoked: throw Problem.revoked
            }
        case .person(let least):
            guard let person = try await registry.authenticatePerson(token: Self.bearer(of: request)) else {
                throw Problem.tokenUnknown
            }
            guard person.role >= least else {
                throw Problem.forbidden("This needs the role \(least); the token has the role \(person.role).")
            }
            return .person(person)
        }
    }

    /// The token behind `Authorization: Bearer`, at most 512 characters.
    private static func bearer(of request: Request) throws -> String {
        guard let field = request.headers[.authorization] else { throw Problem.credentialMissing }
        let words = field.split(separator: " ", omittingEmptySubsequences: true)
        guard words.count == 2, words[0].lowercased() == "bearer", words[1].utf8.count <= 512 else { throw Problem.credentialMissing }
        return String(words[1])
    }
}
