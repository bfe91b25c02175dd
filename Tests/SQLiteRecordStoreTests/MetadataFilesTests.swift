import CollectorAPI
import Foundation
import RecordStore
import Registry
import SQLiteRecordStore
import SQLiteStoreTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

/// What happens when files of the data directory go or are emptied.
@Suite struct MetadataFilesTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()

    init() throws { directory = try TemporaryDirectory() }

    private func filled() async throws -> ScriptedDevice {
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        var device = ScriptedDevice()
        device.produce(5)
        try await store.drain(&device, parts: 2)
        await store.shutDown()
        return device
    }

    /// Tokens and credentials are nowhere else: it says which command makes a directory that has them.
    @Test(arguments: ["head", "page"]) func `A damaged database names the way back`(_ place: String) async throws {
        let (metadata, _) = try MetadataService.open(directory: directory.path, clock: clock, logger: quietLogger)
        for number in 0..<200 {
            _ = try await metadata.createPersonToken(name: "ann \(number)", role: .viewer, organization: nil)
        }
        await metadata.close()
        _ = try await filled()
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: directory.path + "/collector.sqlite"))
        let bytes = try #require(try handle.readToEnd())
        // A page of the list of tokens.
        let page = try #require(
            (1..<bytes.count / 4096).first {
                bytes[($0 * 4096)..<($0 + 1) * 4096].range(of: Data("ann 17".utf8)) != nil
            })
        try handle.seek(toOffset: place == "head" ? 0 : UInt64(page * 4096))
        try handle.write(contentsOf: Data(repeating: 0xFF, count: 4096))
        try handle.close()
        #expect {
            _ = try MetadataService.open(directory: directory.path, clock: clock, logger: quietLogger)
        } throws: { error in
            guard let error = error as? StoreError, error.code == .corrupt else { return false }
            return error.message.contains("ws1collector restore --data \(directory.path)-restored --from BACKUP")
        }
    }

    @Test func `A database that disappears under a running collector is noticed`() async throws {
        let (metadata, created) = try MetadataService.open(
            directory: directory.path, clock: clock, logger: quietLogger)
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        var device = ScriptedDevice()
        device.produce(2)
        #expect(try await store.drain(&device)?.outcome == .stored)
        #expect(await metadata.readiness() == .ready)
        #expect(await store.readiness() == .ready)
        try FileManager.default.moveItem(
            atPath: directory.path + "/collector.sqlite", toPath: directory.path + "/aside")
        device.produce(1)
        let answer = await store.append(try #require(device.part()), from: device.device)
        #expect(
            answer.outcome == .unavailable && answer.detail.hasPrefix("io: ") && !answer.detail.contains(directory.path)
        )
        #expect(await store.readiness() != .ready)
        #expect(await metadata.readiness() != .ready)
        await #expect(throws: StoreError.self) {
            _ = try await metadata.authenticatePerson(token: created?.administratorToken ?? "")
        }
        // Put back, all goes on.
        try FileManager.default.moveItem(
            atPath: directory.path + "/aside", toPath: directory.path + "/collector.sqlite")
        #expect(await metadata.readiness() == .ready)
        #expect(await store.append(try #require(device.part()), from: device.device).outcome == .stored)
        await store.shutDown()
        await metadata.close()
    }

    @Test(arguments: [false, true]) func `Records without their database are not given a new one`(emptied: Bool)
        async throws
    {
        _ = try await filled()
        let path = directory.path + "/collector.sqlite"
        try FileManager.default.removeItem(atPath: path)
        if emptied { #expect(FileManager.default.createFile(atPath: path, contents: Data())) }
        for _ in 0..<2 {
            #expect {
                _ = try MetadataService.open(
                    directory: directory.path, clock: clock, logger: quietLogger, exclusive: false)
            } throws: {
                ($0 as? StoreError)?.code == .conflict && ($0 as? StoreError)?.message.contains("backup") == true
            }
            #expect(throws: StoreError.self) { _ = try SQLiteRecordStore.open(directory, clock: clock) }
        }
        #expect(FileManager.default.fileExists(atPath: directory.recordFile("2026-03-01")))
    }

    @Test func `A record file that disappears or is emptied is found, even if it is the only one`() async throws {
        _ = try await filled()
        #expect(try await directory.verify().isWhole)
        let file = directory.recordFile("2026-03-01")
        let gone = try directory.copy()
        try FileManager.default.removeItem(atPath: gone.recordFile("2026-03-01"))
        let finding = try #require(try await gone.verify().findings.first)
        #expect(
            finding.code == .missing && finding.file == "records/2026-03-01/sample.sqlite"
                && finding.message.contains("3 slices"))
        try Data().write(to: URL(fileURLWithPath: file))
        #expect(try await directory.verify().findings.map(\.code) == [.missing])
    }

    @Test func `Rows removed together with their mark are found`() async throws {
        _ = try await filled()
        try directory.execute("DELETE FROM slice; DELETE FROM chain", on: directory.recordFile("2026-03-01"))
        #expect(try await directory.verify().findings.map(\.code) == [.missing])
    }
}
