import Foundation
import TestKit
import Testing
import WireModel

/// The built `ws1collector export`.
@Suite("ws1collector export", .timeLimit(.minutes(10)))
struct ExportCommandTests {
    private static func lines(_ run: ProgramRun) throws -> [[String: Any]] {
        try run.output.split(separator: UInt8(ascii: "\n")).map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
        }
    }

    @Test func `Every record is one line in the order of receipt`() async throws {
        let data = try await KeptData(days: 3)
        let run = try await data.ws1collector("export")
        #expect(run.status == 0, "\(run.errors)")
        let lines = try Self.lines(run)
        #expect(lines.count == 3 * 3 * Int(data.records))
        #expect(Set(lines.map { $0["organization"] as? String }) == ["default"])
        for device in data.devices {
            for (stream, kind) in [("status", "beacon"), ("event", "event"), ("sample", "sample-system")] {
                let own = lines.filter { $0["device"] as? String == "\(device)" && $0["stream"] as? String == stream }
                #expect(own.compactMap { $0["number"] as? Int } == Array(1...Int(data.records)))
                #expect(own.allSatisfy { $0["kind"] as? String == kind })
            }
        }
        let event = try #require(lines.first { $0["stream"] as? String == "event" }?["event"] as? [String: Any])
        #expect(event["name"] as? String == "event.0.0" && event["value"] as? Int == 42)
    }

    @Test func `It is filtered by what is asked`() async throws {
        let data = try await KeptData(days: 3)
        func count(_ arguments: String...) async throws -> Int {
            let run = try await ProgramRun.of(
                ["export", "--data", data.path] + arguments, program: URL(fileURLWithPath: ProgramRun.ws1collectorPath))
            #expect(run.status == 0, "\(run.errors)")
            return try Self.lines(run).count
        }
        let day = 3 * KeptData.recordsPerDay
        #expect(try await count("--stream", "event", "--stream", "status") == 2 * 3 * day)
        #expect(try await count("--kind", "sample-system") == 3 * day)
        #expect(try await count("--kind", "sample-wlan") == 0)
        #expect(try await count("--module", "system") == 3 * day)
        #expect(try await count("--device", "\(data.devices[1])") == 3 * day)
        #expect(try await count("--device", "\(data.devices[1])", "--kind", "beacon") == day)
        #expect(try await count("--organization", "default", "--stream", "event") == 3 * day)
        #expect(
            try await count("--since", "2025-06-16", "--until", "2025-06-17T00:00:00Z", "--stream", "sample") == day)
        #expect(try await count("--since", "2025-06-17", "--device", "\(data.devices[0])") == day)
    }

    @Test func `A file is not overwritten, and mistakes are reported`() async throws {
        let data = try await KeptData(days: 1, devices: 1)
        let file = data.path + "/out.ndjson"
        let written = try await data.ws1collector("export", "--output", file)
        #expect(written.status == 0 && written.output.isEmpty)
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: file)).count { $0 == UInt8(ascii: "\n") } == 3
                * KeptData.recordsPerDay)
        let again = try await data.ws1collector("export", "--output", file)
        #expect(again.status == 1 && again.errors.contains("exists. Name another file"))
        for wrong in [
            ["--stream", "x"], ["--kind", "x"], ["--since", "x"], ["--device", "x"],
            // Nothing could be found, which is not what was meant.
            ["--organization", "elsewhere"], ["--device", "00000000-0000-4000-8000-000000000000"],
            ["--since", "2025-06-17", "--until", "2025-06-16"], ["--since", "1h", "--until", "2h"],
            ["--kind", "event", "--stream", "sample"], ["--module", "system", "--stream", "event"],
        ] {
            let run = try await ProgramRun.of(
                ["export", "--data", data.path] + wrong, program: URL(fileURLWithPath: ProgramRun.ws1collectorPath))
            #expect(
                run.status == 64 && (run.errors.contains(wrong[1]) || run.errors.contains("is not before"))
                    && run.output.isEmpty, "\(wrong) \(run.errors)")
        }
    }
}
