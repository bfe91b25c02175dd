import CollectorAPI
import CollectorMaintenance
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import LogArchive
import RecordStore
import Registry
import SQLiteRecordStore
import TestKit
import Testing
import WireModel

@testable import Collector

/// One damaged record file keeps nobody from being answered, and a collector replaces it by itself.
@Suite("Damaged record files", .timeLimit(.minutes(10))) struct DamagedFileTests {
    private static func truncate(_ path: String, to bytes: UInt64? = nil) throws {
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        let size = try handle.seekToEnd()
        try handle.truncate(atOffset: bytes ?? size / 2 / 8192 * 8192)
        try handle.close()
    }

    private static func days(_ data: KeptData) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: data.path + "/records").filter { $0.first == "2" }.sorted()
    }

    private static func names(_ pattern: String, in data: KeptData) throws -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: "\(data.path)/records/\(pattern)")) ?? []
    }

    @Test func `Answers are of what can be read and say what is missing`() async throws {
        let data = try await KeptData(days: 3)
        let day = try #require(try Self.days(data).first)
        for stream in StreamName.allCases { try Self.truncate("\(data.path)/records/\(day)/\(stream).sqlite") }
        let (metadata, _) = try MetadataService.open(directory: data.path, clock: data.clock, logger: KeptData.logger)
        let (_, token) = try await metadata.createPersonToken(name: "ann", role: .administrator, organization: nil)
        let store = try data.openStore()
        let archive = try LogArchive.open(metadata: metadata, logger: KeptData.logger)
        let clock = data.clock
        let server = CollectorServer(
            store: store, metadata: metadata, archive: archive, notices: NoticeService(metadata: metadata),
            settings: CollectorServer.Settings(port: 0), logger: KeptData.logger, clock: { clock.now() })
        let missingFiles = try #require(HTTPField.Name("WS1-Missing-Files"))
        let device = data.devices[0]
        let paths = [
            "/api/v1/events?limit=1000", "/api/v1/events/summary?from=2025-06-01&to=2025-07-01",
            "/api/v1/devices/\(device)/balance",
            "/api/v1/devices/\(device)/beacons", "/api/v1/devices/\(device)/samples",
            "/api/v1/devices/\(device)/samples/series?metric=system.memory.limit&from=2025-06-01&to=2025-07-01&step=1d",
            "/api/v1/metrics/latest?metric=system.memory.limit",
        ]
        try await server.application().test(.router) { client in
            for path in paths {
                let answer = try await client.send(.get, path, bearer: token)
                #expect(answer.status == .ok, "\(path): \(String(buffer: answer.body))")
                let missing = answer.headers[missingFiles] ?? ""
                #expect(missing.contains("records/\(day)/") || path.contains("latest"), "\(path)")
            }
            let events = try await client.json("/api/v1/events?limit=1000", bearer: token)
            #expect(events.objects("items").count == 2 * 3 * KeptData.recordsPerDay)
            #expect(events["missing"] as? [String] == ["records/\(day)/event.sqlite"])
            #expect(try await client.send(.get, "/readyz").status == .ok)
            #expect(await store.salvageDamaged() == 3)
            for path in paths {
                let answer = try await client.send(.get, path, bearer: token)
                #expect(answer.status == .ok && answer.headers[missingFiles] == nil, "\(path)")
            }
            let balance = try await client.json("/api/v1/devices/\(device)/balance", bearer: token)
            #expect(balance.flag("closes") == true && balance["missing"] == nil)
            #expect(balance.objects("streams").allSatisfy { $0.number("lostAtCollector") ?? 0 > 0 })
        }
        await store.shutDown()
        archive.shutDown()
        await metadata.close()
        let report = try await StoreVerifier(directory: data.path).verify()
        #expect(report.isWhole && report.lostAtCollector == UInt64(9 * KeptData.recordsPerDay), "\(report.findings)")
    }

    @Test func `Commands go on with what can be read and exit with 1`() async throws {
        let data = try await KeptData(days: 3)
        let day = try #require(try Self.days(data).first)
        try Self.truncate("\(data.path)/records/\(day)/event.sqlite")
        for command in ["balance", "export", "rebuild"] {
            let run = try await data.ws1collector(command)
            #expect(run.status == 1 && run.errors.contains("records/\(day)/event.sqlite"), "\(command): \(run.errors)")
            let lines = run.output.split(separator: UInt8(ascii: "\n")).count
            if command == "export" { #expect(lines == 3 * 3 * Int(data.records) - 3 * KeptData.recordsPerDay) }
            let streams = run.text.split(separator: "\n").filter {
                !$0.hasPrefix("total") && ($0.hasSuffix(" yes") || $0.hasSuffix(" NO"))
            }
            if command == "balance" { #expect(streams.count == 9, "\(run.text)") }
        }
    }

    /// The real program, killed when its salvage has come to each of these places; what follows it finishes.
    @Test func `A collector that is killed while it salvages goes on at the next start`() async throws {
        let data = try await KeptData(days: 1, devices: 2)
        try await Self.enlarge(data)
        let day = try #require(try Self.days(data).first)
        try Self.truncate("\(data.path)/records/\(day)/sample.sqlite")
        let salvaging = "\(data.path)/records/salvaging/\(day)-sample"
        for place in ["", "/new/records/\(day)/sample.sqlite", "/new/records/\(day)/sample.sqlite-wal", "/report.json"]
        {
            let script = """
                "$0" serve --retention-sample-days 36500 --listen 127.0.0.1:0 --data "$1" >/dev/null 2>&1 & p=$!
                until [ -e "$2" ] || [ -e "$1/records/damaged" ]; do :; done
                kill -9 $p; wait $p; [ $? = 137 ]
                """
            let run = try await ProgramRun.of(
                ["300", "bash", "-c", script, ProgramRun.ws1collectorPath, data.path, salvaging + place],
                program: URL(fileURLWithPath: "/usr/bin/timeout"))
            #expect(run.status == 0, "\(place): \(run.errors)")
        }
        // The last start ends it.
        let script = """
            "$0" serve --retention-sample-days 36500 --listen 127.0.0.1:0 --data "$1" >/dev/null 2>&1 & p=$!
            until [ -n "$(ls "$1/records/damaged" 2>/dev/null)" ]; do :; done
            kill -9 $p; wait $p; [ $? = 137 ]
            """
        let run = try await ProgramRun.of(
            ["300", "bash", "-c", script, ProgramRun.ws1collectorPath, data.path],
            program: URL(fileURLWithPath: "/usr/bin/timeout"))
        #expect(run.status == 0, "\(run.errors)")
        #expect(try Self.names("damaged", in: data).count == 1)
        #expect(try Self.names("salvaging", in: data).isEmpty)
        let report = try await StoreVerifier(directory: data.path).verify()
        #expect(report.isWhole && report.lostAtCollector > 0, "\(report.findings)")
        let balances = try await SQLiteRecordStore.openReading(directory: data.path).balances()
        #expect(balances.devices.flatMap(\.epochs).allSatisfy { $0.balance.closes })
        #expect(try await data.ws1collector("verify").status == 0)
        #expect(try await data.ws1collector("balance").status == 0)
    }

    /// Some megabytes more on the first day, so that there is a while to be killed in, and a day after it.
    private static func enlarge(_ data: KeptData) async throws {
        let store = try data.openStore()
        let device = data.devices[0]
        var chain = ChainBuilder(stream: .sample)
        for number in 0...120 {
            if number == 120 { data.clock.advance(seconds: 86_400) }
            let bodies = (0..<20).map { Data(repeating: UInt8($0), count: 3000) }
            let part = chain.part(kind: .sampleSystem, module: "system", time: data.clock.now(), bodies: bodies)
            try #require(await store.append([part], from: device, receivedAt: data.clock.now())[0].outcome == .stored)
        }
        await store.shutDown()
    }
}
