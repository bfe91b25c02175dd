import Foundation
import NIOHTTP1
import SQLite
import Testing

/// A data directory that is encrypted is searched byte by byte for what the agent was given.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct EncryptedDirectoryTests {
    private struct Device: Decodable { var leftAt: String? }

    private static let event = "event-value-that-nobody-may-find"
    private static let eventName = "event.name.that.nobody.may.find"
    private static let line = "line-that-nobody-may-find"
    private static let payload = "payload-that-nobody-may-find"
    private static let scrubbed = "word-that-nobody-may-find"

    /// Where each planted text is found, by its name.
    private typealias Finds = [String: [String]]

    private struct Searches {
        var running: Finds
        var killed: Finds
        var wiped: Finds
    }

    @Test func `Nothing that was planted is found while the agent runs, after a kill and after a wipe`() async throws {
        let found = try await search([])
        for (moment, finds) in [("running", found.running), ("killed", found.killed), ("wiped", found.wiped)] {
            #expect(finds.count == 7, "\(moment): \(finds)")
            for (text, files) in finds { #expect(files.isEmpty, "\(moment): \(text) is in \(files)") }
        }
    }

    /// The search above can find something.
    @Test func `Without encryption the same search finds all that was planted, until the wipe`() async throws {
        let found = try await search(["--device-key", "none"])
        for (moment, finds) in [("running", found.running), ("killed", found.killed)] {
            #expect(finds.count == 7, "\(moment): \(finds)")
            for (text, files) in finds { #expect(!files.isEmpty, "\(moment): \(text) is not found") }
        }
        for (text, files) in found.wiped where text != "link" { #expect(files.isEmpty, "\(text) is in \(files)") }
    }

    private func search(_ arguments: [String]) async throws -> Searches {
        var searches: Searches?
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            _ = try await deployment.request(
                "/profiles/default", .PUT,
                body: #"{"analytics": {"enabled": true}, "customPayload": "\#(Self.payload)", "#
                    + #""logging": {"enabled": true, "scrubValues": ["\#(Self.scrubbed)"]}}"#)
            try await FaultyProxy.run(upstreamPort: deployment.collectorPort) { proxy in
                try deployment.startAgent(arguments, port: proxy.port)
                try await deployment.waitUntilAgentAnswers()
                let profile = try await Program.agent.run(["profile", "--data", deployment.agentData])
                #expect(profile.succeeded, "\(profile)")
                let device = try await deployment.deviceID()
                // The mark of the collector, which the device remembers, is the link of a record that is stored.
                try await plant(in: deployment)
                try await deployment.waitUntilSent()
                let authorization = try #require(proxy.authorization)
                let credential = try #require(authorization.split(separator: " ").last.map(String.init))
                try await deployment.stopCollector()
                let links = try Self.links(in: deployment.collectorData)
                // These wait on the device.
                try await plant(in: deployment)

                func finds() throws -> Finds {
                    var finds: Finds = [:]
                    for (name, text) in [
                        ("event", Self.event), ("event name", Self.eventName), ("log line", Self.line),
                        ("profile", Self.payload), ("scrub list", Self.scrubbed), ("credential", credential),
                    ] { finds[name] = try PlainTexts.files(in: deployment.agentData, with: text) }
                    finds["link"] = try links.flatMap { try PlainTexts.files(in: deployment.agentData, with: $0) }
                    return finds
                }
                let running = try finds()
                await deployment.agent?.killAndReap()
                let killed = try finds()

                try await deployment.startCollector()
                try deployment.startAgent(arguments, port: proxy.port)
                try await deployment.waitUntilAgentAnswers()
                try await plant(in: deployment)
                let left = try await Program.agent.run([
                    "unenroll", "--wipe", "--reason", "sold", "--yes", "--data", deployment.agentData,
                ])
                #expect(left.succeeded, "\(left)")
                try await deployment.until("the device has left", while: deployment.agent) {
                    try JSONDecoder().decode(Device.self, from: try await deployment.request("/devices/\(device)"))
                        .leftAt != nil
                }
                try await deployment.until("the agent has erased the rest", while: deployment.agent) {
                    ["wipe.json", "leaving.json"].allSatisfy {
                        !FileManager.default.fileExists(atPath: "\(deployment.agentData)/\($0)")
                    }
                }
                searches = Searches(running: running, killed: killed, wiped: try finds())
            }
        }
        return try #require(searches)
    }

    /// Gives the agent an event and a log line.
    private func plant(in deployment: Deployment) async throws {
        for arguments in [["event", Self.eventName, Self.event], ["log", "error", Self.line]] {
            let outcome = try await Program.agent.run(arguments + ["--data", deployment.agentData])
            try #require(outcome.succeeded, "\(outcome)")
        }
    }

    /// The links at which the parts end that the collector has. It must not run.
    private static func links(in directory: String) throws -> Set<Data> {
        var links: Set<Data> = []
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory) where name.hasSuffix(".sqlite") {
            let file = try Connection(path: "\(directory)/\(name)", options: Connection.Options(mode: .readOnly))
            // Other files have other tables.
            guard let slices = try? file.prepare("SELECT last_link FROM slice") else { continue }
            while try slices.step() { links.insert(slices.data(0)) }
        }
        try #require(!links.isEmpty, "the collector has no part")
        return links
    }
}
