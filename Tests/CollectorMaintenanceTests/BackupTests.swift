import Foundation
import Glibc
import RegistryTestKit
import SQLite
import SQLiteStoreTestKit
import StoreTestKit
import TelemetryBasics
import TestKit
import Testing
import WireModel

@testable import CollectorMaintenance
@testable import LogArchive
@testable import RecordStore
@testable import Registry
@testable import SQLiteRecordStore

@Suite struct BackupTests {
    private let parent: TemporaryDirectory
    private let clock = ManualStoreClock()

    init() throws { parent = try TemporaryDirectory() }

    private var data: String { parent.path + "/data" }
    private var backup: String { parent.path + "/backup" }
    private var restored: String { parent.path + "/restored" }

    private func openStore(_ path: String) throws -> SQLiteRecordStore {
        try SQLiteRecordStore.open(directory: path, clock: clock, logger: quietLogger)
    }

    private func openArchive(_ path: String) throws -> LogArchive {
        var configuration = LogArchive.Configuration()
        configuration.leastFreeBytes = 0
        return try LogArchive.open(
            directory: path, clock: clock, configuration: configuration, logger: quietLogger)
    }

    @discardableResult
    private func takeBackup(to output: String? = nil) async throws -> StoreBackup.Report {
        try await StoreBackup(
            of: SQLiteRecordStore.openReading(directory: data), directory: data, output: output ?? backup, clock: clock,
            logger: quietLogger
        ).write()
    }

    @discardableResult
    private func restore(from path: String? = nil) throws -> StoreRestore.Report {
        try StoreRestore(from: .directory(path ?? backup), to: restored, clock: clock).restore()
    }

    private func expectWhole(_ path: String) async throws {
        let report = try await StoreVerifier(directory: path).verify()
        #expect(report.isWhole, "\(report.findings)")
    }

