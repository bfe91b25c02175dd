import Foundation
import RegistryTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import CollectorMaintenance
@testable import RecordStore
@testable import Registry

@Suite(.eachRegistry) struct OTLPDeviceExpiryTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()
    private let metadata: MetadataService
    private let store: InMemoryRecordStore
    private let sender: OTLPSender

    init() async throws {
        directory = try TemporaryDirectory()
        metadata = try TestRegistry.open(directory: directory.path, clock: clock, logger: quietLogger).0
        store = InMemoryRecordStore(clock: clock)
        sender = try await metadata.authenticateOTLP(
            token: try await metadata.createOTLPToken(organization: "default").token)
    }

    /// A record of a device of OTLP.
    private func send(_ number: UInt64, to stream: StreamName = .event, isSeen: Bool = true) async throws {
        let device = DeviceID(high: 7, low: number)
        _ = try await metadata.standings(of: [OTLPDevice(id: device)], from: sender)
        func record(_ kind: WireRecordKind) -> NewRecord {
            NewRecord(
                stream: stream, kind: kind, stamp: RecordStamp(wallTime: clock.now(), bootID: nil, timeSinceBoot: 0),
                body: Data())
        }
        let items = UnnumberedItems(
            device: device, epoch: EpochID(numberedBy: metadata.incarnationID, for: device),
            runs: [
                UnnumberedItems.Run(
                    context: record(.otlpContext),
                    items: [UnnumberedItems.Item(record(stream == .event ? .otlpLog : .otlpMetrics))])
            ])
        let answers = await store.append([items], to: stream, receivedAt: clock.now())
        #expect(answers.map(\.outcome) == [.stored])
        if isSeen { metadata.seen(device, DeviceObservation(at: clock.now())) }
    }

    private func known() async throws -> [UInt64] {
        try await metadata.devices(organization: nil, after: nil, limit: 100).devices.map(\.id.low)
    }

    private func pass() async -> Int {
        await OTLPDeviceExpiry(store: store, metadata: metadata, clock: clock, logger: quietLogger).pass()
    }

    @Test func `A device goes with its last record, in either stream`() async throws {
        try await send(1)
        try await send(2, to: .sample)
        try await send(3)
        clock.advance(days: 1)
        try await send(3)
        // What says when it was seen was lost with a kill.
        try await send(2, to: .sample, isSeen: false)
        #expect(await pass() == 0)
        let first = UTCDay(microseconds: ManualStoreClock.start)
        try await store.drop(Partition(day: first, stream: .event))
        #expect(await pass() == 0, "records of the first day are kept in the other stream")
        try await store.drop(Partition(day: first, stream: .sample))
        #expect(await pass() == 1)
        #expect(try await known() == [2, 3])
        #expect(await pass() == 0)
    }

    @Test func `An enrolled device stays without any record`() async throws {
        let token = try await metadata.createEnrollmentToken(organization: "default").token
        let enrolled = try await metadata.enroll(token: token, request: WireEnrollRequest()).deviceID
        clock.advance(days: 100)
        try await send(1)
        #expect(await pass() == 0)
        #expect(Set(try await known()) == [enrolled.low, 1])
    }
}
