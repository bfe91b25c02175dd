import Foundation
import JSON
import Testing

/// `ws1ctl export` with a real collector and a real device.
@Suite(.timeLimit(.minutes(3)))
struct RecordExportTests {
    private static func lines(_ path: String) throws -> [JSONValue] {
        try Program.text(path).split(separator: "\n").map {
            try JSONValue(parsing: Data($0.utf8), limits: .own)
        }
    }

    @Test func `Records come whole over a connection that breaks, and a disk that is full is got over`() async throws {
        try await Deployment.run { deployment in
            try await deployment.startCollector()
            try deployment.startAgent()
            try await deployment.waitUntilAgentAnswers()
            let acknowledged = try await deployment.record(events: 30, prefix: "sold")
            try await deployment.waitUntilSent()
            let token = ["WS1_TOKEN_FILE": deployment.collectorData + "/administrator-token"]
            func export(_ arguments: [String], at url: String, under wrapper: [String] = []) async throws
                -> Program.Outcome
            {
                try await Program.ctl.run(
                    ["export", "--collector", url] + arguments, environment: token, under: wrapper)
            }
            func names(_ lines: [JSONValue]) -> [String] {
                lines.compactMap { line in
                    guard case .object(let line) = line, case .object(let event)? = line["event"],
                        case .text(let name)? = event["name"]
                    else { return nil }
                    return name
                }
            }

            // The first answers are lost.
            let path = deployment.directory + "/all.ndjson"
            try await FaultyProxy.run(upstreamPort: deployment.collectorPort) { proxy in
                proxy.behave(.loseAnswer)
                async let outcome = export(
                    ["--output", path, "--json"], at: "http://127.0.0.1:\(proxy.port)")
                try await proxy.faultsMet(3)
                proxy.behave(.forward)
                let done = try await outcome
                #expect(done.succeeded, "\(done)")
                guard case .object(let summary) = try JSONValue(parsing: Data(done.output.utf8), limits: .own),
                    case .integer(let repeats)? = summary["repeats"], case .integer(let records)? = summary["records"]
                else {
                    Issue.record("no summary: \(done)")
                    return
                }
                #expect(repeats >= 1)
                #expect(records == Int64(try Self.lines(path).count))
            }
            let found = names(try Self.lines(path)).filter(acknowledged.contains)
            #expect(Set(found) == acknowledged && found.count == acknowledged.count)

            // Standard output has the same lines, by the device's name.
            let device = try await Program.ctl.run(
                ["device", "list", "--names", "--collector", deployment.collectorURL], environment: token)
            let name = device.output.trimmingCharacters(in: .newlines)
            let events = try await export(["--device", name, "--kind", "event"], at: deployment.collectorURL)
            let shown = try events.output.split(separator: "\n").map {
                try JSONValue(parsing: Data($0.utf8), limits: .own)
            }
            #expect(events.succeeded && Set(names(shown)).isSuperset(of: acknowledged), "\(events)")

            // No room for more than 4 KiB in a file.
            let small = deployment.directory + "/small.csv"
            let full = try await export(
                ["--output", small, "--kind", "event", "--format", "csv"], at: deployment.collectorURL,
                under: ["/bin/sh", "-c", #"trap "" XFSZ; ulimit -f 8; exec "$@""#, "sh"])
            #expect(full.ending == .exited(75) && full.errors.contains("--resume --output \(small)"), "\(full)")
            #expect(!FileManager.default.fileExists(atPath: small))
            #expect(FileManager.default.fileExists(atPath: small + ".partial"))
            let resumed = try await export(["--resume", "--output", small], at: deployment.collectorURL)
            #expect(resumed.succeeded, "\(resumed)")
            let direct = try await export(
                ["--kind", "event", "--format", "csv"], at: deployment.collectorURL)
            #expect(direct.succeeded && Program.text(small) == direct.output)
            let again = try await export(["--output", small], at: deployment.collectorURL)
            #expect(again.ending == .exited(1) && again.errors.contains("exists"), "\(again)")
        }
    }
}
