import Foundation
import NIOHTTP1
import Testing

/// One archive for support, with nothing secret in it.
@Suite(.timeLimit(.minutes(5)))
struct DiagnoseTests {
    private struct IdentityFile: Decodable {
        struct Content: Decodable { var credential: String }
        var content: Content
    }

    /// All that tar finds in an archive.
    private func unpacked(_ archive: String) async throws -> [String: String] {
        let directory = archive + ".d"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        let child = try ChildProcess(
            "/bin/tar", ["-xzf", archive, "-C", directory], environment: Program.environment([:]),
            output: directory + "/out", errors: directory + "/out")
        let ending = await child.ending(within: .seconds(60))
        guard ending == .exited(0) else { throw EndToEndError("tar: \(Program.text(directory + "/out"))") }
        let inside = directory + "/ws1agent-diagnosis"
        var files: [String: String] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: inside) {
            files[name] = Program.text("\(inside)/\(name)")
        }
        return files
    }

    @Test func `The archive is whole with and without an agent and holds no secret`() async throws {
        try await Deployment.run { deployment in
            let configuration = deployment.directory + "/agent.json5"
            try Data("{ scrub: { values: ['local-secret'] }, deviceKey: 'none' }".utf8).write(
                to: URL(fileURLWithPath: configuration))
            let place = ["--data", deployment.agentData, "--config", configuration]
            func run(_ arguments: String...) async throws -> Program.Outcome {
                try await Program.agent.run(arguments + place)
            }
            try await deployment.startCollector()
            _ = try await deployment.request(
                "/profiles/default", .PUT,
                body: """
                    {"analytics": {"enabled": true}, "customPayload": "{\\"door\\": {\\"password\\": \
                    \\"payload-secret\\"}}",
                     "logging": {"scrubValues": ["profile-secret"]}}
                    """)
            try deployment.startAgent(["--config", configuration])
            try await deployment.waitUntilAgentAnswers()
            #expect(try await run("push-token", "push-secret").succeeded)
            for secret in ["payload-secret", "profile-secret", "local-secret", "push-secret"] {
                #expect(try await run("log", "error", "it is \(secret) here").succeeded)
            }
            let payload = try await run("profile", "--payload")
            #expect(payload.output == #"{"door": {"password": "payload-secret"}}"#, "\(payload)")
            let value = try await run("profile", "--payload-key", "door.password")
            #expect(value.output == "payload-secret\n", "\(value)")

            let identity = try JSONDecoder().decode(
                IdentityFile.self, from: Data(Program.text(deployment.agentData + "/identity").utf8)
            ).content
            let secrets = [
                identity.credential, deployment.token("enrollment-token"), "payload-secret", "profile-secret",
                "local-secret", "push-secret",
            ]
            for (name, isRunning) in [("running", true), ("stopped", false)] {
                if !isRunning { try await deployment.stopAgent() }
                let archive = deployment.directory + "/\(name).tar.gz"
                let outcome = try await Program.agent.run(
                    ["diagnose", "--output", archive] + place,
                    environment: ["WS1_ENROLLMENT_TOKEN_FILE": deployment.collectorData + "/enrollment-token"])
                #expect(outcome.succeeded && outcome.errors.isEmpty, "\(outcome)")
                let mode = try FileManager.default.attributesOfItem(atPath: archive)[.posixPermissions] as? Int
                #expect(mode == 0o600)
                let files = try await unpacked(archive)
                #expect(
                    Set(files.keys) == [
                        "README.txt", "status.json", "profile.json", "balance.json", "queue.json", "configuration.json",
                        "log.txt",
                    ])
                #expect(files["status.json"]?.contains("\"running\" : \(isRunning)") == true)
                #expect(files["log.txt"]?.contains("it is [scrubbed] here") == true)
                for secret in secrets {
                    for (file, text) in files { #expect(!text.contains(secret), "\(file) has \(secret)") }
                }
                let again = try await Program.agent.run(["diagnose", "--output", archive] + place)
                #expect(again.ending == .exited(1) && again.errors.contains("exists"), "\(again)")
            }
        }
    }
}
