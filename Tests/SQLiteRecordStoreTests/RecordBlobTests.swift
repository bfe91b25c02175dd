import Foundation
import RegistryTestKit
import SQLite
import SQLiteStoreTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import RecordStore
@testable import Registry
@testable import SQLiteRecordStore

/// Records of a slice are a zstd frame where that is shorter.
@Suite struct RecordBlobTests {
    private static let day = "2026-03-01"

    /// Three parts of twenty samples that are as like each other as those of a quiet machine.
    private static func filled(_ directory: TemporaryDirectory) async throws -> ScriptedDevice {
        let store = try SQLiteRecordStore.open(directory, clock: ManualStoreClock())
        var device = ScriptedDevice()
        for _ in 0..<3 {
            for _ in 0..<20 {
                let number = device.last + 1
                let record = NewRecord(
                    stream: .sample, kind: .sampleSystem, module: "system",
                    stamp: RecordStamp(wallTime: 1_700_000_000_000_000, bootID: nil, timeSinceBoot: number),
                    body: Data.filler(200, seed: 1) + [UInt8(number)])
                device.append(record.serialized(number: number))
            }
            try await store.drain(&device)
        }
        await store.shutDown()
        return device
    }

    private static func sizes(_ directory: TemporaryDirectory) throws -> [(bytes: Int, isFrame: Bool)] {
        let file = try Connection(path: directory.recordFile(day), options: .init(mode: .readOnly))
        defer { try? file.close() }
        return try file.rows("SELECT length(records), hex(substr(records, 1, 4)) FROM slice ORDER BY id") {
            ($0.int(0), $0.string(1) == "28B52FFD")
        }
    }

    @Test func `Like records take a part of the room and come back byte by byte`() async throws {
        let directory = try TemporaryDirectory()
        let device = try await Self.filled(directory)
        let sizes = try Self.sizes(directory)
        #expect(sizes.count == 3 && sizes.allSatisfy { $0.isFrame && $0.bytes < 20 * 200 / 4 })
        let store = try SQLiteRecordStore.open(directory, clock: ManualStoreClock())
        let records = try await store.allRecords(of: device.device, stream: .sample)
        #expect(records.count == 60)
        for record in records { #expect(record.bytes == device.made[record.header.number]) }
        let report = try await store.verify()
        #expect(report.isWhole && report.records == 60 && report.recordBytes > 60 * 200)
        #expect(try await store.balance(of: device.device).first?.storedRows == 60)
        await store.shutDown()
    }

    @Test func `What does not become shorter is stored as it came`() async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteRecordStore.open(directory, clock: ManualStoreClock())
        var device = ScriptedDevice()
        device.produce(3, bodyBytes: 1000)
        try await store.drain(&device)
        await store.shutDown()
        #expect(try Self.sizes(directory).map(\.isFrame) == [false])
    }

    /// - Parameter place: of the byte that is flipped: in the magic, in the frame's head, and in its data.
    @Test(arguments: [0, 5, 100]) func `A damaged frame is found and costs its slice alone`(place: Int) async throws {
        let directory = try TemporaryDirectory()
        var device = try await Self.filled(directory)
        let file = try Connection(path: directory.recordFile(Self.day), options: .init(mode: .readWrite))
        var frame = try #require(try file.first("SELECT records FROM slice WHERE id = 2") { $0.data(0) })
        frame[frame.startIndex + place] ^= 0x55
        try file.run("UPDATE slice SET records = ? WHERE id = 2", frame)
        try file.close()
        let reading = try SQLiteRecordStore.openReading(directory: directory.path)
        let report = try await reading.verify()
        #expect(report.findings.map(\.code) == [.altered] && report.findings.first?.first == 21)
        await reading.shutDown()
        try RecordSalvage(DataDirectory(path: directory.path), clock: ManualStoreClock(), logger: quietLogger)
            .run(Partition(day: try #require(UTCDay(Self.day)), stream: .sample), cause: "a test")
        let store = try SQLiteRecordStore.open(directory, clock: ManualStoreClock())
        #expect(try await store.verify().isWhole)
        let records = try await store.allRecords(of: device.device, stream: .sample)
        #expect(Set(records.map(\.header.number)) == Set(1...20).union(41...60))
        device.produce(1)
        #expect(try await store.drain(&device)?.mark.lostAtCollector == 20)
        await store.shutDown()
    }
}
