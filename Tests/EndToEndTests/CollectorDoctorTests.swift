import Foundation
import Glibc
import PostgresTestKit
import TestKit
import Testing

/// Each cause is made for real, and `ws1collector doctor` names it.
@Suite(.timeLimit(.minutes(5)))
struct CollectorDoctorTests {
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

    private static func examine(
        _ arguments: [String], environment: [String: String] = [:], under wrapper: [String] = []
    ) async throws -> Report {
        let outcome = try await Program.collector.run(
            ["doctor", "--json", "--timeout", "2"] + arguments, environment: environment, under: wrapper)
        guard let report = try? JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8)) else {
            throw EndToEndError("no report: \(outcome)")
        }
        #expect(
            report.checks.map(\.name) == [
                "clock", "configuration", "certificate", "disk", "permissions", "store", "cluster", "port", "service",
                "webhook", "broker",
            ])
        guard let broken = report.broken else {
            #expect(outcome.succeeded && outcome.errors.isEmpty, "\(outcome)")
            return report
        }
        #expect(outcome.ending == .exited(1), "\(outcome)")
        #expect(outcome.errors.contains("the first broken link is \(broken): "), "\(outcome.errors)")
        let remedy = try #require(try report.check(broken).remedy)
        #expect(outcome.errors.contains("To mend it: \(remedy)"), "\(outcome.errors)")
        return report
    }

    private static func place(_ deployment: Deployment) -> [String] {
        ["--data", deployment.collectorData, "--listen", "127.0.0.1:\(deployment.collectorPort)"]
    }

    @Test func `A well collector has no broken link, and a stopped one and its servers are named`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            let place = Self.place(deployment)
            let well = try await Self.examine(place)
            #expect(well.broken == nil, "\(well.text)")
            #expect(try well.check("service").found.contains("is ready"), "\(well.text)")

            let closed = try FreePorts.one()
            let webhook = try await Self.examine(place + ["--notice-webhook", "http://127.0.0.1:\(closed)/notices"])
            #expect(webhook.broken == "webhook", "\(webhook.text)")
            let received = try await Self.examine(
                place + ["--notice-webhook", "http://127.0.0.1:\(deployment.collectorPort)/"])
            #expect(try received.check("webhook").state == "ok", "\(received.text)")

            let wrong = try await Self.examine(["--data", deployment.collectorData, "--listen", "nowhere"])
            #expect(wrong.broken == "configuration", "\(wrong.text)")

            try await deployment.stopCollector()
            let stopped = try await Self.examine(place)
            #expect(stopped.broken == "service", "\(stopped.text)")
            #expect(try stopped.check("port").found.contains("is free"), "\(stopped.text)")
        }
    }

    @Test func `A program that says nothing on the port is named`() async throws {
        try await Deployment.run { deployment in
            let silent = try SilentPort()
            let report = try await Self.examine([
                "--data", deployment.collectorData, "--listen", "127.0.0.1:\(silent.port)",
            ])
            #expect(report.broken == "service", "\(report.text)")
            #expect(try report.check("service").found.contains("did not answer"), "\(report.text)")
            withExtendedLifetime(silent) {}
        }
    }

    @Test func `A certificate that is missing, open to all, out of time or of another key is named`() async throws {
        try await Deployment.run { deployment in
            let directory = deployment.directory
            for (name, text) in [
                ("one.pem", ServerCertificates.one.certificate), ("one.key", ServerCertificates.one.key),
                ("two.key", ServerCertificates.two.key),
            ] {
                try Data(text.utf8).write(to: URL(fileURLWithPath: "\(directory)/\(name)"))
                #expect(chmod("\(directory)/\(name)", 0o600) == 0)
            }
            func examine(_ key: String, certificate: String = "one.pem", clock: FakeClock? = nil) async throws
                -> Report
            {
                try await Self.examine(
                    Self.place(deployment) + [
                        "--tls-certificate", "\(directory)/\(certificate)", "--tls-key", "\(directory)/\(key)",
                    ], environment: clock?.environment ?? [:])
            }
            let good = try await examine("one.key")
            #expect(try good.check("certificate").state == "ok", "\(good.text)")
            #expect(try good.check("certificate").found.contains("localhost"), "\(good.text)")
            for (key, certificate) in [("two.key", "one.pem"), ("one.key", "none.pem")] {
                let report = try await examine(key, certificate: certificate)
                #expect(report.broken == "certificate", "\(report.text)")
            }
            let clock = try FakeClock(directory: directory)
            clock.set(offsetSeconds: 150 * 365 * 86_400)
            let late = try await examine("one.key", clock: clock)
            #expect(late.broken == "certificate", "\(late.text)")
            #expect(try late.check("certificate").found.contains("expired"), "\(late.text)")
            clock.set(offsetSeconds: -20 * 365 * 86_400)
            let early = try await examine("one.key", clock: clock)
            #expect(early.broken == "clock", "\(early.text)")
            #expect(try early.check("certificate").found.contains("is not valid before"), "\(early.text)")
            #expect(chmod("\(directory)/one.key", 0o644) == 0)
            let open = try await examine("one.key")
            #expect(open.broken == "certificate", "\(open.text)")
            #expect(try open.check("certificate").remedy == "chmod o= \(directory)/one.key", "\(open.text)")
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can become another user and mount a tmpfs"))
    func `Missing rights, files of other users and a full disk are named`() async throws {
        let disk = try SmallDisk(megabytes: 160)
        defer { disk.remove() }
        try await Deployment.run(collectorData: disk.path + "/collector") { deployment in
            #expect(chmod(disk.path, 0o711) == 0)
            try await deployment.startCollector()
            let place = Self.place(deployment) + ["--disk-notice-bytes", "0"]
            let well = try await Self.examine(place)
            #expect(well.broken == nil, "\(well.text)")
            let low = try await Self.examine(Self.place(deployment))
            #expect(try low.check("disk").state == "warning", "\(low.text)")

            let stranger = try await Self.examine(
                place, under: ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
            #expect(stranger.broken == "permissions", "\(stranger.text)")
            #expect(try stranger.check("permissions").found.contains("user root"), "\(stranger.text)")

            #expect(chown(deployment.collectorData + "/collector.sqlite", 65534, 65534) == 0)
            let mixed = try await Self.examine(place)
            #expect(mixed.broken == "permissions", "\(mixed.text)")
            #expect(try mixed.check("permissions").found.contains("collector.sqlite"), "\(mixed.text)")

            _ = try disk.fill()
            let full = try await Self.examine(place)
            #expect(full.broken == "disk", "\(full.text)")
        }
    }
}
