import Foundation
import RegistryTestKit
import SQLite
import SQLiteStoreTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import CollectorMaintenance
@testable import LogArchive
@testable import RecordStore
@testable import Registry
@testable import SQLiteRecordStore

/// A damaged record file is replaced by what can be proved of it; the rest is counted as lost, and devices go on.
@Suite struct RecordSalvageTests {
    enum Damage: String, CaseIterable, CustomTestStringConvertible {
        case headerZeroed, firstPagesZeroed, middlePageFlipped, truncated, emptied, replacedByText

        var testDescription: String { rawValue }

        func apply(to path: String) throws {
            let url = URL(fileURLWithPath: path)
            var bytes = try Data(contentsOf: url)
            switch self {
            case .headerZeroed: bytes.replaceSubrange(0..<100, with: Data(count: 100))
            case .firstPagesZeroed: bytes.replaceSubrange(0..<3 * 8192, with: Data(count: 3 * 8192))
            case .middlePageFlipped:
                // A page in which SQLite finds rows.
                let page = try #require((1..<bytes.count / 8192).filter { bytes[$0 * 8192] == 0x0D }.last)
                for index in page * 8192..<(page + 1) * 8192 { bytes[index] ^= 0xFF }
            case .truncated: bytes = bytes.prefix(bytes.count / 8192 / 2 * 8192)
            case .emptied: bytes = Data()
            case .replacedByText: bytes = Data("Not a database, but as long as one would have to be.".utf8)
            }
            let handle = try FileHandle(forUpdating: url)
            try handle.truncate(atOffset: UInt64(bytes.count))
            try handle.seek(toOffset: 0)
            try handle.write(contentsOf: bytes)
            try handle.close()
        }
    }

    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()
    private static let firstDay = "2026-03-01"
    private static let lastDay = "2026-03-03"

    init() throws { directory = try TemporaryDirectory() }

    /// Four devices over three days, with gaps and rejected records; the last one is silent on the first day.
    private func filled() async throws -> [ScriptedDevice] {
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        var devices = (0..<4).map { _ in ScriptedDevice() }
        for day in 0..<3 {
            if day > 0 { clock.advance(days: 1) }
            for place in devices.indices where day > 0 || place < 3 {
                devices[place].produce(20, bodyBytes: 1500)
                devices[place].dropOldest(3)
                devices[place].append(Data([0xFF]))
                devices[place].append(Data(repeating: 0xFE, count: 3000))
                devices[place].produce(6, bodyBytes: 20)
                try await store.drain(&devices[place], parts: 4)
            }
        }
        await store.shutDown()
        return devices
    }

    private func open() throws -> SQLiteRecordStore { try SQLiteRecordStore.open(directory, clock: clock) }

    /// Every device goes on, nothing is doubled, nothing is another's, and every number is accounted for.
    private func expectAccount(
        of sent: [ScriptedDevice], in store: SQLiteRecordStore, at path: String, _ comment: Comment? = nil
    ) async throws -> UInt64 {
        var lost: UInt64 = 0
        for device in sent {
            var device = device
            device.produce(3)
            let answer = try await store.drain(&device)
            #expect(answer?.outcome == .stored && device.held.isEmpty, comment)
            #expect(answer?.mark.number == device.last && answer?.mark.addsUp == true, comment)
            let balances = try await store.balance(of: device.device)
            let balance = try #require(balances.first)
            #expect(balances.count == 1 && balance.balance.closes && balance.storedRows == balance.mark.stored, comment)
            #expect(balance.balance.produced == device.last, comment)
            lost += balance.mark.lostAtCollector
            let records = try await store.allRecords(of: device.device, stream: .sample)
            #expect(
                Set(records.map(\.header.number)).count == records.count
                    && UInt64(records.count) == balance.mark.stored, comment)
            for record in records { #expect(record.bytes == device.made[record.header.number], comment) }
        }
        let report = try await StoreVerifier(directory: path).verify()
        #expect(report.isWhole, "\(comment?.rawValue ?? ""): \(report.findings)")
        #expect(report.lostAtCollector == lost, comment)
        return lost
    }

