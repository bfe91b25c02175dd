import Foundation
import JSON
import Testing

/// `ws1ctl` with a real collector and a real device.
@Suite(.timeLimit(.minutes(3)))
struct AdministratorCommandTests {
    @Test func `An administrator works by names, with a context`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let environment = ["WS1CTL_CONTEXTS": deployment.directory + "/ctl/contexts.yaml"]
            func ctl(_ arguments: String...) async throws -> Program.Outcome {
                try await Program.ctl.run(arguments, environment: environment)
            }
            func json(_ arguments: String...) async throws -> JSONValue {
                let outcome = try await Program.ctl.run(arguments + ["--json"], environment: environment)
                #expect(outcome.succeeded, "\(arguments): \(outcome)")
                return try JSONValue(parsing: Data(outcome.output.utf8), limits: .own)
            }

            let none = try await ctl("device", "list")
            #expect(none.ending == .exited(64) && none.errors.contains("context set"), "\(none)")
            let set = try await ctl(
                "context", "set", "test", "--collector", deployment.collectorURL, "--token-file",
                deployment.collectorData + "/administrator-token")
            #expect(set.succeeded, "\(set)")

            // A device by its name.
            try await deployment.until("the collector lists the device", while: deployment.agent) {
                try await ctl("device", "list", "--names").output.count > 1
            }
            let name = try await ctl("device", "list", "--names").output.trimmingCharacters(in: .newlines)
            guard case .object(let device) = try await json("device", "get", name),
                case .text(let id)? = device["id"]
            else {
                Issue.record("no device")
                return
            }
            #expect(device["name"] == .text(name))
            #expect(try await json("device", "get", String(id.prefix(8))) != .null)
            let event = try await Program.agent.run(["event", "sold", "42", "--data", deployment.agentData])
            #expect(event.succeeded, "\(event)")
            try await deployment.until("the event is there", while: deployment.agent) {
                try await ctl("event", "list", "--device", name, "--name", "sold").output.contains("42")
            }
            let missing = try await ctl("device", "get", "no-such-device")
            #expect(missing.ending == .exited(64) && missing.errors.contains("no-such-device"), "\(missing)")

            // A command, by name and once.
            let sent = try await json("command", "send", name, "send-beacon", "--expires-in", "1h")
            guard case .object(let command) = sent else {
                Issue.record("no command")
                return
            }
            #expect(command["device"] == .text(id))
            #expect(try await ctl("command", "list", name).output.contains("send-beacon"))

            // Documents: a dry run changes nothing, and a second run finds nothing to do.
            let folder = deployment.directory + "/documents"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let organization: String
            if case .text(let name)? = device["organization"] { organization = name } else { organization = "" }
            try Data(
                "kind: log-quotas\norganization: \(organization)\nquotas: {com.example.app: 50000000}\n".utf8
            ).write(to: URL(fileURLWithPath: folder + "/quotas.yaml"))
            // The organization has assigned nothing so far. The device is named, not numbered.
            let assignments = """
                kind: assignments
                organization: \(organization)
                groups: [{name: desks, devices: ["\(name)"]}]
                applications: [{application: com.example.app, group: desks}]

                """
            try Data(assignments.utf8).write(to: URL(fileURLWithPath: folder + "/assignments.yaml"))
            let dry = try await ctl("apply", "-f", folder, "--dry-run")
            #expect(dry.output.contains("assignments of \(organization) touches 1 device: \(name)"), "\(dry)")
            #expect(dry.succeeded && dry.output.contains("+ log quotas of \(organization)"), "\(dry)")
            let refused = try await ctl("apply", "-f", folder)
            #expect(refused.ending == .exited(64) && refused.errors.contains("--yes"), "\(refused)")
            #expect(try await ctl("apply", "-f", folder, "--dry-run").output == dry.output)
            #expect(try await ctl("apply", "-f", folder, "--yes").succeeded)
            #expect(try await ctl("apply", "-f", folder, "--yes").output == "no changes\n")

