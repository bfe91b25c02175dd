import ArgumentParser
import CommandKit
import Foundation
import JSON
import TelemetryBasics
import TestKit
import Testing
import WireModel

@testable import CollectorClient
@testable import CtlCommands

/// A collector with lists of records, some of whose answers are lost.
private final class ScriptedCollector {
    /// Pages of each stream.
    let pages: [String: [[Int]]]
    /// How many answers get lost before each one that arrives.
    var losses: Int
    /// The answers that arrive before the collector is gone for good.
    var answers = Int.max
    private(set) var asked: [String] = []
    private var lost = 0

    init(_ pages: [String: [[Int]]], losses: Int = 0) { (self.pages, self.losses) = (pages, losses) }

    var session: Session {
        Session(collector: "http://127.0.0.1:1", organization: "west") { [self] call, _ throws(CollectorClientError) in
            asked.append(call.target)
            if lost < losses || answers <= 0 {
                lost += 1
                throw CollectorClientError(
                    TransportError(.connectionClosed, "the connection broke off"), peer: "http://127.0.0.1:1")
            }
            lost = 0
            answers -= 1
            let query = Dictionary(call.query.map { ($0.name, $0.value) }) { first, _ in first }
            let list = pages[query["stream"] ?? ""] ?? []
            let place = query["cursor"].flatMap(Int.init) ?? 0
            let items = (list.indices.contains(place) ? list[place] : []).map { #"{"number":\#($0),"kind":"event"}"# }
            let next = place + 1 < list.count ? "\"\(place + 1)\"" : "null"
            return Data(#"{"items":[\#(items.joined(separator: ","))],"next":\#(next)}"#.utf8)
        }
    }
}

@Suite struct ExportTests {
    private static let pages = ["status": [[1], []], "event": [[2, 3], [4, 5], [6]], "sample": [[7, 8]]]

    private static func plan(_ format: ExportFormat = .json) -> ExportPlan {
        ExportPlan(
            collector: "http://127.0.0.1:1", organization: "west", format: format,
            lists: ["status", "event", "sample"].map { [["stream", $0]] })
    }

    private static func run(_ collector: ScriptedCollector, _ plan: ExportPlan, patience: Int = 300) -> ExportRun {
        var run = ExportRun(session: collector.session, plan: plan, patience: .seconds(patience))
        run.pause = { _ in }
        return run
    }

    private static func numbers(_ path: String) throws -> [Int] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
            let value = try JSONValue(parsing: Data(line.utf8), limits: .own)
            return Int(value["number"]?.int64 ?? -1)
        }
    }

    @Test(arguments: [0, 1, 5])
    func `Answers that are lost lose and double no line`(losses: Int) async throws {
        let folder = try TemporaryDirectory()
        let path = folder.file("all.ndjson")
        let collector = ScriptedCollector(Self.pages, losses: losses)
        let file = try ExportFile(beginning: path, Self.plan())
        var run = Self.run(collector, Self.plan())
        try await run.write(to: file)
        #expect(!FileManager.default.fileExists(atPath: path), "it has its name before it is whole")
        try file.finish()
        #expect(try Self.numbers(path) == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(run.plan.records == 8 && run.repeats == Int64(losses * 6))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["all.ndjson"])
    }