    private func notices(at path: String) async throws -> [NoticeRow] {
        let archive = try LogArchive.open(directory: path, clock: clock, logger: quietLogger)
        let page = try await NoticeService(metadata: archive.metadata).page(organization: nil, below: nil, limit: 100)
        await archive.close()
        return page.rows
    }

    private func kept(at path: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path + "/records/damaged")) ?? []).sorted()
    }

    // MARK: The present day's file

    @Test(arguments: Damage.allCases) func `Devices of the present day go on`(_ damage: Damage) async throws {
        let devices = try await filled()
        let file = directory.recordFile(Self.lastDay)
        let whole = try Data(contentsOf: URL(fileURLWithPath: file))
        try damage.apply(to: file)
        let damaged = try Data(contentsOf: URL(fileURLWithPath: file))
        let store = try open()
        #expect(await store.readiness() == .ready)
        let lost = try await expectAccount(of: devices, in: store, at: directory.path)
        switch damage {
        case .headerZeroed: #expect(lost == 0, "no row was on it")
        case .firstPagesZeroed: #expect(lost < 4 * 28, "links tell whose some slices are")
        case .middlePageFlipped, .truncated: #expect(lost > 0 && lost < 4 * 26)
        case .emptied, .replacedByText: #expect(lost == 4 * 28, "all that came on the day")
        }
        #expect(store.unreadableFiles(of: .sample).isEmpty)
        await store.shutDown()
        let name = try #require(kept(at: directory.path).first)
        #expect(kept(at: directory.path).count == 1 && name.hasPrefix("\(Self.lastDay)-sample-2026"))
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: "\(directory.path)/records/damaged/\(name)/sample.sqlite"))
                == damaged)
        #expect(damaged != whole)
        let notice = try #require(try await notices(at: directory.path).first { $0.code == .recordFileSalvaged })
        #expect(
            notice.subject == "records/damaged/\(name)"
                && notice.detail.contains("records/\(Self.lastDay)/sample.sqlite was damaged"))
        #expect(FileManager.default.fileExists(atPath: "\(directory.path)/records/damaged/\(name)/report.json"))
    }

    /// The running process remembers what it reported to devices, whatever the file still says.
    @Test func `Marks in memory are not lowered`() async throws {
        var devices = try await filled()
        let store = try open()
        for place in devices.indices {
            devices[place].produce(4, bodyBytes: 300)
            try await store.drain(&devices[place])
        }
        // Parts whose answers got lost: they are repeated after the salvage.
        devices[0].produce(2)
        let repeated = try #require(devices[0].part())
        let first = await store.append(repeated, from: devices[0].device)
        #expect(first.outcome == .stored)
        for suffix in ["", "-wal"] {
            let path = directory.recordFile(Self.lastDay) + suffix
            let size = try Data(contentsOf: URL(fileURLWithPath: path)).count
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try handle.write(contentsOf: Data(repeating: 7, count: size))
            try handle.close()
        }
        store.recordDamage(Partition(day: UTCDay(Self.lastDay)!, stream: .sample), "seen by a test")
        #expect(store.unreadableFiles(of: .sample) == ["records/\(Self.lastDay)/sample.sqlite"])
        #expect(await store.salvageDamaged() == 1)
        #expect(store.unreadableFiles(of: .sample).isEmpty)
        for device in devices {
            let mark = try #require(try await store.balance(of: device.device).first?.mark)
            #expect(mark.number == device.last && mark.lostAtCollector > 0, "before the device says anything")
        }
        let again = await store.append(repeated, from: devices[0].device)
        #expect(again.outcome == .already && again.mark.number == first.mark.number)
        devices[0].apply(again)
        let lost = try await expectAccount(of: devices, in: store, at: directory.path)
        #expect(lost == 4 * (28 + 4) + 2)
        await store.shutDown()
    }

    // MARK: Older files

    @Test(arguments: Damage.allCases) func `An older file keeps nothing else from being asked`(_ damage: Damage)
        async throws
    {
        let devices = try await filled()
        try damage.apply(to: directory.recordFile(Self.firstDay))
        let store = try open()
        #expect(await store.readiness() == .ready)
        for device in devices {
            let records = try await store.allRecords(of: device.device, stream: .sample)
            #expect(records.count >= 2 * 20, "those of the later days")
            _ = try await store.balance(of: device.device)
        }
        _ = try await store.newestRecords(
            of: devices.map(\.device), RecordQuery(.among([]), stream: .sample, kinds: []))
        var devicesNow = devices
        devicesNow[0].produce(2)
        #expect(try await store.drain(&devicesNow[0])?.outcome == .stored, "its mark is in the newest file")
        // A file as short as that may have been cut off by a kill: it is looked at when the store opens.
        let isShort = damage == .emptied || damage == .replacedByText
        let name = "records/\(Self.firstDay)/sample.sqlite"
        #expect(store.unreadableFiles(of: .sample) == (isShort ? [] : [name]))
        let watch = RecordFileWatch(
            store: store,
            notices: try NoticeService(directory: directory.path, clock: clock, logger: quietLogger),
            logger: quietLogger)
        await watch.look()
        #expect(await store.salvageDamaged(again: true) == (isShort ? 0 : 1))
        await watch.look()
        let lost = try await expectAccount(of: devicesNow, in: store, at: directory.path)
        switch damage {
        case .headerZeroed: #expect(lost == 0)
        case .firstPagesZeroed: #expect(lost < 3 * 28, "links tell whose some slices are")
        case .middlePageFlipped, .truncated: #expect(lost > 0 && lost < 3 * 28)
        case .emptied, .replacedByText: #expect(lost == 3 * 28, "the mark they entered the next day with tells of them")
        }
        await store.shutDown()
        let lasting = try await notices(at: directory.path).filter { $0.ended == nil }
        #expect(lasting.map(\.code) == [.recordFileSalvaged], "the notice that the file is harmed is over")
    }

    @Test func `Two damaged files are mended one after the other`() async throws {
        let devices = try await filled()
        try Damage.middlePageFlipped.apply(to: directory.recordFile("2026-03-02"))
        try Damage.truncated.apply(to: directory.recordFile(Self.firstDay))
        let store = try open()
        store.recordDamage(Partition(day: UTCDay("2026-03-02")!, stream: .sample), "seen by a test")
        _ = await store.salvageDamaged()
        #expect(try await expectAccount(of: devices, in: store, at: directory.path) > 0)
        #expect(kept(at: directory.path).count == 2)
        await store.shutDown()
    }

    @Test func `Retention removes a mended file and leaves the damaged one`() async throws {
        let devices = try await filled()
        try Damage.middlePageFlipped.apply(to: directory.recordFile(Self.firstDay))
        let store = try open()
        let retention = try RecordRetention(
            store: store, registry: SQLiteRegistry(directory: directory.path),
            limits: RetentionLimits(status: .init(days: 1), event: .init(days: 1), sample: .init(days: 1)),
            notices: try NoticeService(directory: directory.path, clock: clock, logger: quietLogger), clock: clock,
            bootClock: ManualBootClock(clock), logger: quietLogger)
        _ = await retention.pass()
        #expect(await store.salvageDamaged() == 1, "retention has found it")
        #expect(await retention.pass().count == 2)
        for device in devices {
            let balance = try #require(try await store.balance(of: device.device).first)
            #expect(
                balance.balance.closes && balance.storedRows == balance.mark.stored
                    && balance.mark.number == device.last)
        }
        #expect(try await directory.verify().isWhole)
        #expect(kept(at: directory.path).count == 1)
        await store.shutDown()
    }

    // MARK: The WAL

    @Test func `What lies behind a damaged frame of the WAL is kept`() async throws {
        let store = try open()
        var devices = (0..<3).map { _ in ScriptedDevice() }
        for _ in 0..<12 {
            for place in devices.indices {
                devices[place].produce(3, bodyBytes: 900)
                try await store.drain(&devices[place])
            }
        }
        let killed = try directory.copy()
        await store.shutDown()
        let wal = killed.recordFile(Self.firstDay) + "-wal"
        let frames = (try Data(contentsOf: URL(fileURLWithPath: wal)).count - 32) / (24 + 8192)
        try #require(frames > 30)
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: wal))
        try handle.seek(toOffset: UInt64(32 + frames / 2 * (24 + 8192) + 4000))
        try handle.write(contentsOf: Data(repeating: 0x5A, count: 64))
        try handle.close()
        let again = try SQLiteRecordStore.open(killed, clock: clock)
        #expect(kept(at: killed.path).count == 1)
        for device in devices {
            let mark = try #require(try await again.balance(of: device.device).first?.mark)
            #expect(mark.number == device.last, "as the device was told")
            #expect(mark.lostAtCollector <= 6)
        }
        _ = try await expectAccount(of: devices, in: again, at: killed.path)
        await again.shutDown()
    }

    /// Cuts the file to nothing, as a shell's `>` does.
    private func cutToNothing(_ path: String) throws {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.truncate(atOffset: 0)
        try handle.close()
    }

    /// SQLite removes the WAL of an empty file, even for a reader.
    @Test func `Looking at an empty file leaves its WAL, which salvage reads`() async throws {
        let store = try open()
        var devices = (0..<3).map { _ in ScriptedDevice() }
        for place in devices.indices {
            devices[place].produce(9, bodyBytes: 900)
            try await store.drain(&devices[place])
        }
        let killed = try directory.copy()
        await store.shutDown()
        let file = killed.recordFile(Self.firstDay)
        let wal = try Data(contentsOf: URL(fileURLWithPath: file + "-wal"))
        try cutToNothing(file)
        #expect(try await StoreVerifier(directory: killed.path).verify().isWhole == false)
        _ = try await SQLiteRecordStore.openReading(directory: killed.path).balances()
        #expect(try Data(contentsOf: URL(fileURLWithPath: file + "-wal")) == wal, "who only looks changes nothing")
        let again = try SQLiteRecordStore.open(killed, clock: clock)
        #expect(try await expectAccount(of: devices, in: again, at: killed.path) == 0, "all of it is in the WAL")
        await again.shutDown()
    }

    @Test func `A file that is cut to nothing while it is open is mended at the next record`() async throws {
        let store = try open()
        var devices = (0..<3).map { _ in ScriptedDevice() }
        for place in devices.indices {
            devices[place].produce(9, bodyBytes: 900)
            try await store.drain(&devices[place])
        }
        try cutToNothing(directory.recordFile(Self.firstDay))
        #expect(try await expectAccount(of: devices, in: store, at: directory.path) == 0, "all of it is in the WAL")
        #expect(kept(at: directory.path).count == 1)
        await store.shutDown()
    }

    // MARK: Kills

    /// A copy of all files after each step is what kill -9 would leave there.
    @Test(arguments: [firstDay, lastDay]) func `A kill after any step changes nothing`(_ day: String) async throws {
        let devices = try await filled()
        try Damage.middlePageFlipped.apply(to: directory.recordFile(day))
        var copies: [(String, TemporaryDirectory)] = [("untouched", try directory.copy())]
        let partition = Partition(day: try #require(UTCDay(day)), stream: .sample)
        let salvage = try RecordSalvage(
            DataDirectory(path: directory.path), clock: clock, logger: quietLogger,
            observe: { step in
                do { copies.append(("\(step)", try directory.copy())) } catch { Issue.record(error) }
            })
        let report = try salvage.run(partition, cause: "a test")
        #expect(copies.count == 9 && report.lostNumbers > 0 && report.keptRecords > 0)
        copies.append(("done", directory))
        for (step, copy) in copies {
            let store = try SQLiteRecordStore.open(copy, clock: clock)
            store.recordDamage(partition, "seen by a test")
            #expect(await store.salvageDamaged() == (["untouched", "filled"].contains(step) ? 1 : 0), "\(step)")
            let lost = try await expectAccount(of: devices, in: store, at: copy.path, "\(step)")
            #expect(lost == report.lostNumbers, "\(step)")
            await store.shutDown()
            #expect(kept(at: copy.path).count == 1, "\(step)")
            #expect(
                try await notices(at: copy.path).filter { $0.code == .recordFileSalvaged }.map(\.count) == [1],
                "\(step)")
            let names = try FileManager.default.contentsOfDirectory(atPath: copy.path + "/records/salvaging")
            #expect(names.isEmpty, "\(step)")
        }
    }
}
