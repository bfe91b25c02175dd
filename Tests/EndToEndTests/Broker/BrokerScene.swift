import AsyncHTTPClient
import Foundation
import MosquittoTestKit
import NIOCore
import NIOHTTP1
import TestKit

/// A deployment whose agent knows no other address than that of a real Mosquitto, under the access list that is
/// packaged. The collector is a client of the same broker.
struct BrokerScene {
    let broker: MosquittoBroker
    let deployment: Deployment
    /// File with the authority of the broker's certificate; `nil`: it has none.
    let authority: String?

    /// The prefix of the packaged access list.
    static let prefix = "ws1"
    private static let users = ["collector": "c", "kiosk": "k", "other": "o"]

    var address: String {
        "\(authority == nil ? "mqtt://127.0.0.1" : "mqtts://localhost"):\(broker.port)/\(Self.prefix)"
    }

    static func options() throws -> MosquittoBroker.Options {
        let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
        var options = MosquittoBroker.Options()
        options.users = users
        options.acl = try String(contentsOf: root.appending(path: "Tools/packaging/mosquitto/ws1.acl"), encoding: .utf8)
        return options
    }

    /// The arguments of an agent or a collector at the broker, beside the address.
    static func credentials(_ user: String, _ broker: MosquittoBroker) throws -> [String] {
        let password = try broker.file("\(user).password", "\(users[user] ?? "")\nanother line\n")
        return ["--mqtt-user", user, "--mqtt-password-file", password]
    }

    /// Runs `body` with broker and collector running, and no agent.
    static func play(
        _ change: (inout MosquittoBroker.Options) -> Void = { _ in }, _ body: (BrokerScene) async throws -> Void
    ) async throws {
        var options = try options()
        change(&options)
        let broker = try await MosquittoBroker.start(options)
        let authority =
            options.certificate == nil ? nil : try broker.file("authority.pem", ServerCertificates.authority)
        try await Deployment.run { deployment in
            let scene = BrokerScene(broker: broker, deployment: deployment, authority: authority)
            do {
                try await scene.startCollector()
                try await body(scene)
            } catch {
                print("--- the end of the broker's log", broker.log.suffix(2000), separator: "\n")
                throw error
            }
        }
    }

    func startCollector() async throws {
        try await deployment.startCollector(
            try ["--mqtt-broker", address] + Self.credentials("collector", broker)
                + (authority.map { ["--mqtt-ca", $0] } ?? []))
    }

    /// The agent samples and sends each second, unless it is told to be quiet: then it sends what somebody waits for,
    /// and asks for nothing by itself for at least an hour.
    func startAgent(
        _ extra: [String] = [], user: String = "kiosk", isQuiet: Bool = false, environment: [String: String] = [:]
    ) throws {
        let seconds = isQuiet ? "3600" : "1"
        try deployment.startAgent(
            arguments: try [
                "--collector", address, "--enrollment-token-file", deployment.collectorData + "/enrollment-token",
                "--sample-interval", seconds, "--transmit-interval", seconds, "--event-hold", "0",
            ] + Self.credentials(user, broker) + extra, environment: environment)
    }

    /// The value of one series of the collector's `/metrics`; 0 if there is none.
    func metric(_ series: String) async throws -> Double {
        var request = HTTPClientRequest(url: deployment.collectorURL + "/metrics")
        request.headers.add(name: "authorization", value: "Bearer \(deployment.token("administrator-token"))")
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
        let text = String(buffer: try await response.body.collect(upTo: 16 << 20))
        guard response.status == .ok else { throw EndToEndError("/metrics: \(response.status) \(text)") }
        let line = text.split(separator: "\n").first { $0.hasPrefix(series + " ") }
        return line.flatMap { Double($0.dropFirst(series.utf8.count + 1)) } ?? 0
    }

    /// What the agent was told through its notice hook, which appends to a file.
    struct Hook {
        let arguments: [String]
        let environment: [String: String]
        let received: String

        init(_ deployment: Deployment) throws {
            let path = deployment.directory + "/hook"
            try Data("#!/bin/sh\ncat >> \"$1\"\n".utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
            received = deployment.directory + "/received"
            arguments = ["--notice-hook", path]
            environment = ["WS1_NOTICE_HOOK_ARGUMENTS": received]
        }

        func has(_ text: String) -> Bool { Program.text(received).contains(text) }
    }
}
