import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import OTLP
import SwiftProtobuf
import Testing
import WireModel

@testable import Collector

/// Which requests a route answers, by how their path and method are written.
@Suite("Paths and methods")
struct RoutingTests {
    private static let routes = Harness().server.responder.routes

    /// The route's path with something in the place of each parameter.
    private static func path(of route: Route) -> String {
        route.path.split(separator: "/").map { $0.hasPrefix("{") ? "/a%20b" : "/\($0)" }.joined()
    }

    private static func methods(at path: String) -> [String] {
        routes.filter { $0.path == path }.flatMap { $0.method == .get ? ["GET", "HEAD"] : [$0.method.rawValue] }
    }

    @Test func `Every route is found by its own path and method`() async throws {
        try await Harness().route { client in
            for route in Self.routes {
                let answer = try await client.send(route.method, Self.path(of: route))
                let expected: HTTPResponse.Status = route.access == .anyone ? .ok : .unauthorized
                #expect(answer.status == expected, "\(route.name)")
            }
        }
    }

    @Test(arguments: ["BREW", "OPTIONS", "TRACE", "PATCH", "HEAD"])
    func `A known path with another method is told which methods it accepts`(method: String) async throws {
        let method = try #require(HTTPRequest.Method(method))
        try await Harness().route { client in
            for route in Self.routes {
                let methods = Self.methods(at: route.path)
                guard !methods.contains(method.rawValue) else { continue }
                let answer = try await client.send(method, Self.path(of: route))
                #expect(answer.status == .methodNotAllowed, "\(method) \(route.path)")
                #expect(answer.headers[.allow] == methods.joined(separator: ", "), "\(route.path)")
                guard method != .head else { continue }
                let detail =
                    route.access == .otlpToken
                    ? try OTLPStatus(serializedBytes: Data(answer.content.readableBytesView)).message
                    : try answer.problem.detail
                #expect(detail == "\(method.rawValue) is not allowed here; use \(methods.joined(separator: ", ")).")
            }
        }
    }

    /// Paths are compared byte for byte: no part of one is left out, decoded or folded.
    @Test(arguments: [
        "", "/", "/nowhere", "/api/v1", "/api/v1/batches/", "/api/v1//batches", "//livez", "/livez/", "api/v1/batches",
        "/api/v1/devices/", "/api/v1/devices//", "/api/v1/devices//balance", "/api/v1/devices/x/balance/",
        "/api/v1/devices/x%2Fbalance/", "/API/v1/devices", "/api/v1/devic%65s", "/api/v1/./devices",
        "/api/v1/devices/x/balance/more",
    ])
    func `Other paths are nobody's`(path: String) async throws {
        try await Harness().route { client in
            for method in [HTTPRequest.Method.get, .post] {
                let answer = try await client.send(method, path, bearer: "administrator-all")
                #expect(answer.status == .notFound && answer.headers[.allow] == nil, "\(path)")
                #expect(try answer.problem.detail == "This collector has no such route.", "\(path)")
            }
            let lines = String(buffer: try await client.send(.get, "/metrics", bearer: "administrator-all").body)
            #expect(lines.contains(#"ws1_http_requests_total{code="404",method="GET",route="none"} 2"#), "\(path)")
        }
    }

    @Test func `A parameter is decoded once and may hold a slash, but no control characters`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        let id = "\(device.id)"
        let encoded = id.utf8.map { "%" + String($0, radix: 16) }.joined()
        try await harness.route { client in
            func get(_ parameter: String) async throws -> TestResponse {
                try await client.send(.get, "/api/v1/devices/\(parameter)", bearer: "viewer-default")
            }
            let found = try await get(encoded).json
            #expect(found.text("id") == id)
            for other in ["%25" + encoded.dropFirst(), "x%2Fbalance", "%zz", "%ff", "balance"] {
                let detail = try await get(other).problem.detail
                #expect(detail == "Your organization has no such device.", "\(other)")
            }
            for control in ["%00", "x%0Ay", "%7F"] {
                let refused = try await get(control)
                #expect(refused.status == .badRequest)
                #expect(try refused.problem.detail == "`device` has control characters.", "\(control)")
            }
        }
    }

    @Test func `HEAD is counted as GET and has its headers`() async throws {
        try await Harness().route { client in
            let get = try await client.send(.get, "/livez")
            let head = try await client.send(.head, "/livez")
            #expect(head.status == .ok && head.body.readableBytes == 0)
            #expect(head.headers[.contentLength] == get.headers[.contentLength])
            #expect(head.headers[.eTag] == get.headers[.eTag] && get.headers[.eTag] != nil)
            #expect(try await client.send(.head, "/nowhere").status == .notFound)
            let lines = String(buffer: try await client.send(.get, "/metrics", bearer: "administrator-all").body)
            #expect(lines.contains(#"ws1_http_requests_total{code="200",method="GET",route="/livez"} 2"#))
        }
    }

    /// First the path, then what it was sent as, then who sends it; nothing of the body before that.
    @Test func `Refusals have an order`() async throws {
        let coding = try #require(HTTPField.Name("Transfer-Encoding"))
        try await Harness().route { client in
            func refusal(_ method: HTTPRequest.Method, _ path: String, bearer: String) async throws -> String {
                try await client.send(method, path, bearer: bearer, headers: [coding: "gzip, chunked"]).problem.code
            }
            let codes = [
                try await refusal(.post, "/nowhere", bearer: "wrong"),
                try await refusal(.put, "/livez", bearer: "wrong"),
                try await refusal(.post, "/api/v1/tokens", bearer: "wrong"),
            ]
            #expect(codes == ["not-found", "method-not-allowed", "unsupported-transfer-encoding"])
            let headers: HTTPFields = [.contentType: "text/plain"]
            func post(_ bearer: String) async throws -> String {
                try await client.send(.post, "/api/v1/tokens", bearer: bearer, headers: headers).problem.code
            }
            let later = [
                try await post("wrong"), try await post("viewer-default"), try await post("administrator-default"),
            ]
            #expect(later == [Problem.Code.credentialUnknown.rawValue, "forbidden", "unsupported-media-type"])
        }
    }
}
