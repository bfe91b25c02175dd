import Foundation
import RegistryTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import RecordStore
@testable import Registry

@Suite("Quotas of records", .eachRegistry) struct RecordQuotaTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()

    init() throws { directory = try TemporaryDirectory() }

    private func open(
        device: Int = 1000, organization: Int = 3000, exclusive: Bool = true
    ) throws -> (MetadataService, token: String?) {
        let (metadata, created) = try TestRegistry.open(
            directory: directory.path, clock: clock, logger: quietLogger, exclusive: exclusive)
        metadata.setRecordQuotas(quotas(device, organization))
        return (metadata, created?.enrollmentToken)
    }

    private func quotas(_ device: Int, _ organization: Int) -> RecordQuotas {
        var quotas = RecordQuotas()
        (quotas.deviceBytes, quotas.organizationBytes) = (device, organization)
        return quotas
    }

    private func devices(_ count: Int, _ metadata: MetadataService, _ token: String?) async throws -> [DeviceRow] {
        var devices: [DeviceRow] = []
        for _ in 0..<count {
            let enrolled = try await metadata.enroll(token: try #require(token), request: WireEnrollRequest())
            devices.append(try #require(try await metadata.device(enrolled.deviceID, organization: nil)))
        }
        return devices
    }

    /// The open notices, as code and subject.
    private func reported(_ metadata: MetadataService) async throws -> Set<String> {
        let rows = try await NoticeService(metadata: metadata).page(organization: "default", below: nil, limit: 1000)
            .rows
        return Set(rows.filter { $0.ended == nil }.map { "\($0.code.rawValue) \($0.subject)" })
    }

    @Test func `A device is refused once its quota is used up and accepted again the next day`() async throws {
        let (metadata, token) = try open()
        let rows = try await devices(2, metadata, token)
        #expect(metadata.recordRefusal(of: rows[0], at: clock.now()) == nil)
        metadata.recordStored(999, of: rows[0], at: clock.now())
        #expect(metadata.recordRefusal(of: rows[0], at: clock.now()) == nil, "what began below it may go on")
        metadata.recordStored(500, of: rows[0], at: clock.now())
        let refusal = try #require(metadata.recordRefusal(of: rows[0], at: clock.now()))
        #expect(refusal.isOfDevice && refusal.bytes == 1499 && refusal.quota == 1000)
        #expect(refusal.wait > 0 && refusal.wait <= RecordQuotaRefusal.longestWait)
        #expect(metadata.recordRefusal(of: rows[1], at: clock.now()) == nil, "another device is not concerned")
        clock.advance(days: 1)
        #expect(metadata.recordRefusal(of: rows[0], at: clock.now()) == nil)
        await metadata.close()
    }

    @Test func `Just before midnight, a device waits for that only`() async throws {
        let usage = RecordUsage()
        usage.quotas = quotas(10, 1000)
        let device = DeviceID.random()
        let midnight = UTCDay(microseconds: clock.now()).next.start
        _ = usage.record(10, of: device, in: "default", at: midnight - 5_000_000)
        #expect(usage.refusal(of: device, in: "default", at: midnight - 5_000_000)?.wait == 5_000_000)
        #expect(usage.refusal(of: device, in: "default", at: midnight) == nil)
    }

    @Test func `An organization has a quota for all its devices`() async throws {
        let (metadata, token) = try open(device: 1000, organization: 1500)
        let rows = try await devices(3, metadata, token)
        for row in rows[..<2] { metadata.recordStored(800, of: row, at: clock.now()) }
        let refusal = try #require(metadata.recordRefusal(of: rows[2], at: clock.now()))
        #expect(!refusal.isOfDevice && refusal.bytes == 1600 && refusal.quota == 1500)
        var stranger = rows[2]
        stranger.organization = "west"
        #expect(metadata.recordRefusal(of: stranger, at: clock.now()) == nil, "another organization is not concerned")
        await metadata.close()
    }

    @Test func `Notices begin at 75 and 100 percent and end with the day`() async throws {
        let (metadata, token) = try open()
        let rows = try await devices(1, metadata, token)
        let subject = rows[0].id.description
        metadata.recordStored(749, of: rows[0], at: clock.now())
        #expect(try await reported(metadata) == [])
        metadata.recordStored(1, of: rows[0], at: clock.now())
        #expect(try await reported(metadata) == ["record-quota-75 \(subject)"])
        metadata.recordStored(250, of: rows[0], at: clock.now())
        #expect(try await reported(metadata) == ["record-quota-75 \(subject)", "record-quota-100 \(subject)"])
        // Nothing that follows says it again.
        await NoticeService(metadata: metadata).followRecordQuotas()
        let rowsOfList = try await NoticeService(metadata: metadata).page(organization: nil, below: nil, limit: 10).rows
        #expect(rowsOfList.map(\.count) == [1, 1])
        clock.advance(days: 1)
        await NoticeService(metadata: metadata).followRecordQuotas()
        #expect(try await reported(metadata) == [])
        await metadata.close()
    }

    @Test func `A raised quota ends the notices that it concerns`() async throws {
        let (metadata, token) = try open(device: 1000, organization: 1000)
        let rows = try await devices(1, metadata, token)
        metadata.recordStored(1000, of: rows[0], at: clock.now())
        let subjects = [rows[0].id.description, "all devices"]
        #expect(
            try await reported(metadata)
                == Set(subjects.flatMap { ["record-quota-75 \($0)", "record-quota-100 \($0)"] }))
        metadata.setRecordQuotas(quotas(1200, 5000))
        #expect(metadata.recordRefusal(of: rows[0], at: clock.now()) == nil)
        await NoticeService(metadata: metadata).followRecordQuotas()
        #expect(try await reported(metadata) == ["record-quota-75 \(subjects[0])"])
        await metadata.close()
    }

    @Test func `Many devices over their quotas do not fill the list`() async throws {
        let (metadata, token) = try open(device: 1000, organization: 1_000_000)
        let rows = try await devices(60, metadata, token)
        for row in rows { metadata.recordStored(2000, of: row, at: clock.now()) }
        await metadata.writeRecordUsage()
        #expect(try await reported(metadata).count == 100, "50 devices, each with two notices")
        await metadata.close()
    }

    @Test func `A restart forgets nothing`() async throws {
        let (metadata, token) = try open(device: 1_000_000, organization: 10_000_000)
        let rows = try await devices(2, metadata, token)
        for row in rows { metadata.recordStored(999_999, of: row, at: clock.now()) }
        metadata.recordStored(1, of: rows[0], at: clock.now())
        await metadata.close()
        let (again, _) = try open(device: 1_000_000, organization: 10_000_000)
        #expect(again.recordRefusal(of: rows[0], at: clock.now())?.bytes == 1_000_000)
        #expect(again.recordRefusal(of: rows[1], at: clock.now()) == nil)
        again.recordStored(1, of: rows[1], at: clock.now())
        #expect(again.recordRefusal(of: rows[1], at: clock.now())?.bytes == 1_000_000)
        await again.close()
    }

    @Test func `Collectors of one registry count together`() async throws {
        let (first, token) = try open(exclusive: false)
        let rows = try await devices(1, first, token)
        let (second, _) = try open(exclusive: false)
        first.recordStored(600, of: rows[0], at: clock.now())
        await first.writeRecordUsage()
        second.recordStored(600, of: rows[0], at: clock.now())
        await second.writeRecordUsage()
        #expect(second.recordRefusal(of: rows[0], at: clock.now())?.bytes == 1200)
        first.recordStored(10, of: rows[0], at: clock.now())
        await first.writeRecordUsage()
        #expect(first.recordRefusal(of: rows[0], at: clock.now())?.bytes == 1210)
        await second.close()
        await first.close()
    }

    @Test func `A device that sends little causes no write`() {
        let usage = RecordUsage()
        usage.quotas = quotas(256_000, 256_000_000)
        let device = DeviceID.random()
        #expect(!usage.record(999, of: device, in: "default", at: 0))
        #expect(usage.drain(all: false).isEmpty)
        #expect(usage.record(1, of: device, in: "default", at: 0))
        #expect(usage.drain(all: false).map(\.bytes) == [1000])
        #expect(usage.drain(all: true).map(\.owner) == [RecordOwner(organization: "default", device: nil)])
    }

    @Test func `What could not be written is written later`() {
        let usage = RecordUsage()
        usage.quotas = quotas(10, 1_000_000)
        let device = DeviceID.random()
        _ = usage.record(20, of: device, in: "default", at: 0)
        let taken = usage.drain(all: true)
        usage.putBack(taken)
        #expect(usage.refusal(of: device, in: "default", at: 0)?.bytes == 20)
        #expect(Set(usage.drain(all: true).map(\.bytes)) == [20] && taken.count == 2)
    }

    @Test func `A device names a bounded number of epochs a day, and those go on`() {
        let usage = RecordUsage()
        usage.quotas.deviceEpochs = 3
        let device = DeviceID.random()
        let epochs = (0..<5).map { _ in EpochID.random() }
        func refusal(_ epochs: [EpochID], of other: DeviceID? = nil, day: Int64 = 0) -> EpochRefusal? {
            usage.refusal(ofEpochs: epochs, of: other ?? device, in: "default", at: day * 86_400_000_000)
        }
        for epoch in epochs[..<3] { #expect(refusal([epoch]) == nil) }
        #expect(refusal([epochs[3]]) == EpochRefusal(limit: 3, wait: 900_000_000, isFirst: true))
        #expect(refusal([epochs[0], epochs[4]])?.isFirst == false, "the log has one line a day")
        #expect(refusal(Array(epochs[..<3])) == nil, "what it named before goes on")
        usage.learn(7, of: RecordOwner(organization: "default", device: device), day: UTCDay(number: 0))
        #expect(refusal([epochs[4]]) != nil, "bytes that are counted do not change it")
        #expect(refusal(epochs, of: .random()) != nil, "one request is no exception")
        #expect(refusal([epochs[3]], of: .random()) == nil, "another device is not concerned")
        #expect(refusal([epochs[3]], day: 1) == nil)
    }
}
