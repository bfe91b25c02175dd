import RegistryTestKit
import SQLite
import StoreTestKit
import Synchronization
import TestKit
import Testing
import WireModel

@testable import Registry

/// A full disk refuses the notice about itself, as a trigger does here.
@Suite("Notices that could not be written") struct UnreportedNoticeTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()
    private let service: NoticeService

    init() throws {
        directory = try TemporaryDirectory()
        service = try NoticeService(directory: directory.path, clock: clock, logger: quietLogger)
    }

    private func execute(_ sql: String) throws {
        let connection = try Connection(path: "\(directory.path)/collector.sqlite", options: .init(mode: .readWrite))
        try connection.execute(sql)
        try connection.close()
    }

    private func refuseNotices() throws {
        for (name, event) in [("noInsert", "INSERT"), ("noUpdate", "UPDATE")] {
            try execute(
                "CREATE TRIGGER \(name) BEFORE \(event) ON notice BEGIN SELECT RAISE(ABORT, 'no room'); END")
        }
    }

    private func acceptNotices() throws {
        for name in ["noInsert", "noUpdate"] { try execute("DROP TRIGGER \(name)") }
    }

    private func lasting(_ code: NoticeRow.Code) async throws -> Int {
        try await service.counts()[code].lasting
    }

    @Test func `The next look raises the notice of a low disk, and another one ends it`() async throws {
        let free = Mutex<UInt64>(5)
        let watch = DiskWatch(
            directory: directory.path, lowBytes: 100, notices: service, freeBytes: { free.withLock { $0 } })
        try refuseNotices()
        await watch.look()
        #expect(try await lasting(.diskLow) == 0)
        try acceptNotices()
        await watch.look()
        #expect(try await lasting(.diskLow) == 1)

        free.withLock { $0 = 5000 }
        try refuseNotices()
        await watch.look()
        #expect(try await lasting(.diskLow) == 1)
        try acceptNotices()
        await watch.look()
        #expect(try await lasting(.diskLow) == 0)
    }

    /// Before a list, notices that are over are ended.
    @Test func `The list is read, although nothing can be written`() async throws {
        await service.raise(.logsArrived, organization: "default", subject: "d", detail: "")
        clock.advance(days: 2)
        func listed() async throws -> [NoticeRow] {
            try await service.page(organization: nil, below: nil, limit: 10).rows
        }
        try refuseNotices()
        #expect(try await listed().map(\.ended) == [nil])
        try acceptNotices()
        #expect(try await listed().map(\.ended) == [clock.now()])
    }

    @Test func `The next look raises the notice of a certificate that expires`() async throws {
        let certificate = WatchedCertificate(
            name: "tls-certificate", serial: "1f", expires: clock.now() + 1_000_000)
        let watch = CertificateWatch(notices: service, clock: clock, certificates: { [certificate] })
        try refuseNotices()
        await watch.look()
        #expect(try await lasting(.certificateExpiry) == 0)
        try acceptNotices()
        await watch.look()
        #expect(try await lasting(.certificateExpiry) == 1)
    }
}
