import Foundation
import HTTPTypes
import Testing
import Yams

@testable import Collector

@Suite("openapi.yaml")
struct OpenAPITests {
    private static func document() throws -> [String: Any] {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../Schemas/api/openapi.yaml")
        return try #require(try Yams.load(yaml: String(contentsOf: path, encoding: .utf8)) as? [String: Any])
    }

    @Test func itHasExactlyTheRoutesThatAreServed() throws {
        let paths = try #require(try Self.document()["paths"] as? [String: [String: Any]])
        let described = Set(paths.flatMap { path, operations in operations.keys.map { "\($0.uppercased()) \(path)" } })
        let served = Set(Harness().server.responder.routes.map { "\($0.method.rawValue) \($0.path)" })
        #expect(described.subtracting(served).isEmpty, "described, not served")
        #expect(served.subtracting(described).isEmpty, "served, not described")
    }

    @Test func itSaysOfEveryRouteWhoMayCallItAndHowItRefuses() throws {
        let paths = try #require(try Self.document()["paths"] as? [String: [String: [String: Any]]])
        for route in Harness().server.responder.routes {
            let operation = try #require(paths[route.path]?[route.method.rawValue.lowercased()])
            let schemes = (operation["security"] as? [[String: Any]] ?? []).flatMap(\.keys)
            let expected =
                switch route.access {
                case .anyone: [String]()
                case .enrollmentToken: ["enrollmentToken"]
                case .device: ["deviceCredential"]
                case .person: ["personToken"]
                }
            #expect(schemes == expected, "\(route.path)")
            #expect((operation["responses"] as? [String: Any])?["default"] != nil, "\(route.path)")
        }
    }

    @Test func everyReferenceLeadsSomewhere() throws {
        let document = try Self.document()
        var references: [String] = []
        func walk(_ value: Any) {
            if let object = value as? [String: Any] {
                if let reference = object["$ref"] as? String { references.append(reference) }
                object.values.forEach(walk)
            } else if let array = value as? [Any] {
                array.forEach(walk)
            }
        }
        walk(document)
        #expect(!references.isEmpty)
        for reference in references {
            var node: Any? = document
            for step in reference.dropFirst(2).split(separator: "/") { node = (node as? [String: Any])?[String(step)] }
            #expect(node != nil, "\(reference)")
        }
    }
}
