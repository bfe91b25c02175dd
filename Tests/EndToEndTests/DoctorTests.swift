import Foundation
import Glibc
import MosquittoTestKit
import NIOHTTP1
import PostgresTestKit
import TestKit
import Testing

/// Each cause is made for real, and `ws1agent doctor` names it before what follows from it.
@Suite(.timeLimit(.minutes(5)))
struct DoctorTests {
    private struct Report: Decodable {
        struct Check: Decodable {
            var name: String
            var state: String
            var found: String
            var remedy: String?
        }
        var checks: [Check]
        var broken: String?

        func check(_ name: String) throws -> Check { try #require(checks.first { $0.name == name }) }
        var text: String { checks.map { "\($0.name) \($0.state): \($0.found)" }.joined(separator: "\n") }
    }

    private static let order = [
        "clock", "configuration", "dns", "proxy", "tcp", "tls", "pin", "collector", "token", "credential", "profile",
        "gates", "disk", "permissions", "encryption", "location", "agent", "acknowledged",
    ]

    /// Examines an agent; the exit code and the report must agree.
    private static func examine(
        _ arguments: [String], environment: [String: String] = [:], under wrapper: [String] = []
    ) async throws -> Report {
        let outcome = try await Program.agent.run(
            ["doctor", "--json", "--timeout", "2"] + arguments, environment: environment, under: wrapper)
        guard let report = try? JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8)) else {
            throw EndToEndError("no report: \(outcome)")
        }
        #expect(report.checks.map(\.name) == order)
        guard let broken = report.broken else {
            #expect(outcome.succeeded && outcome.errors.isEmpty, "\(outcome)")
            return report
        }
        let check = try report.check(broken)
        #expect(check.state == "broken")
        #expect(outcome.ending == .exited(1), "\(outcome)")
        #expect(outcome.errors.contains("the first broken link is \(broken): "), "\(outcome.errors)")
        let remedy = try #require(check.remedy)
        #expect(outcome.errors.contains("To mend it: \(remedy)"), "\(outcome.errors)")
        #expect(report.checks.first { $0.state == "broken" }?.name == broken)
        return report
    }

    private static func place(_ deployment: Deployment) -> [String] {
        ["--data", deployment.agentData, "--collector", deployment.collectorURL]
    }

    private static func sent(_ deployment: Deployment) async throws {
        try await deployment.startCollector()
        try deployment.startAgent()
        try await deployment.waitUntilAgentAnswers()
        let outcome = try await deployment.record(event: "for.the.doctor", value: 1)
        guard outcome.succeeded else { throw EndToEndError("\(outcome)") }
        try await deployment.waitUntilSent()
    }

    @Test func `A well agent has no broken link, and a stopped one is named`() async throws {
        try await Deployment.run { deployment in
            try await Self.sent(deployment)
            let well = try await Self.examine(Self.place(deployment))
            #expect(well.broken == nil, "\(well.text)")
            for name in Self.order { #expect(try ["ok", "warning"].contains(well.check(name).state), "\(well.text)") }
            for name in ["clock", "dns", "tcp", "collector", "credential", "gates", "disk", "agent", "acknowledged"] {
                #expect(try well.check(name).state == "ok", "\(well.text)")
            }
            #expect(try well.check("acknowledged").found.contains(#/event ([1-9][0-9]*) of \1/#), "\(well.text)")
            // An enrolled device knows its collector.
            let alone = try await Self.examine(["--data", deployment.agentData])
            #expect(alone.broken == nil, "\(alone.text)")
            let words = try await Program.agent.run(["doctor", "--data", deployment.agentData])
            #expect(words.succeeded && words.output.contains("credential"), "\(words)")

            try await deployment.stopAgent()
            let stopped = try await Self.examine(["--data", deployment.agentData])
            #expect(stopped.broken == "agent", "\(stopped.text)")
            #expect(try stopped.check("credential").state == "ok", "\(stopped.text)")
            #expect(try stopped.check("acknowledged").found.contains(#/event ([1-9][0-9]*) of \1/#), "\(stopped.text)")

            try await deployment.stopCollector()
            let gone = try await Self.examine(["--data", deployment.agentData])
            #expect(gone.broken == "tcp", "\(gone.text)")
            #expect(try gone.check("credential").state == "not-reached", "\(gone.text)")
        }
    }

    @Test func `A closed gate is named with the command that opens it`() async throws {
        try await Deployment.run { deployment in
            try await Self.sent(deployment)
            _ = try await deployment.request("/profiles/default", .PUT, body: #"{"doNotDisturbAllowed": true}"#)
            try await deployment.until("the agent follows the profile", while: deployment.agent) {
                try await Program.agent.run(["dnd", "on", "--data", deployment.agentData]).succeeded
            }
            for (closed, remedy) in [("do-not-disturb", "dnd off"), ("consent", "consent granted")] {
                if closed == "consent" {
                    _ = try await Program.agent.run(["consent", "pending", "--data", deployment.agentData])
                }
                let report = try await Self.examine(Self.place(deployment))
                let check = try report.check("gates")
                #expect(report.broken == "gates" && check.found.contains(closed), "\(report.text)")
                let command = try #require(check.remedy)
                #expect(command == "ws1agent \(remedy) --data \(deployment.agentData)")
                // What mends it is a command of this program.
                let words = command.split(separator: " ").dropFirst().map(String.init)
                let mended = try await Program.agent.run(words)
                #expect(mended.succeeded, "\(mended)")
            }
            let open = try await Self.examine(Self.place(deployment))
            #expect(open.broken == nil, "\(open.text)")
        }
    }

    @Test func `Each fault on the way to the collector is named`() async throws {
        try await Deployment.run { deployment in
            let closed = try FreePorts.one()
            let silent = try SilentPort()
            try await deployment.startCollector()
            let cases: [(arguments: [String], broken: String)] = [
                (["--collector", "https://no-such-host.invalid"], "dns"),
                (["--collector", "http://127.0.0.1:\(closed)"], "tcp"),
                (["--collector", deployment.collectorURL, "--proxy", "http://127.0.0.1:\(closed)"], "proxy"),
                (["--collector", "http://127.0.0.1:\(silent.port)"], "collector"),
                (["--collector", "https://127.0.0.1:\(silent.port)"], "tls"),
                (["--collector", "https://127.0.0.1:\(deployment.collectorPort)"], "tls"),
                (["--collector", "ftp://127.0.0.1"], "configuration"),
            ]
            for (arguments, broken) in cases {
                let report = try await Self.examine(["--data", deployment.agentData] + arguments)
                #expect(report.broken == broken, "\(arguments): \(report.text)")
                let later = try #require(Self.order.firstIndex(of: broken)) + 1
                for name in Self.order[later...Self.order.firstIndex(of: "credential")!] {
                    #expect(try report.check(name).state == "not-reached", "\(arguments): \(report.text)")
                }
            }
            withExtendedLifetime(silent) {}
        }
    }

    @Test func `A refused token is named, and an accepted one enrolls nobody`() async throws {
        struct Devices: Decodable {
            struct Device: Decodable { var id: String }
            var items: [Device]
        }
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            let wrong = deployment.directory + "/wrong-token"
            try Data("ws1e_no-such-token".utf8).write(to: URL(fileURLWithPath: wrong))
            let refused = try await Self.examine(Self.place(deployment) + ["--enrollment-token-file", wrong])
            #expect(refused.broken == "token", "\(refused.text)")
            #expect(try refused.check("token").remedy?.contains("ws1collector token create --enrollment") == true)

            let none = try await Self.examine(Self.place(deployment))
            #expect(none.broken == "token", "\(none.text)")

            let token = deployment.collectorData + "/enrollment-token"
            let accepted = try await Self.examine(Self.place(deployment) + ["--enrollment-token-file", token])
            #expect(try accepted.check("token").state == "ok", "\(accepted.text)")
            #expect(accepted.broken == "agent", "\(accepted.text)")
            let devices = try JSONDecoder().decode(
                Devices.self, from: try await deployment.request("/devices"))
            #expect(devices.items.isEmpty)
        }
    }

    @Test func `An expired token is named`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            let made = try await Program.collector.run([
                "token", "create", "--enrollment", "--expires", "1s", "--data", deployment.collectorData,
            ])
            #expect(made.succeeded, "\(made)")
            let file = deployment.directory + "/expired-token"
            try Data(made.output.utf8).write(to: URL(fileURLWithPath: file))
            let arguments = Self.place(deployment) + ["--enrollment-token-file", file]
            try await deployment.until("the token expires", while: deployment.collector) {
                try await Self.examine(arguments).broken == "token"
            }
            let report = try await Self.examine(arguments)
            #expect(try report.check("token").found.contains("expired"), "\(report.text)")
            #expect(try report.check("token").remedy?.contains("ws1collector token create --enrollment") == true)
        }
    }

    @Test func `A revoked credential is named whether the agent runs or not`() async throws {
        try await Deployment.run { deployment in
            try await Self.sent(deployment)
            _ = try await deployment.request("/devices/\(try await deployment.deviceID())/revoke", .POST, body: "{}")
            for isRunning in [true, false] {
                if !isRunning { try await deployment.stopAgent() }
                let report = try await Self.examine(Self.place(deployment))
                #expect(report.broken == "credential", "\(report.text)")
                #expect(try report.check("credential").found.contains("revoked"), "\(report.text)")
            }
        }
    }

    @Test func `An untrusted certificate, another key than the pinned one and a wrong clock are told apart`()
        async throws
    {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try await deployment.stopCollector()
            let port = try FreePorts.one()
            let directory = deployment.directory
            for (name, text) in [
                ("authority.pem", ServerCertificates.authority), ("one.pem", ServerCertificates.one.certificate),
                ("one.key", ServerCertificates.one.key), ("two.pem", ServerCertificates.two.certificate),
            ] { try Data(text.utf8).write(to: URL(fileURLWithPath: "\(directory)/\(name)")) }
            let address = "https://localhost:\(port)"
            let file = directory + "/enrollment.json"
            let made = try await Program.collector.run([
                "enrollment-file", "--data", deployment.collectorData, "--address", address, "--tls-certificate",
                "\(directory)/two.pem", "--output", file,
            ])
            #expect(made.succeeded, "\(made)")
            let log = directory + "/tls.log"
            let collector = try ChildProcess(
                Program.collector.path,
                [
                    "serve", "--data", deployment.collectorData, "--listen", "127.0.0.1:\(port)",
                    "--tls-certificate", "\(directory)/one.pem", "--tls-key", "\(directory)/one.key",
                ], environment: Program.environment([:]), output: log, errors: log)
            do {
                let data = ["--data", deployment.agentData]
                let authority = ["--ca", "\(directory)/authority.pem"]
                let trusted = data + ["--collector", address] + authority
                try await deployment.until("the collector serves TLS", while: collector) {
                    try await Self.examine(trusted).broken == "token"
                }
                let untrusted = try await Self.examine(data + ["--collector", address])
                #expect(untrusted.broken == "tls", "\(untrusted.text)")
                #expect(try untrusted.check("tls").found.contains("is not trusted"), "\(untrusted.text)")

                let pinned = try await Self.examine(data + ["--enrollment", file] + authority)
                #expect(pinned.broken == "pin", "\(pinned.text)")
                #expect(try pinned.check("tls").state == "ok", "\(pinned.text)")
                #expect(try pinned.check("pin").found.contains(ServerCertificates.one.pin), "\(pinned.text)")

                // Long before the certificate, and before this program was built.
                let clock = try FakeClock(directory: directory)
                clock.set(offsetSeconds: -20 * 365 * 86_400)
                let past = try await Self.examine(trusted, environment: clock.environment)
                #expect(past.broken == "clock", "\(past.text)")
                #expect(try past.check("tls").state == "broken", "\(past.text)")
                clock.set(offsetSeconds: 3 * 86_400)
                let ahead = try await Self.examine(trusted, environment: clock.environment)
                #expect(ahead.broken == "clock", "\(ahead.text)")
                #expect(try ahead.check("clock").found.contains("ahead of the collector"), "\(ahead.text)")
                clock.set(offsetSeconds: -1000)
                let behind = try await Self.examine(trusted, environment: clock.environment)
                #expect(try ["warning", "broken"].contains(behind.check("clock").state), "\(behind.text)")
            } catch {
                await collector.killAndReap()
                throw error
            }
            await collector.killAndReap()
        }
    }

    @Test func `A certificate of another host is named`() async throws {
        try await Deployment.run { deployment in
            let (directory, port) = (deployment.directory, try FreePorts.one())
            for (name, text) in [
                ("authority.pem", ServerCertificates.authority), ("one.pem", ServerCertificates.one.certificate),
                ("one.key", ServerCertificates.one.key),
            ] { try Data(text.utf8).write(to: URL(fileURLWithPath: "\(directory)/\(name)")) }
            let log = directory + "/tls.log"
            let collector = try ChildProcess(
                Program.collector.path,
                [
                    "serve", "--data", deployment.collectorData, "--listen", "127.0.0.2:\(port)",
                    "--tls-certificate", "\(directory)/one.pem", "--tls-key", "\(directory)/one.key",
                ], environment: Program.environment([:]), output: log, errors: log)
            do {
                let arguments = [
                    "--data", deployment.agentData, "--collector", "https://127.0.0.2:\(port)", "--ca",
                    "\(directory)/authority.pem",
                ]
                try await deployment.until("the certificate is refused", while: collector) {
                    try await Self.examine(arguments).broken == "tls"
                }
                let report = try await Self.examine(arguments)
                #expect(try report.check("tls").found.contains("127.0.0.2"), "\(report.text)")
            } catch {
                await collector.killAndReap()
                throw error
            }
            await collector.killAndReap()
        }
    }

    @Test func `A broker that is away, and one that refuses the agent, are named`() async throws {
        try await BrokerScene.play { scene in
            let deployment = scene.deployment
            func examine(_ address: String) async throws -> Report {
                try await Self.examine(
                    ["--data", deployment.agentData, "--collector", address], environment: ["WS1_MQTT_USER": "kiosk"])
            }
            let away = try await examine("mqtt://127.0.0.1:\(try FreePorts.one())/\(BrokerScene.prefix)")
            #expect(away.broken == "tcp", "\(away.text)")

            let stopped = try await examine(scene.address)
            #expect(try stopped.check("tcp").state == "ok", "\(stopped.text)")
            #expect(try stopped.check("collector").state == "not-reached", "\(stopped.text)")

            // The password of another user.
            let wrong = try scene.broker.file("wrong.password", "o\n")
            try scene.startAgent(["--mqtt-password-file", wrong])
            try await deployment.until("the agent hears that it is refused", while: deployment.agent) {
                try await examine(scene.address).broken == "collector"
            }
            let refused = try await examine(scene.address)
            #expect(try refused.check("collector").found.contains("password"), "\(refused.text)")

            try await deployment.stopAgent()
            try scene.startAgent()
            try await deployment.until("nothing is broken", while: deployment.agent) {
                try await examine(scene.address).broken == nil
            }
            let well = try await examine(scene.address)
            #expect(try well.check("collector").found.contains("through"), "\(well.text)")
        }
    }

    @Test func `A device key that is gone is named`() async throws {
        try await Deployment.run { deployment in
            try await Self.sent(deployment)
            try await deployment.stopAgent()
            try FileManager.default.moveItem(
                atPath: deployment.agentData + "/device.key", toPath: deployment.directory + "/device.key")
            let report = try await Self.examine(Self.place(deployment))
            #expect(report.broken == "encryption", "\(report.text)")
            #expect(try report.check("encryption").found.contains("locked"), "\(report.text)")
        }
    }

    @Test(.enabled(if: SmallDisk.canMount, "mounting a tmpfs needs root"))
    func `A full disk is named`() async throws {
        let disk = try SmallDisk(megabytes: 160)
        defer { disk.remove() }
        try await Deployment.run(agentData: disk.path + "/agent") { deployment in
            try await Self.sent(deployment)
            let well = try await Self.examine(Self.place(deployment))
            #expect(well.broken == nil, "\(well.text)")
            _ = try disk.fill()
            let report = try await Self.examine(Self.place(deployment))
            #expect(report.broken == "disk", "\(report.text)")
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
    func `Missing rights and files of other users are named, with the group that may`() async throws {
        try await Deployment.run { deployment in
            #expect(chmod(deployment.directory, 0o711) == 0)
            func user(_ groups: String) -> [String] {
                ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", groups]
            }
            try await deployment.startCollector()
            try deployment.startAgent(environment: ["WS1_ACCESS_GROUP": "adm"])
            try await deployment.waitUntilAgentAnswers()
            _ = try await deployment.record(event: "for.the.group", value: 1)
            try await deployment.waitUntilSent()
            let stranger = try await Self.examine(Self.place(deployment), under: user("--clear-groups"))
            #expect(stranger.broken == "permissions", "\(stranger.text)")
            #expect(try stranger.check("permissions").remedy?.contains("usermod -aG adm") == true, "\(stranger.text)")
            #expect(try stranger.check("collector").state == "ok", "\(stranger.text)")

            let member = try await Self.examine(Self.place(deployment), under: user("--groups=adm"))
            #expect(member.broken == nil, "\(member.text)")
            #expect(try member.check("credential").state == "ok", "\(member.text)")

            #expect(chown(deployment.agentData + "/profile.json", 65534, 65534) == 0)
            let mixed = try await Self.examine(Self.place(deployment))
            #expect(mixed.broken == "permissions", "\(mixed.text)")
            #expect(try mixed.check("permissions").found.contains("profile.json"), "\(mixed.text)")
            #expect(try mixed.check("permissions").remedy?.hasPrefix("chown -R root") == true, "\(mixed.text)")
        }
    }

    @Test func `A gpsd that does not answer is named only while the location is wanted`() async throws {
        try await Deployment.run { deployment in
            try await Self.sent(deployment)
            let gpsd = ["WS1_GPSD": "127.0.0.1:\(try FreePorts.one())"]
            let unwanted = try await Self.examine(Self.place(deployment), environment: gpsd)
            #expect(try unwanted.check("location").state == "ok", "\(unwanted.text)")
            _ = try await deployment.request(
                "/profiles/default", .PUT,
                body: #"{"sampling": {"modules": ["gps"]}, "privacy": {"position": "send"}}"#)
            try await deployment.until("the agent wants the location", while: deployment.agent) {
                _ = try await Program.agent.run(["profile", "--reload", "--data", deployment.agentData])
                return try await Self.examine(Self.place(deployment), environment: gpsd).broken == "location"
            }
        }
    }
}
