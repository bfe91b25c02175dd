import CollectorStore
import Foundation
import HTTPTypes
import Hummingbird

/// One route: what it is called, who may call it and what it does. The table of routes is what
/// `Schemas/api/openapi.yaml` is tested against.
package struct Route: Sendable {
    package enum Access: Sendable, Equatable {
        case anyone
        /// Bearer is an enrollment token; the route itself checks it, since only it can use it.
        case enrollmentToken
        case device
        case person(PersonRole)
    }

    package let method: HTTPRequest.Method
    /// Segments in braces are parameters: `/api/v1/devices/{device}`.
    package let path: String
    package let access: Access
    let handle: @Sendable (Exchange) async throws -> Response
    private let segments: [Substring]

    init(
        _ method: HTTPRequest.Method, _ path: String, _ access: Access,
        handle: @escaping @Sendable (Exchange) async throws -> Response
    ) {
        self.method = method
        self.path = path
        self.access = access
        self.handle = handle
        segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { $0 }
    }

    var hasParameters: Bool { segments.contains { $0.hasPrefix("{") } }

    /// Values of the parameters where `path` is this route's; `nil` where it is not.
    func match(_ path: [Substring]) -> [String: String]? {
        guard path.count == segments.count else { return nil }
        var parameters: [String: String] = [:]
        for (segment, given) in zip(segments, path) {
            if segment.hasPrefix("{") {
                guard !given.isEmpty else { return nil }
                parameters[String(segment.dropFirst().dropLast())] = given.removingPercentEncoding ?? String(given)
            } else if segment != given {
                return nil
            }
        }
        return parameters
    }
}

/// One request on its way through a route, with who sent it.
struct Exchange: Sendable {
    enum Sender: Sendable {
        case anyone
        case bearer(String)
        case device(DeviceRow)
        case person(Person)
    }

    let request: Request
    let parameters: [String: String]
    let sender: Sender
    /// The collector's clock, microseconds since 1970.
    let now: Int64

    /// The authenticated device. Routes with `Access.device` only.
    var device: DeviceRow {
        get throws {
            guard case .device(let device) = sender else { throw RouteFault() }
            return device
        }
    }

    /// The authenticated person. Routes with `Access.person` only.
    var person: Person {
        get throws {
            guard case .person(let person) = sender else { throw RouteFault() }
            return person
        }
    }

    /// A route asks for a sender that its access does not give: a fault of this program.
    struct RouteFault: Error {}
}

/// Finds the route of a request. A path without parameters, as all that devices ask often have, is looked up; of the
/// others each is tried.
struct RouteTable: Sendable {
    enum Found {
        case route(Int, parameters: [String: String])
        /// The path is there, for other methods.
        case otherMethod
        case nothing
    }

    let routes: [Route]
    /// Places in `routes` by path.
    private let literal: [String: [Int]]
    private let parameterized: [Int]

    init(_ routes: [Route]) {
        self.routes = routes
        literal = Dictionary(grouping: routes.indices.filter { !routes[$0].hasParameters }) { routes[$0].path }
        parameterized = routes.indices.filter { routes[$0].hasParameters }
    }

    func find(_ method: HTTPRequest.Method, _ path: String) -> Found {
        var found = Found.nothing
        for place in literal[path] ?? [] {
            if routes[place].method == method { return .route(place, parameters: [:]) }
            found = .otherMethod
        }
        let segments = Self.segments(of: path)
        for place in parameterized {
            guard let parameters = routes[place].match(segments) else { continue }
            if routes[place].method == method { return .route(place, parameters: parameters) }
            found = .otherMethod
        }
        return found
    }

    /// Methods that a path takes. HEAD is no route's own: it is answered as GET, without the body.
    func allowed(at path: String) -> [String] {
        let segments = Self.segments(of: path)
        return routes.filter { $0.match(segments) != nil }.flatMap {
            $0.method == .get ? ["GET", "HEAD"] : [$0.method.rawValue]
        }
    }

    private static func segments(of path: String) -> [Substring] {
        path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { $0 }
    }
}
