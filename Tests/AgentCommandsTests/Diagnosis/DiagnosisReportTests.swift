import CommandKit
import Foundation
import Gzip
import LogStore
import Testing
import WireModel

@testable import AgentCommands
@testable import DataSampler

@Suite struct DiagnosisReportTests {
    private let directory = FileManager.default.temporaryDirectory.appendingPathComponent("diagnosis-\(UUID())").path

    /// The files of an archive, read as tar reads them.
    private static func files(_ archive: [UInt8]) throws -> [String: String] {
        let bytes = try GzipCodec.decompress(archive)
        func text(_ range: Range<Int>) -> String { String(decoding: bytes[range].prefix { $0 != 0 }, as: UTF8.self) }
        var files: [String: String] = [:]
        var place = 0
        while bytes[place] != 0 {
            #expect(text(place + 257..<place + 263) == "ustar")
            let sum = bytes[place..<place + 512].enumerated().reduce(0) { sum, byte in
                sum + ((148..<156).contains(byte.offset) ? 32 : Int(byte.element))
            }
            #expect(Int(text(place + 148..<place + 154), radix: 8) == sum)
            let count = try #require(Int(text(place + 124..<place + 135), radix: 8))
            files[text(place..<place + 100)] = String(decoding: bytes[place + 512..<place + 512 + count], as: UTF8.self)
            place += 512 + (count + 511) / 512 * 512
        }
        #expect(bytes.count == place + 1024 && bytes[place...].allSatisfy { $0 == 0 })
        return files
    }

    private func report() throws -> DiagnosisReport {
        var configuration = DataSamplerConfiguration(directory: directory, collectorURL: "")
        configuration.logScrubbing = LogScrubbing(values: ["hunter2"])
        return DiagnosisReport(scrubber: try DiagnosisScrubber(configuration), wallTime: 1_798_718_400_000_000)
    }

    @Test func `Every part is scrubbed, and what is missing is named`() async throws {
        var report = try report()
        await report.add("status.json") { () throws(CommandError) in
            var answer = WireControlAnswer()
            answer.json = Data(#"{"a hunter2": ["b\u0068unter2"], "n": 1}"#.utf8)
            return answer
        }
        await report.add("balance.json") { () throws(CommandError) in throw CommandError(.failed, "hunter2 is away") }
        report.add(logs: "log.txt", in: directory + "/logs", newest: 10)
        let files = try Self.files(try report.archive())
        let status = try #require(files["ws1agent-diagnosis/status.json"])
        #expect(status.contains(#""a [scrubbed]""#) && status.contains(#""b[scrubbed]""#))
        #expect(report.names == ["status.json"] && report.problems.count == 2)
        let about = try #require(files["ws1agent-diagnosis/README.txt"])
        #expect(about.contains("2026-12-31T12:00:00.000000Z"))
        #expect(about.contains("balance.json is missing: [scrubbed] is away") && about.contains("log.txt is missing"))
        #expect(!files.values.contains { $0.contains("hunter2") })
    }

    @Test func `The newest lines of the log are in it`() async throws {
        let store = try LogStore(LogStore.Configuration(directory: directory + "/logs", applicationName: "test"))
        for number in 1...20 { store.error("line \(number) hunter2", category: "c") }
        await store.close()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var report = try report()
        report.add(logs: "log.txt", in: directory + "/logs", newest: 5)
        let text = try #require(try Self.files(try report.archive())["ws1agent-diagnosis/log.txt"])
        #expect(text.split(separator: "\n").count == 5 && text.contains("line 20 [scrubbed]"), "\(text)")
        #expect(report.problems.isEmpty)
    }

    @Test func `Of a secret setting it only says whether it is given`() throws {
        let layers = SettingLayers<AgentSettings>(
            flags: ["data": "/data", "enrollment-token": "secret-token"], environment: [:],
            file: SettingFile(
                path: "agent.json5",
                values: [
                    "scrub": .table(["values": .list(["hunter2"])]), "noticeHook": .text("/bin/true"),
                    "noticeHookArguments": .list(["--key", "hook-key"]),
                ]))
        let settings = try AgentSettings(layers, needsCollector: false)
        #expect(settings.noticeHookArguments == ["--key", "hook-key"])
        #expect(settings.configuration.logScrubbing == LogScrubbing(values: ["hunter2"]))
        guard case .object(let shown) = DiagnoseCommand.described(settings) else {
            Issue.record("no object")
            return
        }
        #expect(shown["data"] == .string("/data"))
        #expect(
            shown["enrollment-token"] == .string("given, not shown") && shown["scrub"] == .string("given, not shown"))
        let text = String(decoding: try JSONText.of(JSONValue.object(shown)), as: UTF8.self)
        #expect(!text.contains("secret-token") && !text.contains("hunter2"))
        #expect(shown["notice-hook-arguments"] == .string("given, not shown") && !text.contains("hook-key"))
    }

    @Test func `Times in JSON are RFC 3339, and other numbers stay`() throws {
        let json = #"{"a": [{"time": 1798718400000000, "lost": 3}], "collector": {"lastSuccess": 1, "clockOffset": 5}}"#
        let text = String(decoding: try JSONText.of(try StatusCommand.withTimes(Data(json.utf8))), as: UTF8.self)
        #expect(text.contains(#""time" : "2026-12-31T12:00:00.000000Z""#) && text.contains(#""lost" : 3"#), "\(text)")
        #expect(
            text.contains(#""lastSuccess" : "1970-01-01T00:00:00.000001Z""#) && text.contains(#""clockOffset" : 5"#))
        #expect(throws: CommandError.self) { try StatusCommand.withTimes(Data("{".utf8)) }
    }

    @Test func `A wrong scrub rule is refused without showing it`() throws {
        for value in [GivenSetting.Value.text("hunter2,hunter3"), .list([String(repeating: "hunter2", count: 200)])] {
            let layers = SettingLayers<AgentSettings>(
                flags: ["data": "/data", "collector": "http://localhost"], environment: [:],
                file: SettingFile(path: "agent.json5", values: ["scrub": .table(["values": value])]))
            do {
                let settings = try AgentSettings(layers, needsCollector: true)
                #expect(settings.configuration.logScrubbing.values == ["hunter2,hunter3"], "a comma is part of a text")
            } catch {
                #expect(error.message.contains("scrub") && !error.message.contains("hunter2"), "\(error.message)")
            }
        }
    }
}
