import Foundation
import Glibc
import TestKit
import Testing

/// What `ws1collector` is started with, and what changes while it runs.
@Suite(.timeLimit(.minutes(5)))
struct CollectorSettingsTests {
    @Test func `A hangup from the first moment on ends nothing`() async throws {
        try await Deployment.run { deployment in
            let (log, port) = (deployment.directory + "/collector.log", try FreePorts.one())
            let collector = try ChildProcess(
                Program.collector.path, ["serve", "--data", deployment.collectorData, "--listen", "127.0.0.1:\(port)"],
                environment: Program.environment([:]), output: log, errors: log)
            var failure: (any Error)?
            do {
                try await deployment.until("the collector holds signals back", while: collector) {
                    collector.blocks(signal: SIGHUP)
                }
                for _ in 0..<20 { collector.send(signal: SIGHUP) }
                try await deployment.until("it listens", while: collector) {
                    Program.text(log).contains(#""listening""#)
                }
                collector.send(signal: SIGHUP)
                try await deployment.until("it reloads", while: collector) {
                    Program.text(log).contains("configuration reloaded")
                }
            } catch { failure = error }
            await collector.killAndReap()
            if let failure { throw failure }
        }
    }

    /// Each of these settings reads well, and `serve` could not use it.
    @Test func `What serve refuses, validate refuses`() async throws {
        try await Deployment.run { deployment in
            let file = deployment.directory + "/a-file"
            try Data().write(to: URL(fileURLWithPath: file))
            let usual = ["--data", deployment.collectorData, "--listen", "127.0.0.1:0"]
            for (wrong, word) in [
                (["--data", file], file), (["--data", file + "/below"], file),
                (["--data", "/dev/null/x"], "/dev/null"),
                (["--listen", "192.0.2.1:8420", "--allow-plaintext"], "192.0.2.1:8420"),
                (["--listen", "no.such.host.invalid:8420", "--allow-plaintext"], "no.such.host.invalid:8420"),
                (["--notice-webhook", "http://hooks.example/notices"], "notice-webhook"),
            ] {
                let serve = try await Program.collector.run(["serve"] + usual + wrong)
                let validate = try await Program.collector.run(["validate"] + usual + wrong)
                #expect(serve.ending == validate.ending && !serve.succeeded, "\(wrong): \(serve) \(validate)")
                #expect(validate.errors.contains(word) && serve.errors.contains(word), "\(wrong): \(serve) \(validate)")
            }
            let fresh = deployment.directory + "/fresh"
            #expect(try await Program.collector.run(["validate"] + usual + ["--data", fresh]).succeeded)
            #expect(!FileManager.default.fileExists(atPath: fresh), "validate writes nothing")
        }
    }

    @Test func `The port of a running collector is not a mistake`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            let validate = try await Program.collector.run(
                ["validate", "--data", deployment.collectorData, "--listen", "127.0.0.1:\(deployment.collectorPort)"])
            #expect(
                validate.succeeded
                    && validate.output.contains("already listens on 127.0.0.1:\(deployment.collectorPort)"))
            try await deployment.stopCollector()
        }
    }
}
