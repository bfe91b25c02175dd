import CollectorStore
import Foundation
import Testing
import WireModel

/// What happens when files of the data directory go or are emptied.
@Suite struct RegistryFilesTests {
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

    @Test func aDatabaseThatGoesUnderARunningCollectorIsNoticed() async throws {
        let (registry, created) = try CollectorRegistry.open(directory: directory.path, clock: clock, logger: quietLogger)
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        var device = ScriptedDevice()
        device.produce(2)
        #expect(try await store.drain(&device)?.outcome == .stored)
        #expect(await registry.readiness() == .ready)
        #expect(await store.readiness() == .ready)
        try FileManager.default.moveItem(atPath: directory.path + "/collector.sqlite", toPath: directory.path + "/aside")
        device.produce(1)
        let answer = await store.append(try #require(device.part()), from: device.device)
        #expect(answer.outcome == .unavailable && answer.detail.contains("collector.sqlite"))
        #expect(await store.readiness() != .ready)
        #expect(await registry.readiness() != .ready)
        await #expect(throws: StoreError.self) { _ = try await registry.authenticatePerson(token: created?.administratorToken ?? "") }
        // Put back, all goes on.
        try FileManager.default.moveItem(atPath: directory.path + "/aside", toPath: directory.path + "/collector.sqlite")
        #expect(await registry.readiness() == .ready)
        #expect(await store.append(try #require(device.part()), from: device.device).outcome == .stored)
        await store.shutDown()
        await registry.close()
    }

    @Test(arguments: [false, true]) func recordsWithoutTheirDatabaseAreNotGivenANewOne(emptied: Bool) async throws {
        _ = try await filled()
        let path = directory.path + "/collector.sqlite"
        try FileManager.default.removeItem(atPath: path)
        if emptied { #expect(FileManager.default.createFile(atPath: path, contents: Data())) }
        for _ in 0..<2 {
            #expect {
                _ = try CollectorRegistry.open(directory: directory.path, clock: clock, logger: quietLogger, exclusive: false)
            } throws: {
                ($0 as? StoreError)?.code == .conflict && ($0 as? StoreError)?.message.contains("backup") == true
            }
            #expect(throws: StoreError.self) { _ = try SQLiteRecordStore.open(directory, clock: clock) }
        }
        #expect(FileManager.default.fileExists(atPath: directory.recordFile("2026-03-01")))
    }

    @Test func aRecordFileThatGoesOrIsEmptiedIsFoundEvenIfItIsTheOnlyOne() async throws {
        _ = try await filled()
        #expect(try directory.verify().isWhole)
        let file = directory.recordFile("2026-03-01")
        let gone = try directory.copy()
        try FileManager.default.removeItem(atPath: gone.recordFile("2026-03-01"))
        let finding = try #require(try gone.verify().findings.first)
        #expect(finding.code == .missing && finding.file == "records/2026-03-01/sample.sqlite" && finding.message.contains("3 slices"))
        try Data().write(to: URL(fileURLWithPath: file))
        #expect(try directory.verify().findings.map(\.code) == [.missing])
    }

    @Test func rowsTakenOutTogetherWithTheirMarkAreFound() async throws {
        _ = try await filled()
        try directory.execute("DELETE FROM slice; DELETE FROM chain", on: directory.recordFile("2026-03-01"))
        #expect(try directory.verify().findings.map(\.code) == [.missing])
    }
}
