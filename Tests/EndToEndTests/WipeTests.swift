import Foundation
import NIOHTTP1
import Testing
import WireModel

/// A device that the collector wipes for good leaves nothing behind, however often its agent is killed meanwhile.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct WipeTests {
    private struct Device: Decodable { var leftAt: String? }
    private struct WipeCommand: Decodable {
        struct Certificate: Decodable {
            var isVerified: Bool
            var finding: String?
            var file: String
        }
        var wipeCertificate: Certificate?
    }
    private struct PrintedCertificate: Decodable { var document: String }
    private struct IdentityFile: Decodable {
        struct Content: Decodable { var credential: String }
        var content: Content
    }

    /// Names of the files that contain a text, as it is or in base64.
    private static func files(in directory: String, with text: String) throws -> [String] {
        let forms =
            [Data(text.utf8)]
            + (0..<3).map { offset in
                let bytes = Data(repeating: 0, count: offset) + Data(text.utf8)
                return Data(
                    bytes.base64EncodedString().prefix(bytes.count / 3 * 4).dropFirst(offset == 0 ? 0 : offset + 1).utf8
                )
            }
        return try FileManager.default.subpathsOfDirectory(atPath: directory).filter { name in
            // Neither a directory nor the control socket can be read.
            guard let bytes = try? Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)")) else { return false }
            return forms.contains { bytes.range(of: $0) != nil }
        }
    }

    @Test func `An enterprise wipe ends, whatever kills the agent`() async throws {
        var dice = SeededGenerator.announced(for: "WipeTests")
        try await Deployment.run { deployment in
            let (payload, scrubbed) = ("payload-that-nobody-may-find", "word-that-nobody-may-find")
            let logged = "line-that-nobody-may-find"
            try await deployment.startCollector()
            _ = try await deployment.request(
                "/profiles/default", .PUT,
                body: #"{"analytics": {"enabled": true}, "customPayload": "\#(payload)", "#
                    + #""logging": {"enabled": true, "scrubValues": ["\#(scrubbed)"]}}"#)
            // The test looks into the files.
            try deployment.startAgent(["--device-key", "none"])
            try await deployment.waitUntilAgentAnswers()
            try await deployment.until("the agent has the profile on disk", while: deployment.agent) {
                try Self.files(in: deployment.agentData, with: payload) == ["profile.json"]
            }
            let identity = try JSONDecoder().decode(
                IdentityFile.self, from: try Data(contentsOf: URL(fileURLWithPath: deployment.agentData + "/identity"))
            ).content
            let line = try await Program.agent.run(["log", "error", logged, "--data", deployment.agentData])
            #expect(line.succeeded, "\(line)")
            #expect(try Self.files(in: deployment.agentData, with: logged).isEmpty == false)

            let device = try await deployment.deviceID()
            let command = try await deployment.issue(
                #"{"kind": "enterprise-wipe", "arguments": {"reason": "test"}}"#, to: device)
            try await deployment.kill(times: 12, using: &dice)
            #expect(try await deployment.end(of: command, device: device).state == "done")
            try await deployment.until("the device has left", while: deployment.agent) {
                let answer = try await deployment.request("/devices/\(device)")
                return try JSONDecoder().decode(Device.self, from: answer).leftAt != nil
            }
            try await deployment.until("the agent has erased the rest", while: deployment.agent) {
                try FileManager.default.contentsOfDirectory(atPath: deployment.agentData)
                    .allSatisfy { !["wipe.json", "leaving.json", "profile.json"].contains($0) }
            }
            for text in [identity.credential, payload, scrubbed, logged] {
                #expect(try Self.files(in: deployment.agentData, with: text) == [])
            }
            try await self.expectCertificate(of: command.id, device: device, deployment)
            // The enrollment token of before brings nothing back.
            try await deployment.stopAgent()
            try deployment.startAgent()
            try await deployment.until("the agent says that it was unenrolled", while: deployment.agent) {
                let status = try await Program.agent.run(["status", "--data", deployment.agentData])
                return status.output.contains("this device was unenrolled")
            }
            #expect(try await deployment.deviceID() == device)
            try await deployment.stopAgent()
            #expect(try await deployment.balance(.agent).values.joined().allSatisfy { $0.closes })
        }
    }

    /// The collector has verified the certificate, and `verify-wipe` does so again, with and without its data.
    private func expectCertificate(of command: String, device: String, _ deployment: Deployment) async throws {
        let answer = try await deployment.request("/devices/\(device)/commands/\(command)")
        let certificate = try #require(try JSONDecoder().decode(WipeCommand.self, from: answer).wipeCertificate)
        #expect(certificate.isVerified, "\(certificate.finding ?? "")")
        let file = deployment.directory + "/wipe.json"
        try Data(certificate.file.utf8).write(to: URL(filePath: file))
        let checked = try await Program.collector.run(["verify-wipe", file, "--data", deployment.collectorData])
        #expect(checked.succeeded && checked.output.contains("verified: device \(device)"), "\(checked)")
        let alone = try await Program.collector.run(["verify-wipe", file])
        #expect(alone.ending == .exited(1) && alone.output.contains("public key: "), "\(alone)")
        #expect(alone.errors.contains("is not verified: its signature is right, but nobody has"), "\(alone)")
        #expect(alone.errors.contains("--data") && alone.errors.contains("--key"), "\(alone)")
        let key = try #require(alone.output.split(separator: "\n").first { $0.hasPrefix("public key: ") }).dropFirst(12)
        let confirmed = try await Program.collector.run(["verify-wipe", file, "--key", String(key)])
        #expect(confirmed.succeeded && confirmed.output.contains("verified: whoever"), "\(confirmed)")
        let other = Data(count: 32).base64EncodedString()
        let refused = try await Program.collector.run(["verify-wipe", file, "--key", other])
        #expect(refused.ending == .exited(1) && refused.errors.contains("is not verified"), "\(refused)")
        try Data(certificate.file.replacing("wipe", with: "wine").utf8).write(to: URL(filePath: file))
        let changed = try await Program.collector.run(["verify-wipe", file, "--data", deployment.collectorData])
        #expect(changed.ending == .exited(1), "\(changed)")
    }

    @Test func `A wipe on the device prints its certificate, and the collector knows the key`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            _ = try await deployment.deviceID()
            let wiped = try await Program.agent.run(["wipe", "--yes", "--json", "--data", deployment.agentData])
            #expect(wiped.succeeded, "\(wiped)")
            let printed = try JSONDecoder().decode(PrintedCertificate.self, from: Data(wiped.output.utf8))
            for content in [wiped.output, printed.document] {
                let file = deployment.directory + "/printed.json"
                try Data(content.utf8).write(to: URL(filePath: file))
                let checked = try await Program.collector.run(
                    ["verify-wipe", file, "--data", deployment.collectorData, "--json"])
                #expect(checked.succeeded && checked.output.contains("\"confirmedBy\""), "\(checked)")
            }
        }
    }

    @Test func `Unenrolling with a wipe relies on the agent's word`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let data = deployment.agentData
            let refused = try await Program.agent.run(["unenroll", "--reason", "sold", "--yes", "--data", data])
            #expect(refused.ending == .exited(64) && refused.errors.contains("--wipe"), "\(refused)")
            let asked = try await Program.agent.run(["unenroll", "--json", "--yes", "--data", data])
            #expect(asked.ending == .exited(64) && asked.errors.contains("--wipe"), "\(asked)")
            let left = try await Program.agent.run(["unenroll", "--wipe", "--reason", "sold", "--yes", "--data", data])
            #expect(left.succeeded && left.output.contains("unenrolled"), "\(left)")
            // What follows the two lines for people is the certificate.
            let printed = left.output.split(separator: "\n", maxSplits: 2).last.map(String.init) ?? ""
            let file = deployment.directory + "/printed.json"
            try Data(printed.utf8).write(to: URL(filePath: file))
            let checked = try await Program.collector.run(["verify-wipe", file, "--data", deployment.collectorData])
            #expect(checked.succeeded && checked.output.contains("verified: device"), "\(checked)")
            let device = try await deployment.deviceID()
            try await deployment.until("the device has left", while: deployment.agent) {
                let answer = try await deployment.request("/devices/\(device)")
                return try JSONDecoder().decode(Device.self, from: answer).leftAt != nil
            }
        }
    }
}