    @Test(arguments: 0..<6, [0, 1, 40])
    func `An export that ends anywhere goes on without a lost or doubled line`(answers: Int, torn: Int) async throws {
        let folder = try TemporaryDirectory()
        let path = folder.file("all.ndjson")
        let collector = ScriptedCollector(Self.pages)
        collector.answers = answers
        do {
            let file = try ExportFile(beginning: path, Self.plan())
            var run = Self.run(collector, Self.plan(), patience: 0)
            let error = await #expect(throws: CollectorClientError.self) { try await run.write(to: file) }
            #expect(error?.code == .tryAgain)
        }
        // A kill may leave a part of a page that no plan knows.
        let partial = try FileHandle(forWritingTo: URL(fileURLWithPath: path + ".partial"))
        try partial.seekToEnd()
        try partial.write(contentsOf: Data(repeating: UInt8(ascii: "x"), count: torn))
        try partial.close()
        #expect(throws: CommandError.self, "it must not begin over the other") {
            _ = try ExportFile(beginning: path, Self.plan())
        }
        collector.answers = .max
        let plan = try ExportFile.plan(of: path)
        let file = try ExportFile(resuming: path, plan)
        var run = Self.run(collector, plan)
        try await run.write(to: file)
        try file.finish()
        #expect(try Self.numbers(path) == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(run.plan.records == 8)
        #expect(collector.asked.count == 7, "a page that was written is not asked for again")
    }

    @Test func `A partial file that lost its end is refused`() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.file("all.ndjson")
        let collector = ScriptedCollector(Self.pages)
        collector.answers = 3
        do {
            let file = try ExportFile(beginning: path, Self.plan())
            var run = Self.run(collector, Self.plan(), patience: 0)
            await #expect(throws: CollectorClientError.self) { try await run.write(to: file) }
        }
        #expect(truncate(path + ".partial", 1) == 0)
        let plan = try ExportFile.plan(of: path)
        let error = #expect(throws: CommandError.self) { _ = try ExportFile(resuming: path, plan) }
        #expect(error?.message.contains("has lost its end") == true)
    }

    @Test func `A file that is there is not touched`() throws {
        let folder = try TemporaryDirectory()
        let path = folder.file("mine")
        try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: CommandError.self) { _ = try ExportFile(beginning: path, Self.plan()) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["mine"])
        #expect(throws: CommandError.self) { _ = try ExportFile.plan(of: path) }
    }

    @Test func `CSV has a head once, and what would be a formula is text`() async throws {
        let item = try JSONValue(
            parsing: Data(
                #"""
                {"time":"2026-01-01T00:00:00Z","device":"d","deviceName":"=cmd","kind":"event","number":5,
                "event":{"name":"a,\"b\"","value":42,"type":"custom"}}
                """#.utf8), limits: .own)
        let text = String(
            decoding: ExportText.head(.csv) + (try ExportText.lines([item], .csv)), as: UTF8.self)
        let lines = text.components(separatedBy: "\r\n")
        #expect(
            lines[0] == "time,device,deviceName,kind,module,application,name,value,test,receivedAt,epoch,number,data")
        let data = #""{""name"":""a,\""b\"""",""type"":""custom"",""value"":42}""#
        #expect(lines[1] == #"2026-01-01T00:00:00Z,d,'=cmd,event,,,"a,""b""",42,,,,5,"# + data)
        #expect(lines.count == 3 && lines[2].isEmpty)
    }

    @Test func `Only the stream that has a kind is asked for it`() throws {
        for (arguments, streams) in [
            ([], ["status", "event", "sample"]), (["--kind", "beacon"], ["status"]),
            (["--kind", "otlp-log"], ["event"]), (["--kind", "otlp-metrics"], ["sample"]),
            (["--module", "system"], ["sample"]),
        ] {
            #expect(try ExportCommand.parse(arguments).streams == streams)
        }
    }

    @Test func `An export that ended before it began tells what to remove`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/out"
        try Data().write(to: URL(fileURLWithPath: path + ".partial"))
        let error = #expect(throws: CommandError.self) { try ExportFile.plan(of: path) }
        #expect(error?.message.contains("Remove \(path).partial, and leave out --resume") == true)
    }

    @Test(arguments: [
        (["--json"], "give --output"), (["--resume"], "needs --output"), (["--format", "xml"], "expected json or csv"),
        (["--resume", "--output", "x", "--kind", "event"], "give no filter"), (["--patience=-1"], "expected 0"),
        (["--kind", "command-result"], "expected beacon, event"),
        (["--kind", "event", "--module", "system"], "leave out"),
    ])
    func `What cannot be meant is refused before the collector is asked`(arguments: [String], words: String) {
        do {
            _ = try ExportCommand.parse(arguments)
            Issue.record("\(arguments) was accepted")
        } catch { #expect(ExportCommand.message(for: error).contains(words), "\(ExportCommand.message(for: error))") }
    }
}
