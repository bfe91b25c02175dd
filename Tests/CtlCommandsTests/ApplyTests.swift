import CollectorClient
import CommandKit
import Foundation
import JSON
import Testing
import WireModel

@testable import CtlCommands

@Suite struct ApplyTests {
    private static let quotas: JSONValue = ["kind": "log-quotas", "quotas": ["b": 2, "c": 30, "d": 4]]

    /// A collector of one organization, with three quotas and three devices.
    private static func session(_ seen: @escaping (CollectorCall) -> Void = { _ in }) -> Session {
        Session(organization: "acme") { call, _ in
            seen(call)
            switch call.path.first {
            case "log-quotas":
                return Data(
                    #"""
                    {"items":[{"application":"a","bytes":1},{"application":"b","bytes":2},\#
                    {"application":"c","bytes":3}],"next":null}
                    """#.utf8)
            case "devices":
                let items = [("1", "a"), ("2", "b"), ("3", "c")].map {
                    #"{"id":"\#($0.0)","name":"web-\#($0.0)","organization":"acme","application":"\#($0.1)"}"#
                }
                return Data(#"{"items":[\#(items.joined(separator: ","))],"next":null}"#.utf8)
            default: return Data("{}".utf8)
            }
        }
    }

    @Test func `A plan lists deletions first, and the devices that it touches`() async throws {
        let document = try ApplyDocument(Self.quotas, file: "q.yaml")
        var planner = ApplyPlanner(Self.session())
        let plans = try await planner.plans([document])
        let plan = try #require(plans.first)
        #expect(
            ApplyDifference.sorted(plan.differences).map(\.line) == [
                "- log quotas of acme /a: 1", "~ log quotas of acme /c: 3 -> 30", "+ log quotas of acme /d: 4",
            ])
        #expect(plan.devices.map(\.name) == ["web-1", "web-3"])
        #expect(plan.devicesLine == "log quotas of acme touches 2 devices: web-1, web-3")
    }

    @Test func `Planning changes nothing, and carrying out does exactly what was listed`() async throws {
        var calls: [String] = []
        let session = Self.session { calls.append("\($0.method.rawValue) \($0.target)") }
        var planner = ApplyPlanner(session)
        let plans = try await planner.plans([try ApplyDocument(Self.quotas, file: "q")])
        #expect(calls.allSatisfy { $0.hasPrefix("GET ") }, "\(calls)")
        calls = []
        try await plans[0].carryOut(session)
        #expect(
            calls == [
                "DELETE /api/v1/log-quotas/acme/a", "PUT /api/v1/log-quotas/acme/c", "PUT /api/v1/log-quotas/acme/d",
            ])
    }

    @Test func `A document that says what is there has no plan`() async throws {
        let document = try ApplyDocument(
            ["kind": "log-quotas", "organization": "acme", "quotas": ["a": 1, "b": 2, "c": 3]], file: "q")
        var planner = ApplyPlanner(Self.session())
        let plans = try await planner.plans([document])
        #expect(plans.isEmpty)
    }

    @Test func `Two documents about the same are refused`() async throws {
        let documents = [try ApplyDocument(Self.quotas, file: "one"), try ApplyDocument(Self.quotas, file: "two")]
        let error = await #expect(throws: CommandError.self) {
            var planner = ApplyPlanner(Self.session())
            _ = try await planner.plans(documents)
        }
        #expect(error?.message.contains("one and two") == true)
    }

    @Test(
        arguments: [
            ([:], "`kind` is missing"), (["kind": "profle"], "profile, log-quotas, assignments"),
            (["kind": "profile"], "`profile` is missing"), (["kind": "profile", "profile": [:], "x": 1], "no `x`"),
            (["kind": "log-quotas", "quotas": ["a": "5 GB"]], "no number"),
            (["kind": "assignments", "groups": [:]], "`groups` is not a list"), ([], "expected `kind`"),
            (["kind": "profile", "profile": [:], "organization": ""], "`organization`"),
        ] as [(JSONValue, String)])
    func `A document that cannot be meant is refused`(_ value: JSONValue, _ part: String) throws {
        let error = #expect(throws: CommandError.self) { try ApplyDocument(value, file: "d.yaml") }
        #expect(error?.code == .usage && error?.message.contains("d.yaml") == true)
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    @Test func `All mistakes of a directory are told at once`() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("ctl-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        for (name, text) in [
            ("a.yaml", "kind: x"), ("b.json", "{"), ("c.txt", "no document"), ("d.yml", "kind: profile"),
        ] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(directory)/\(name)"))
        }
        let error = #expect(throws: CommandError.self) { try ApplyDocument.read(directory) }
        let lines = (error?.message ?? "").split(separator: "\n")
        #expect(lines.count == 3 && lines.allSatisfy { !$0.contains("c.txt") }, "\(lines)")
    }
}
