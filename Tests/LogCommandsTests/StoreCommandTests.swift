import Foundation
import LogStore
import TelemetryBasics
import TestKit
import Testing
import WireModel

@testable import LogCommands

@Suite struct StoreCommandTests {
    private let folder: StoreFolder

    init() throws { folder = try StoreFolder() }

    private func run(_ arguments: String..., environment: [String: String] = [:]) async throws -> ProgramRun {
        try await ProgramRun.ws1log(arguments + ["--data", folder.path], environment: environment)
    }

    private func lines(_ data: Data) -> [Data] { data.split(separator: UInt8(ascii: "\n")).map { Data($0) } }

    /// Segments in the sample follow each other in time, so merged order is byte order.
    @Test func `Show prints lines by time`() async throws {
        #expect(try await run("show").output == folder.text(1, 2, 3, 5))
        #expect(try await run("show", "--ring").output == folder.text(1, 2, 3, 4, 5))
    }

    @Test func `Tail prints the latest lines`() async throws {
        let all = lines(folder.text(1, 2, 3, 5))
        for count in [0, 1, 10, 500] {
            #expect(lines(try await run("tail", "-n", "\(count)").output) == all.suffix(count))
        }
    }

    @Test func `Colour is for terminals unless asked for`() async throws {
        #expect(!(try await run("tail").output.contains(0x1B)))
        #expect(try await run("tail", "--color").output.contains(0x1B))
        #expect(!(try await run("tail", environment: ["NO_COLOR": "1"]).output.contains(0x1B)))
    }

    @Test func `List shows every segment`() async throws {
        let segments = try JSONDecoder().decode(
            [ListCommand.Segment].self, from: try await run("list", "--json").output)
        #expect(segments.map(\.kind) == ["application", "application", "crash", "ring", "application"])
        #expect(segments.map(\.isSealed) == [true, true, true, true, false])
        #expect(segments.map(\.rawBytes) == (1...5).map { folder.texts[$0]!.count })
        #expect(try await run("list").text.split(separator: "\n").count == 6)
    }

    @Test func `Each command can be about one application`() async throws {
        let visitor = try LogVisitor(
            {
                var configuration = LogStore.Configuration(directory: folder.store.path, applicationName: "t")
                configuration.applicationIdentifier = "com.example.kiosk"
                return configuration
            }())
        #expect(visitor.deliver([LogEntry(.error, "printer on fire", category: "kiosk")]).written == 1)
        let line = try await run("show", "--application", "com.example.kiosk").text
        #expect(line.contains("printer on fire") && line.split(separator: "\n").count == 1)
        #expect(try await run("tail", "-n", "1000", "--application", "com.example.kiosk").text == line)
        #expect(try await run("fetch", "--application", "com.example.kiosk").text == line)
        #expect(try await run("show", "--application", "nobody").text.isEmpty)
        let segments = try JSONDecoder().decode(
            [ListCommand.Segment].self,
            from: try await run("list", "--json", "--application", "com.example.kiosk").output)
        #expect(segments.map(\.application) == ["com.example.kiosk"])
        let statistics = try JSONDecoder().decode(
            StatsCommand.Statistics.self,
            from: try await run("stats", "--json", "--application", "com.example.kiosk").output)
        #expect(statistics.all.lines == 1 && statistics.segments == 1)
        let verify = try await run("verify", "--application", "com.example.kiosk")
        #expect(verify.status == 64 && verify.errors.contains("--application"))
        let ids = try await run("list", "--ids", "1")
        #expect(ids.status == 64 && ids.errors.contains("--collector"))
    }

    @Test func `Stats count by level, type and category`() async throws {
        let statistics = try JSONDecoder().decode(
            StatsCommand.Statistics.self, from: try await run("stats", "--json", "--ring").output)
        let all = lines(folder.text(1, 2, 3, 4, 5))
        #expect(statistics.all == .init(lines: all.count, bytes: folder.text(1, 2, 3, 4, 5).count))
        #expect(statistics.levels["error"]?.lines == all.count { $0[$0.startIndex + 28] == UInt8(ascii: "E") })
        #expect(statistics.types["crash"]?.bytes == folder.texts[3]!.count)
        #expect(statistics.categories.values.reduce(0) { $0 + $1.lines } == all.count)
        #expect(try await run("stats").text.contains("app.network"))
    }

