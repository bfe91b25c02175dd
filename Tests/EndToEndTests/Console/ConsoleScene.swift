import AsyncHTTPClient
import BrowserTestKit
import Foundation
import NIOCore
import NIOHTTP1
import Testing

/// A collector with two organizations that have devices and logs, and the people who look at them.
///
/// `default` has a real agent, with events and logs of its own. `harbor` has simulated devices.
struct ConsoleScene {
    enum Role: String, CaseIterable { case viewer, `operator`, administrator }

    let deployment: Deployment
    /// The id of the agent in `default`.
    let device: String
    let harborDevices: [String]

    var origin: String { deployment.collectorURL }

    static func run(simulated: Int = 3, _ body: (ConsoleScene) async throws -> Void) async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try await deployment.requireConsole()
            _ = try await deployment.request("/organizations", .POST, body: #"{"name": "harbor"}"#)
            let harbor = try await deployment.simulate(devices: simulated, organization: "harbor")
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            _ = try await deployment.record(events: 3, prefix: "console.event")
            try await deployment.log("information", "the door opened")
            try await deployment.log("error", "the door is stuck")
            try await deployment.sendLogs()
            try await deployment.waitUntilSent()
            let own = try await deployment.devices("organization=default")
            try await body(
                ConsoleScene(deployment: deployment, device: try #require(own.first), harborDevices: harbor))
        }
    }

    /// A new access token.
    /// - Parameter organization: `nil` for all.
    func token(_ role: Role, of organization: String?) async throws -> String {
        struct Token: Decodable { var token: String }
        let place = organization.map { #", "organization": "\#($0)""# } ?? ""
        let body = #"{"kind": "person", "name": "A \#(role)", "role": "\#(role)"\#(place)}"#
        return try JSONDecoder().decode(
            Token.self, from: try await deployment.request("/tokens", .POST, body: body)
        ).token
    }

    /// The address that signs in once as the person of a token.
    static func signInLink(at origin: String, token: String) async throws -> String {
        struct Made: Decodable { var code: String }
        var request = HTTPClientRequest(url: origin + "/api/v1/sign-in-codes")
        request.method = .POST
        request.headers.add(name: "authorization", value: "Bearer \(token)")
        request.headers.add(name: "connection", value: "close")
        let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(30)).body.collect(upTo: 4096)
        return "\(origin)/sign-in#\(try JSONDecoder().decode(Made.self, from: Data(answer.readableBytesView)).code)"
    }

    /// Opens a page of the browser, signs in, and runs `body`.
    func withPage(
        _ role: Role = .administrator, of organization: String? = nil, viewport: Viewport = .laptop,
        _ body: (Page) async throws -> Void
    ) async throws {
        let token = try await token(role, of: organization)
        try await Browser.current.withPage(viewport: viewport) { page in
            try await page.signIn(at: origin, token: token)
            try await body(page)
        }
    }
}

extension Page {
    /// Signs in as the link of `Tools/run` does.
    func signIn(at origin: String, token: String) async throws {
        try await navigate(to: try await ConsoleScene.signInLink(at: origin, token: token))
        try await waitUntil("!document.getElementById('sign-in') && document.readyState === 'complete'")
    }
}

extension Deployment {
    /// - Throws: if the collector has no files of the console.
    func requireConsole() async throws {
        var request = HTTPClientRequest(url: collectorURL + "/readyz")
        request.headers.add(name: "connection", value: "close")
        let answer = try await HTTPClient.shared.execute(request, timeout: .seconds(30)).body.collect(upTo: 4096)
        guard String(buffer: answer).contains(#""console":"ready""#) else {
            throw EndToEndError("the console's files are missing; run Tools/assets")
        }
    }

    /// Ids of devices.
    func devices(_ query: String) async throws -> [String] {
        struct List: Decodable {
            struct Device: Decodable { var id: String }
            var items: [Device]
        }
        return try JSONDecoder().decode(List.self, from: try await request("/devices?\(query)")).items.map(\.id)
    }

    /// Simulates devices until each has sent something.
    /// - Returns: their ids.
    func simulate(devices count: Int, organization: String) async throws -> [String] {
        struct Token: Decodable { var token: String }
        let body = #"{"kind": "enrollment", "organization": "\#(organization)", "unlimited": true}"#
        let token = try JSONDecoder().decode(Token.self, from: try await request("/tokens", .POST, body: body)).token
        let file = "\(directory)/enrollment-\(organization)"
        try Data(token.utf8).write(to: URL(fileURLWithPath: file))
        let outcome = try await Program.simulator.run(
            [
                "--collector", collectorURL, "--enrollment-token-file", file,
                "--token-file", "\(collectorData)/administrator-token", "--devices", String(count), "--seconds", "10",
                "--speed", "5", "--sample-interval", "2", "--transmit-interval", "4", "--beacon-interval", "4",
                "--faults", "none", "--no-outage",
            ], limit: .seconds(120))
        guard outcome.succeeded else { throw EndToEndError("fleet-simulator: \(outcome)") }
        return try await devices("organization=\(organization)&test=true&limit=1000")
    }

    func log(_ level: String, _ message: String) async throws {
        let outcome = try await Program.agent.run(["log", level, message, "--data", agentData])
        guard outcome.succeeded else { throw EndToEndError("log: \(outcome)") }
    }

    /// Has the agent send its logs, and waits until the collector has them.
    func sendLogs() async throws {
        let outcome = try await Program.log.run(["send", "--data", agentData])
        guard outcome.succeeded else { throw EndToEndError("send: \(outcome)") }
        try await until("the collector has logs", while: agent) { try await self.logChunks("") > 0 }
    }
}