            // A profile by merge patch: what the patch does not name stays.
            let patch = deployment.directory + "/patch.yaml"
            try Data("sampling: {modules: [system]}\n".utf8).write(to: URL(fileURLWithPath: patch))
            let former = try await json("profile", "get", "--organization", organization)
            let patched = try await ctl("profile", "patch", patch, "--organization", organization, "--yes")
            #expect(patched.succeeded, "\(patched)")
            let new = try await json("profile", "get", "--organization", organization)
            #expect(new != former)
            let diff = try await ctl("profile", "diff", "--organization", organization)
            #expect(diff.succeeded && diff.output.contains("/sampling"), "\(diff)")
            let edited = try await Program.ctl.run(
                ["profile", "edit", "--organization", organization, "--dry-run"],
                environment: environment.merging(["VISUAL": "true"]) { $1 })
            #expect(edited.succeeded && edited.output == "no changes\n", "\(edited)")

            let token = try await ctl("token", "create", "reader", "--role", "viewer", "--output", folder + "/token")
            #expect(token.succeeded && !token.output.contains(Program.text(folder + "/token")), "\(token)")
            let viewer = try await Program.ctl.run(
                ["token", "list", "--token-file", folder + "/token"], environment: environment)
            #expect(viewer.ending == .exited(1), "\(viewer)")
            #expect(try await ctl("token", "revoke", "reader", "--yes").succeeded)
        }
    }

    @Test func `A job acts on the devices that it shows before, and tells what became of each`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let collector = [
                "--collector", deployment.collectorURL, "--token-file",
                deployment.collectorData + "/administrator-token",
            ]
            func ctl(_ arguments: String...) async throws -> Program.Outcome {
                try await Program.ctl.run(arguments + collector)
            }
            try await deployment.until("the collector lists the device", while: deployment.agent) {
                try await ctl("device", "list", "--names").output.count > 1
            }
            let name = try await ctl("device", "list", "--names").output.trimmingCharacters(in: .newlines)

            let unnamed = try await ctl("job", "command", "send-beacon", "--yes")
            #expect(unnamed.ending == .exited(64) && unnamed.errors.contains("--all-devices"), "\(unnamed)")
            let everybody = try await ctl("job", "revoke", "--test", "--yes")
            #expect(everybody.ending == .exited(64) && everybody.errors.contains("--all-devices"), "\(everybody)")
            let nobody = try await ctl("job", "command", "send-beacon", "--state", "revoked", "--yes")
            #expect(nobody.ending == .exited(1) && nobody.errors.contains("no device is selected"), "\(nobody)")
            let unasked = try await ctl("job", "revoke", "--device", name)
            #expect(unasked.ending == .exited(64) && unasked.errors.contains("1 device will be refused"), "\(unasked)")
            #expect(try await ctl("job", "list", "--names").output.isEmpty)

            let begun = try await ctl(
                "job", "command", "change-log-level", "level=verbose", "durationSeconds:=600", "--words", name, "--yes",
                "--wait", "--json")
            #expect(begun.succeeded, "\(begun)")
            guard case .object(let job) = try JSONValue(parsing: Data(begun.output.utf8), limits: .own),
                case .text(let id)? = job["id"]
            else {
                Issue.record("no job")
                return
            }
            #expect(job["state"] == .text("done") && job["done"] == .integer(1), "\(begun)")
            let devices = try await ctl("job", "devices", String(id.prefix(8)))
            #expect(devices.output.contains("done"), "\(devices)")
            let issued = try await ctl("command", "list", name)
            #expect(issued.output.contains("change-log-level"), "\(issued)")

            // What is refused for a device ends with 1, and says where to look.
            let revoked = try await ctl("job", "revoke", "--device", name, "--yes", "--wait")
            #expect(revoked.succeeded, "\(revoked)")
            let refused = try await ctl("job", "command", "send-beacon", "--device", name, "--yes", "--wait")
            #expect(refused.ending == .exited(1) && refused.errors.contains("ws1ctl job devices"), "\(refused)")
            let reasons = try await ctl("job", "devices", id, "--result", "done")
            #expect(reasons.succeeded, "\(reasons)")
        }
    }
}