    @Test func `Verify finds nothing in a whole store`() async throws {
        let run = try await run("verify", "--json")
        #expect(run.status == 0, "\(run.text)")
        let result = try JSONDecoder().decode(VerifyCommand.Result.self, from: run.output)
        #expect(result.findings == [])
        #expect(result.lines == lines(folder.text(1, 2, 3, 4, 5)).count)
    }

    enum Damage: String, CaseIterable {
        case flippedSealed, truncatedSealed, flippedIndex, lostIndex, lostSealed, otherNumber, flippedState
    }

    @Test(arguments: Damage.allCases)
    func `Verify names what is damaged`(_ damage: Damage) async throws {
        let name = SegmentName(ordinal: 2, kind: .application)
        let active = SegmentName(ordinal: 5, kind: .application)
        func change(_ file: String, _ body: (inout Data) -> Void) throws {
            let url = URL(fileURLWithPath: folder.store.path(file))
            var data = try Data(contentsOf: url)
            body(&data)
            let handle = try FileHandle(forWritingTo: url)
            try handle.truncate(atOffset: 0)
            try handle.write(contentsOf: data)
        }
        let file: String
        switch damage {
        case .flippedSealed:
            file = name.file(.sealed)
            try change(file) { $0[$0.count / 2] ^= 4 }
        case .truncatedSealed:
            file = name.file(.sealed)
            try change(file) { $0.removeLast(10) }
        case .flippedIndex:
            file = name.file(.index)
            try change(file) { $0[100] ^= 1 }
        case .lostIndex:
            file = name.file(.index)
            try folder.store.remove(file)
        case .lostSealed:
            file = name.file(.index)
            try folder.store.remove(name.file(.sealed))
        case .otherNumber:
            file = active.file(.text)
            try change(file) { $0[30] = UInt8(ascii: "9") }
        case .flippedState:
            file = "state"
            try change(file) { $0[20] ^= 1 }
        }
        let run = try await run("verify")
        #expect(run.status == 1)
        #expect(run.text.contains("damaged  \(file)"), "\(run.text)")
    }

    @Test func `Verify names the first odd lines and counts the rest`() async throws {
        let name = SegmentName(ordinal: 5, kind: .application)
        let path = folder.store.path(name, .text)
        let count = 5000
        try FileManager.default.removeItem(atPath: path)
        try Data(String(repeating: "odd\n", count: count).utf8).write(to: URL(fileURLWithPath: path))
        let run = try await run("verify")
        #expect(run.status == 1)
        let damaged = run.text.split(separator: "\n").filter { $0.hasPrefix("damaged") }
        #expect(damaged.count == 21)
        #expect(damaged.last?.contains("\(count) lines in all") == true)
    }

    @Test func `Lines are printed as JSON`() async throws {
        struct Line: Decodable, Equatable {
            var time: String
            var level: String
            var number: UInt64
            var category: String
            var message: String
            var metadata: [String: String]
        }
        let text = lines(folder.text(1, 2, 3, 5))
        for (output, expected) in [
            (try await run("show", "--json").output, text),
            (try await run("tail", "--json", "--color", "-n", "7").output, text.suffix(7)),
        ] {
            let found = try lines(output).map { try JSONDecoder().decode(Line.self, from: $0) }
            let fields = try expected.map { line in try #require(line.withUnsafeBytes { LogLine($0) }) }
            #expect(found.map(\.time) == fields.map { Timestamp.text($0.time) })
            #expect(found.map(\.number) == fields.map(\.number.value))
            #expect(found.map(\.level) == fields.map(\.level.name))
        }
    }

    @Test func `Delete removes sealed segments and counts them`() async throws {
        let refused = try await run("delete", "--type", "crash")
        #expect(refused.status == 64)
        #expect(refused.errors.contains("--yes"))
        let crash = UInt64(lines(folder.text(3)).count)
        #expect(try await run("delete", "--type", "crash", "--yes").text == "\(crash) lines deleted\n")
        #expect(try folder.store.readState()?.dropped[.deleted]?.total == crash)
        #expect(try await run("fetch").output == folder.text(1, 2, 5))
        #expect(try await run("stats").text.contains("deleted"))

        #expect(try await run("delete", "--yes", "--json").status == 0)
        #expect(try await run("fetch", "--ring").output == folder.text(5))
        #expect(try await run("verify").status == 0)
    }
}
