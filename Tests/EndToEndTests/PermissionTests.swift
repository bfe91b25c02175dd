import Foundation
import Glibc
import TestKit
import Testing

/// What another user of the machine gets as an answer, and what a group may be allowed.
@Suite(.timeLimit(.minutes(5)), .enabled(if: geteuid() == 0, "only root can become another user"))
struct PermissionTests {
    /// A group of every Debian, and a user that is in none.
    private static let group = "adm"

    private static func user(in group: String? = nil) -> [String] {
        ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534"]
            + (group.map { ["--groups=\($0)"] } ?? ["--clear-groups"])
    }

    private static func log(_ text: String) -> [String] { ["log", "warning", text] }

    @Test func `Another user is told who may ask the agent, and a member of the group may`() async throws {
        try await Deployment.run { deployment in
            // The directory of the test is for anybody to enter; the agent's is its own.
            #expect(chmod(deployment.directory, 0o711) == 0)
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            for (program, arguments) in [
                (Program.agent, ["status"]), (.agent, ["beacon"]), (.log, ["show"]), (.log, ["send"]),
            ] {
                let outcome = try await program.run(arguments + ["--data", deployment.agentData], under: Self.user())
                #expect(outcome.ending == .exited(1), "\(arguments): \(outcome)")
                #expect(
                    outcome.errors.contains("no permission") && outcome.errors.contains("user root"),
                    "\(arguments): \(outcome)")
            }
            try await deployment.stopAgent()

            try deployment.startAgent(environment: ["WS1_ACCESS_GROUP": Self.group])
            try await deployment.waitUntilAgentAnswers()
            #expect(
                try await Program.agent.run(Self.log("for the group") + ["--data", deployment.agentData]).succeeded)
            for (program, arguments) in [(Program.agent, ["status"]), (.log, ["show"])] {
                let member = try await program.run(
                    arguments + ["--data", deployment.agentData], under: Self.user(in: Self.group))
                #expect(member.succeeded, "\(arguments): \(member)")
                #expect(program == .agent || member.output.contains("for the group"), "\(member)")
                let stranger = try await program.run(arguments + ["--data", deployment.agentData], under: Self.user())
                #expect(
                    stranger.ending == .exited(1) && stranger.errors.contains("no permission"),
                    "\(arguments): \(stranger)")
            }
            // Neither queue nor identity is any of the group's business.
            var status = stat()
            #expect(stat(deployment.agentData + "/identity", &status) == 0 && status.st_mode & 0o077 == 0)
            #expect(stat(deployment.agentData + "/queue.sqlite", &status) == 0 && status.st_mode & 0o077 == 0)
        }
    }

    @Test func `What root stores without an agent hinders the agent's user in nothing`() async throws {
        try await Deployment.run { deployment in
            #expect(chmod(deployment.directory, 0o711) == 0)
            try await deployment.startCollector()
            let data = deployment.agentData
            #expect(mkdir(data, 0o700) == 0 && chown(data, 65_534, 65_534) == 0)
            for (name, wrapper) in [("first", []), ("second", Self.user())] {
                try deployment.startAgent(
                    arguments: ["--collector", deployment.collectorURL], under: Self.user(),
                    environment: ["WS1_ENROLLMENT_TOKEN": deployment.token("enrollment-token")])
                try await deployment.waitUntilAgentAnswers()
                try await deployment.stopAgent()
                for command in [["event", "test.\(name)", "1", "--type", "integer"], ["beacon"]] {
                    let outcome = try await Program.agent.run(command + ["--data", data], under: wrapper)
                    #expect(outcome.succeeded, "\(command): \(outcome)")
                }
            }
            for name in try FileManager.default.subpathsOfDirectory(atPath: data) {
                let file = try FileManager.default.attributesOfItem(atPath: "\(data)/\(name)")
                #expect(file[.ownerAccountID] as? Int == 65_534, "\(name)")
            }
        }
    }

    @Test func `A collector's data is reported as closed and not as missing`() async throws {
        try await Deployment.run { deployment in
            #expect(chmod(deployment.directory, 0o711) == 0)
            try await deployment.startCollector()
            for arguments in [
                ["token", "list"], ["balance"], ["verify"], ["device-ca", "create"],
                ["backup", "--output", "/tmp/none"],
            ] {
                let outcome = try await Program.collector.run(
                    arguments + ["--data", deployment.collectorData], under: Self.user())
                #expect(!outcome.succeeded && outcome.errors.contains("no permission"), "\(arguments): \(outcome)")
                #expect(!outcome.errors.contains("is not a collector's data directory"), "\(arguments): \(outcome)")
            }
        }
    }

    @Test func `A group that is not there is refused before the start`() async throws {
        let outcome = try await Program.agent.run(
            ["validate", "--data", "/nonexistent/agent", "--collector", "http://127.0.0.1:1"],
            environment: ["WS1_ACCESS_GROUP": "no-such-group"])
        #expect(outcome.ending == .exited(64) && outcome.errors.contains("no-such-group"), "\(outcome)")
    }
}
