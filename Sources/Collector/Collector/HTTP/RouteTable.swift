import HTTPTypes

/// Finds the route of a request. A path without parameters, as all that devices ask often have, is looked up; of the others each is tried.
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
        return routes.filter { $0.match(segments) != nil }.flatMap { $0.method == .get ? ["GET", "HEAD"] : [$0.method.rawValue] }
    }

    private static func segments(of path: String) -> [Substring] {
        path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { $0 }
    }
}
