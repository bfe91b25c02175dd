import CollectorStore
import Foundation
import RecordStoreTestKit
import SQLite
import TelemetryTestKit
import Testing
import WireModel

/// A data directory that version 1.0.0 has left opens, proves, and goes on.
@Suite struct EarlierVersionTests {
    private let directory: TemporaryDirectory

    init() async throws {
        directory = try TemporaryDirectory()
        let archive = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "Fixtures/collector-1.0.tar.gz")
        let unpacking = try await ProgramRun.of(
            ["-xzf", archive.path, "-C", directory.path], program: URL(filePath: "/usr/bin/tar"))
        try #require(unpacking.status == 0, "\(unpacking.errors)")
    }

    @Test func itsDirectoryVerifiesAndItsBalancesClose() async throws {
        let report = try await StoreVerifier(directory: directory.path).verify()
        #expect(report.isWhole, "\(report.findings)")
        #expect(report.files == 8 && report.records == 153 && report.chunks == 1)
        let store = try SQLiteRecordStore.openReading(directory: directory.path)
        let balances = try await store.balances()
        #expect(balances.devices.count == 5 && balances.devices.flatMap(\.epochs).count == 18)
        #expect(balances.devices.flatMap(\.epochs).allSatisfy { $0.balance.closes && $0.balance.waiting == 0 })
        #expect(try await store.partitions().dropped == [.sample: 1])
    }

    @Test func itsDevicesGoOnWhereTheyWere() async throws {
        let clock = ManualStoreClock()
        clock.advance(days: 3)
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        let epochs = try await store.balances().devices.flatMap { device in device.epochs.map { (device.device, $0) } }
        #expect(epochs.filter(\.1.closed).count == 3)
        for (id, former) in epochs {
            var device = ScriptedDevice(device: id, epoch: former.epoch, stream: former.stream)
            (device.last, device.link, device.mark) = (former.mark.number, former.mark.link, former.mark)
            device.produce(3)
            let answer = await store.append(try #require(device.part()), from: id)
            #expect(answer.outcome == (former.closed ? .closed : .stored))
            let balance = try #require(
                try await store.balance(of: id).first { $0.epoch == former.epoch && $0.stream == former.stream })
            #expect(balance.storedRows == former.storedRows + (former.closed ? 0 : 3) && balance.balance.closes)
        }
        await store.shutDown()
        let report = try await StoreVerifier(directory: directory.path).verify()
        #expect(report.isWhole && report.records == 153 + 15 * 3, "\(report.findings)")
    }

    @Test func itsMetadataAndNoticesAreThere() async throws {
        let clock = ManualStoreClock()
        clock.advance(days: 3)
        let (metadata, created) = try MetadataService.open(
            directory: directory.path, clock: clock, logger: quietLogger)
        #expect(created == nil, "it is no first start")
        let devices = try await metadata.devices(organization: "default", after: nil, limit: 10).devices
        #expect(devices.count == 5 && devices.count { $0.test } == 4)
        await metadata.close()
        let database = try Connection(path: directory.path + "/collector.sqlite", options: .init(mode: .readOnly))
        let notices = try database.prepare("SELECT count(*), count(ended) FROM notice")
        #expect(try notices.step() && notices.int(0) == 2 && notices.int(1) == 1, "one lasts, one has ended")
    }
}
