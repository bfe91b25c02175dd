import CollectorAPI
import Foundation
import HTTPTypes
import JSON
import Registry
import Testing
import WireModel
import Yams

@testable import Collector

@Suite("openapi.yaml")
struct OpenAPITests {
    private static func document() throws -> [String: Any] {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../Schemas/api/openapi.yaml")
        return try #require(try Yams.load(yaml: String(contentsOf: path, encoding: .utf8)) as? [String: Any])
    }

    @Test func `It has exactly the routes that are served`() throws {
        let paths = try #require(try Self.document()["paths"] as? [String: [String: Any]])
        let described = Set(paths.flatMap { path, operations in operations.keys.map { "\($0.uppercased()) \(path)" } })
        let served = Set(Harness().server.responder.routes.map { "\($0.method.rawValue) \($0.path)" })
        #expect(described.subtracting(served).isEmpty, "described, not served")
        #expect(served.subtracting(described).isEmpty, "served, not described")
    }

    @Test func `It says of every route who may call it and how it refuses`() throws {
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
                case .otlpToken: ["otlpToken"]
                }
            #expect(schemes == expected, "\(route.path)")
            #expect((operation["responses"] as? [String: Any])?["default"] != nil, "\(route.path)")
        }
    }

    @Test func `Every reference leads somewhere`() throws {
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

    /// The properties of a schema, by the names of nested objects.
    private static func properties(_ name: String) throws -> [String: [String: Any]] {
        let components = try #require(try document()["components"] as? [String: Any])
        let schemas = try #require(components["schemas"] as? [String: [String: Any]])
        return try #require(schemas[name]?["properties"] as? [String: [String: Any]])
    }

    /// A value of each property that the reader must at least know by name.
    private static func sample(_ schema: [String: Any]) -> Any {
        switch schema["type"] as? String {
        case "object":
            guard let properties = schema["properties"] as? [String: [String: Any]] else { return [String: Any]() }
            return properties.mapValues(sample)
        case "array": return [(schema["items"] as? [String: Any]).map(sample) ?? ""]
        case "boolean": return true
        case "integer", "number": return schema["minimum"] as? Int ?? 1
        default:
            if let values = schema["enum"] as? [String] { return values[0] }
            return schema["contentEncoding"] == nil ? "1" : Data(repeating: 1, count: 32).base64EncodedString()
        }
    }

    @Test func `The profile it describes is the one that is read`() throws {
        let described = try Self.properties("Profile")
        var object = described.mapValues(Self.sample)
        // Names of its own, and a module that is one.
        let classes = (described["privacy"]?["propertyNames"] as? [String: [String]])?["enum"] ?? []
        #expect(classes == FieldClass.decidable.map(\.rawValue))
        object["privacy"] = Dictionary(classes.map { ($0, "drop") }) { first, _ in first }
        var sampling = try #require(object["sampling"] as? [String: Any])
        sampling["overrides"] = [["module": "system", "sampleSeconds": 1, "transmitSeconds": 1]]
        object["sampling"] = sampling
        var detection = try #require(object["detection"] as? [String: Any])
        detection["systemPaths"] = ["/etc"]
        object["detection"] = detection
        var rule = try #require((object["compliance"] as? [[String: Any]])?.first)
        let fence = try #require((object["geofences"] as? [[String: Any]])?.first)
        var ofLocation = rule
        rule["geofence"] = nil
        ofLocation["version"] = nil
        ofLocation.merge(["id": "2", "subject": "location", "operator": "inside"]) { $1 }
        object["compliance"] = [rule, ofLocation]
        let circle = fence.filter { $0.key != "corners" }
        var polygon = fence.filter { !["latitude", "longitude", "radiusMeters"].contains($0.key) }
        polygon["id"] = "2"
        polygon["corners"] = [[0, 0], [0, 1], [1, 0]].map { ["latitude": $0[0], "longitude": $0[1]] }
        object["geofences"] = [circle, polygon]
        object["certificateAuthorities"] = [TestCertificates.authority]
        let profile = try ProfileDocument.read(try JSONSerialization.data(withJSONObject: object))
        try profile.validate()
        // Every field of the message is set by it, but those that are the collector's.
        guard case .object(let shown) = try ProfileDocument.json(profile) else {
            Issue.record("no object")
            return
        }
        #expect(Set(shown.keys) == Set(described.keys))
        for (name, schema) in described {
            guard case .object(let fields)? = shown[name], let properties = schema["properties"] as? [String: Any]
            else { continue }
            #expect(Set(fields.keys).union(["modulesGiven"]) == Set(properties.keys).union(["modulesGiven"]), "\(name)")
        }
    }

    @Test func `The words of administration it names are those that are accepted`() throws {
        let document = try Self.document()
        let components = try #require(document["components"] as? [String: Any])
        let schemas = try #require(components["schemas"] as? [String: [String: Any]])
        #expect(schemas["AuditAction"]?["enum"] as? [String] == AuditEntry.Action.allCases.map(\.rawValue))
        #expect(
            try Self.properties("AuditEntry")["outcome"]?["enum"] as? [String]
                == AuditEntry.Outcome.allCases.map(\.rawValue))
        #expect(try Self.properties("Token")["kind"]?["enum"] as? [String] == TokenRow.Kind.allCases.map(\.name))
        #expect(try Self.properties("Token")["role"]?["enum"] as? [String] == PersonRole.allCases.map { "\($0)" })
        let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
        let shared = try #require(components["parameters"] as? [String: [String: Any]])
        func named(_ path: String) throws -> [[String: Any]] {
            let parameters = try #require(paths[path]?["get"]?["parameters"] as? [[String: Any]])
            let resolved = try parameters.map { parameter in
                guard let reference = parameter["$ref"] as? String else { return parameter }
                return try #require(shared[String(reference.split(separator: "/").last ?? "")])
            }
            return resolved.filter { $0["in"] as? String == "query" }
        }
        let listed = try named("/api/v1/devices")
        #expect(
            Set(listed.compactMap { $0["name"] as? String })
                == DeviceQuery.filters.union(["sort", "limit", "cursor"]))
        #expect(
            Set(try named("/api/v1/devices/facets").compactMap { $0["name"] as? String }) == DeviceQuery.filters)
        let facets = try Self.properties("DeviceFacets")["facets"]?["properties"] as? [String: Any] ?? [:]
        #expect(
            Set(facets.keys) == DeviceQuery.filters.subtracting(["q", "test", "organization", "enrollmentToken"]),
            "a facet for each filter that has values")
        let sort = listed.first { $0["name"] as? String == "sort" }?["schema"] as? [String: Any]
        let orders = DeviceQuery.Sort.allCases.map(\.rawValue)
        #expect(sort?["enum"] as? [String] == orders + orders.map { "-" + $0 })
        // A token with every property that is described is read, but those that exclude each other.
        let described = Set(try Self.properties("NewToken").keys)
        #expect(
            described == [
                "kind", "name", "role", "organization", "expiresAt", "expiresInSeconds", "maximumUses", "unlimited",
                "address", "pinned",
            ])
    }

    @Test func `The states and kinds it names are those that are shown`() throws {
        let states = try Self.properties("Device")["state"]?["enum"] as? [String] ?? []
        #expect(states.count == 8 && states.allSatisfy { ReportingState(rawValue: $0) != nil })
        let notices = try Self.properties("Notice")["code"]?["enum"] as? [String] ?? []
        #expect(notices == NoticeRow.Code.allCases.map(\.rawValue))
        let commandStates = try Self.properties("Command")["state"]?["enum"] as? [String] ?? []
        #expect(commandStates.count == 8)
        for name in commandStates { _ = try EnumName.commandState.value(name, "state") }
        for kind in try Self.properties("NewCommand")["kind"]?["enum"] as? [String] ?? [] {
            let arguments =
                switch kind {
                case "cancel": #"{"command": "7d9f3a52-6c1e-4b0f-9a57-0d6a5f2b8c11"}"#
                case "change-log-level": #"{"level": "error", "durationSeconds": 1}"#
                case "message": #"{"text": "a", "payload": "AA==", "contentType": "image/png"}"#
                default: "{}"
                }
            let body = #"{"kind": "\#(kind)", "arguments": \#(arguments), "expiresInSeconds": 2592000}"#
            _ = try CommandDocument(Data(body.utf8), now: 0)
        }
        let known = Set(try Self.properties("NewCommand").keys)
        #expect(known == ["kind", "arguments", "expiresAt", "expiresInSeconds"])
    }
}
