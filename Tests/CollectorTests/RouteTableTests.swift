import HTTPTypes
import Testing

@testable import Collector

/// However a route is found, it is the one whose path matches.
@Suite("Table of routes")
struct RouteTableTests {
    private let table = Harness().server.responder.routes

    @Test func everyRouteIsFoundByItsOwnPath() throws {
        let found = RouteTable(table)
        for (place, route) in table.enumerated() {
            let path = route.path.split(separator: "/").map { $0.hasPrefix("{") ? "a%20b" : String($0) }.map {
                "/\($0)"
            }.joined()
            guard case .route(let number, let parameters) = found.find(route.method, path) else {
                Issue.record("\(route.name) is not found at \(path)")
                continue
            }
            #expect(number == place, "\(route.name)")
            #expect(
                parameters.values.allSatisfy { $0 == "a b" } && parameters.isEmpty == !route.path.contains("{"),
                "\(route.name)")
            #expect(found.allowed(at: path).contains(route.method.rawValue))
        }
    }

    @Test(arguments: [
        "", "/", "/nowhere", "/api/v1/batches/", "/api/v1//batches", "api/v1/batches", "/api/v1/devices//balance",
    ])
    func otherPathsAreNobodys(path: String) {
        guard case .nothing = RouteTable(table).find(.get, path) else {
            Issue.record("\(path) is found")
            return
        }
    }

    @Test(arguments: ["/api/v1/batches", "/api/v1/devices/x/balance"])
    func aKnownPathWithAnotherMethodIsTold(path: String) {
        let found = RouteTable(table)
        guard case .otherMethod = found.find(.patch, path) else {
            Issue.record("\(path)")
            return
        }
        #expect(!found.allowed(at: path).isEmpty)
    }
}