    @Test func `A backup made while devices send is whole, and they go on after it`() async throws {
        let (metadata, created) = try MetadataService.open(directory: data, clock: clock, logger: quietLogger)
        let token = try #require(created).enrollmentToken
        let store = try openStore(data)
        var devices: [ScriptedDevice] = []
        for _ in 0..<4 {
            let id = try await metadata.enroll(token: token, request: WireEnrollRequest()).deviceID
            for stream in StreamName.allCases { devices.append(ScriptedDevice(device: id, stream: stream)) }
        }
        // A day before, so that a file has been closed.
        for place in devices.indices {
            devices[place].produce(5)
            try await store.drain(&devices[place])
        }
        clock.advance(days: 1)
        let path = data
        let (output, clock) = (backup, clock)
        devices = try await withThrowingTaskGroup(of: ScriptedDevice?.self) { group in
            for device in devices {
                group.addTask {
                    var device = device
                    for _ in 0..<30 {
                        device.produce(3)
                        try await store.drain(&device)
                    }
                    return device
                }
            }
            group.addTask {
                _ = try await StoreBackup(
                    of: SQLiteRecordStore.openReading(directory: path), directory: path, output: output, clock: clock,
                    logger: quietLogger
                ).write()
                return nil
            }
            var found: [ScriptedDevice] = []
            for try await device in group { if let device { found.append(device) } }
            return found
        }
        for place in devices.indices {
            devices[place].produce(2)
            try await store.drain(&devices[place])
        }
        await store.shutDown()
        await metadata.close()

        let report = try restore()
        try await expectWhole(restored)
        let (again, _) = try MetadataService.open(directory: restored, clock: clock, logger: quietLogger)
        #expect(again.collectorID == metadata.collectorID && again.incarnationID == report.incarnation)
        #expect(again.incarnationID != metadata.incarnationID)
        await again.close()

        // What came after the backup is lost, and reported; what they send now is stored once.
        let revived = try openStore(restored)
        for place in devices.indices {
            let before = devices[place].mark
            devices[place].produce(7)
            let answer = await revived.append(try #require(devices[place].part()), from: devices[place].device)
            #expect(answer.outcome == .stored && answer.mark.number == before.number + 7)
            #expect(answer.mark.stored + answer.mark.lostAtCollector == answer.mark.number)
            #expect(answer.mark.stored < answer.mark.number && answer.mark.stored >= 5 + 7)
        }
        for id in Set(devices.map(\.device)) {
            for balance in try await revived.balance(of: id) {
                #expect(balance.balance.closes && balance.storedRows == balance.mark.stored)
            }
            for stream in StreamName.allCases {
                let numbers = try await revived.allRecords(of: id, stream: stream).map(\.header.number)
                #expect(numbers.count == Set(numbers).count)
            }
        }
        await revived.shutDown()
        try await expectWhole(restored)
    }

    @Test func `What is deleted meanwhile is either there or not`() async throws {
        let archive = try openArchive(data)
        let device = LogDevice()
        for segment in 1...30 {
            try await device.upload([LogDevice.chunk(segment: UInt64(segment), 1...20)], to: archive)
        }
        let (path, output, clock) = (data, backup, clock)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let backup = try StoreBackup(
                    of: SQLiteRecordStore.openReading(directory: path), directory: path, output: output, clock: clock,
                    logger: quietLogger)
                #expect(try await backup.write().missingChunks == 0)
            }
            group.addTask {
                for row in try await archive.metadata.chunks(LogQuery(), below: nil, limit: 100).rows {
                    let query = LogQuery(chunks: [row.id])
                    let confirmation = try await archive.metadata.deletion(query).confirmation
                    #expect(try await archive.delete(query, confirmation: confirmation, by: .commandLine) != nil)
                }
            }
            try await group.waitForAll()
        }
        await archive.close()
        try restore()
        try await expectWhole(restored)
    }

    @Test func `Logs are in the backup, and a missing one is reported`() async throws {
        let archive = try openArchive(data)
        let device = LogDevice()
        let kept = try await device.upload([LogDevice.chunk(segment: 1, 1...50)], to: archive)
        try await device.upload([LogDevice.chunk(segment: 2, 1...20)], to: archive)
        let rows = try await archive.metadata.chunks(LogQuery(), below: nil, limit: 10).rows
        #expect(rows.count == 2)
        try FileManager.default.removeItem(atPath: data + "/" + (try #require(try chunkFile(2))))
        let report = try await takeBackup()
        #expect(report.missingChunks == 1, "it is kept by the catalog, and was missing before")
        try restore()
        #expect(try await StoreVerifier(directory: restored).verify().findings.map(\.code) == [.missing])
        let again = try openArchive(restored)
        #expect(
            try await again.metadata.uploads(of: device.row.id, command: nil, limit: 10).map(\.upload).contains(kept))
        let content = try await again.content(LogQuery(), as: LogForm(order: .number))
        #expect(try await content.next() != nil)
        await again.close()
        await archive.close()
    }

    /// The file of the n-th chunk.
    private func chunkFile(_ number: Int) throws -> String? {
        let connection = try Connection(path: data + "/collector.sqlite", options: .init(mode: .readOnly))
        let statement = try connection.prepare("SELECT path FROM chunk ORDER BY row LIMIT 1 OFFSET ?")
        try statement.bind(number - 1)
        return try statement.step() ? "chunks/" + statement.string(0) : nil
    }

    @Test func `Earlier commands are not given again`() async throws {
        let (metadata, created) = try MetadataService.open(directory: data, clock: clock, logger: quietLogger)
        let enrolled = try await metadata.enroll(
            token: try #require(created).enrollmentToken, request: WireEnrollRequest())
        _ = try await metadata.issue(
            NewCommand(
                device: enrolled.deviceID, action: .wipe(.init()), expires: ManualStoreClock.start + 900_000_000,
                issuer: .commandLine,
                idempotencyKey: nil, request: Data()), organization: "default")
        try await takeBackup()
        await metadata.close()
        #expect(try restore().endedCommands == 1)
        let (again, first) = try MetadataService.open(directory: restored, clock: clock, logger: quietLogger)
        #expect(first == nil)
        guard case .device(let device) = try await again.authenticateDevice(credential: enrolled.credential) else {
            Issue.record("its credential is not known any more")
            return
        }
        #expect(again.openCommands(of: device, at: clock.now()).isEmpty)
        await again.close()
    }

    @Test func `Removed files stay removed`() async throws {
        let store = try openStore(data)
        var device = ScriptedDevice()
        for _ in 0..<3 {
            device.produce(10)
            try await store.drain(&device)
            clock.advance(days: 1)
        }
        try await store.drop(Partition(day: try #require(UTCDay("2026-03-01")), stream: .sample))
        try await takeBackup()
        await store.shutDown()
        try restore()
        try await expectWhole(restored)
        let again = try openStore(restored)
        #expect(try await again.balance(of: device.device).first?.storedRows == 30)
        device.produce(1)
        #expect(try await again.drain(&device)?.mark.stored == 31)
        await again.shutDown()
    }

    @Test func `Nothing is overwritten`() async throws {
        await (try openStore(data)).shutDown()
        try FileManager.default.createDirectory(atPath: backup, withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: backup + "/mine"))
        await #expect { try await takeBackup() } throws: { ($0 as? StoreError)?.code == .conflict }
        #expect(try FileManager.default.contentsOfDirectory(atPath: backup) == ["mine"])
        try await takeBackup(to: backup + "2")
        #expect { try StoreRestore(from: .directory(backup + "2"), to: data, clock: clock).restore() } throws: {
            ($0 as? StoreError)?.code == .conflict
        }
    }

    @Test(arguments: [true, false]) func `A backup that fails leaves nothing in the way of the next`(_ wasThere: Bool)
        async throws
    {
        let store = try openStore(data)
        var device = ScriptedDevice()
        device.produce(10)
        try await store.drain(&device)
        await store.shutDown()
        if wasThere { try FileManager.default.createDirectory(atPath: backup, withIntermediateDirectories: true) }
        let file = try #require(
            try DataDirectory(path: data).partitions().first.map { DataDirectory(path: data).path(of: $0) })
        let good = try Data(contentsOf: URL(fileURLWithPath: file))
        try Data(repeating: 7, count: 8192).write(to: URL(fileURLWithPath: file))
        await #expect(throws: StoreError.self) { try await takeBackup() }
        #expect(Paths.exists(backup) == wasThere)
        try good.write(to: URL(fileURLWithPath: file))
        try await takeBackup()
        try restore()
        try await expectWhole(restored)
    }

    @Test func `A backup that is not whole is not restored`() async throws {
        let store = try openStore(data)
        var device = ScriptedDevice()
        device.produce(10)
        try await store.drain(&device)
        try await takeBackup()
        await store.shutDown()
        func expectRefused(_ code: StoreError.Code, _ harm: (String) throws -> Void) throws {
            let copy = parent.path + "/harmed"
            try? FileManager.default.removeItem(atPath: copy)
            try? FileManager.default.removeItem(atPath: restored)
            try FileManager.default.copyItem(atPath: backup, toPath: copy)
            try harm(copy)
            #expect { try restore(from: copy) } throws: { ($0 as? StoreError)?.code == code }
            #expect(!FileManager.default.fileExists(atPath: restored), "nothing half-restored is left")
        }
        let file = "/records/2026-03-01/sample.sqlite"
        try expectRefused(.corrupt) { copy in
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: copy + file))
            try handle.seek(toOffset: 5000)
            try handle.write(contentsOf: Data([0xA5]))
            try handle.close()
        }
        try expectRefused(.corrupt) { try FileManager.default.removeItem(atPath: $0 + file) }
        try expectRefused(.notFound) { try FileManager.default.removeItem(atPath: $0 + "/manifest.ndjson") }
        try expectRefused(.corrupt) { #expect(truncate($0 + "/manifest.ndjson", 200) == 0) }
        try expectRefused(.corrupt) { copy in
            let list = copy + "/manifest.ndjson"
            let text = try String(contentsOfFile: list, encoding: .utf8).replacing(
                "records/2026-03-01", with: "records/../../2026")
            try text.write(toFile: list, atomically: true, encoding: .utf8)
        }
    }

    @Test(arguments: [
        ("collector.sqlite", true), ("records/2026-03-01/sample.sqlite", true), ("chunks/a/b/c/d.log.gz", true),
        ("", false),
        ("/collector.sqlite", false), ("records/../collector.sqlite", false), ("records/2026-03-01/../x.sqlite", false),
        ("chunks/a/../c/d", false), ("chunks/a/b/c", false), ("lock", false),
        ("records/2026-13-01/sample.sqlite", false),
        ("collector.sqlite/x", false), ("chunks//b/c/d", false),
    ])
    func `Only files of ours are restored`(path: String, isSafe: Bool) {
        #expect(BackupManifest.isSafe(path) == isSafe)
    }
}
