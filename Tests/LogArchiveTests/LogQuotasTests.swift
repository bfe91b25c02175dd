import Foundation
import RegistryTestKit
import SQLiteStoreTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import LogArchive
@testable import RecordStore
@testable import Registry

/// The name of an application comes from the device: inventing names must not go round a quota.
@Suite(.eachRegistry) struct LogQuotasTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()

    init() throws { directory = try TemporaryDirectory() }

    private func archive(_ adjust: (inout LogQuotas) -> Void) throws -> LogArchive {
        var configuration = LogArchive.Configuration()
        configuration.leastFreeBytes = 0
        adjust(&configuration.quotas)
        return try LogArchive.open(
            directory: directory.path, clock: clock, configuration: configuration, logger: quietLogger)
    }

    private func fault(_ device: LogDevice, _ application: String, in archive: LogArchive) async throws
        -> UploadError?
    {
        var device = device
        device.application = application
        do {
            try await device.upload([try LogDevice.chunk(segment: 1, 1...20)], to: archive)
            return nil
        } catch let error as UploadError { return error }
    }

    @Test func `A device has a bounded number of names`() async throws {
        let archive = try archive { $0.applicationsPerDevice = 3 }
        let device = LogDevice()
        for name in ["a", "b", "c", "a"] { #expect(try await fault(device, name, in: archive) == nil) }
        #expect(try await fault(device, "d", in: archive) == .tooManyApplications(ofDevice: true, limit: 3))
        #expect(try await fault(device, "b", in: archive) == nil, "names that it has go on")
        #expect(try await fault(LogDevice(), "d", in: archive) == nil, "another device has names of its own")
        // A name is free again once nothing of it is kept or on its way.
        await archive.close()
        let later = try self.archive { $0.applicationsPerDevice = 3 }
        clock.advance(days: 8)
        let query = LogQuery(device: device.row.id, application: "a", withTest: true)
        _ = try await later.delete(
            query, confirmation: try await later.metadata.deletion(query).confirmation, by: .commandLine)
        #expect(try await fault(device, "d", in: later) == nil)
        later.shutDown()
    }

    @Test func `An organization has a bounded number of names and is told so`() async throws {
        let archive = try archive { $0.applicationsPerOrganization = 3 }
        for name in ["a", "b", "c"] { #expect(try await fault(LogDevice(), name, in: archive) == nil) }
        #expect(try await fault(LogDevice(), "d", in: archive) == .tooManyApplications(ofDevice: false, limit: 3))
        #expect(try await fault(LogDevice(), "a", in: archive) == nil)
        #expect(try await fault(LogDevice("west"), "d", in: archive) == nil, "another organization is not concerned")
        let notices = try await NoticeService(metadata: archive.metadata).page(
            organization: "default", below: nil, limit: 10
        ).rows
        #expect(
            notices.map(\.code) == [.logQuotaReached] && notices[0].ended == nil
                && notices[0].detail.contains("3 application names"))
        archive.setQuotas(LogQuotas())
        #expect(try await fault(LogDevice(), "d", in: archive) == nil)
        #expect(
            try await NoticeService(metadata: archive.metadata).page(organization: "default", below: nil, limit: 10)
                .rows[0].ended != nil)
        await archive.close()
    }

    @Test func `A device has a quota over all names`() async throws {
        let bytes = try LogDevice.chunk(segment: 1, 1...20).text.count
        let archive = try archive {
            $0.deviceBytes = 2 * bytes
            $0.applicationBytes = 2 * bytes
        }
        let device = LogDevice()
        for name in ["a", "b"] { #expect(try await fault(device, name, in: archive) == nil) }
        let full = UploadError.quotaExceeded(.device, used: 2 * bytes, limit: 2 * bytes)
        #expect(try await fault(device, "c", in: archive) == full)
        #expect(try await fault(LogDevice(), "c", in: archive) == nil, "another device has a quota of its own")
        let subject = "device \(device.row.id)"
        func open() async throws -> [String] {
            try await NoticeService(metadata: archive.metadata).page(organization: "default", below: nil, limit: 20)
                .rows.filter { $0.ended == nil }.map(\.subject)
        }
        #expect(try await open().contains(subject))
        let query = LogQuery(device: device.row.id, application: "a", withTest: true)
        _ = try await archive.delete(
            query, confirmation: try await archive.metadata.deletion(query).confirmation, by: .commandLine)
        #expect(try await !open().contains(subject), "there is room again")
        #expect(try await fault(device, "c", in: archive) == nil)
        await archive.close()
    }

    @Test func `An application's quota is raised and returned`() async throws {
        let bytes = try LogDevice.chunk(segment: 1, 1...20).text.count
        let archive = try archive {
            $0.applicationBytes = bytes
            $0.deviceBytes = bytes
            $0.organizationBytes = 10 * bytes
        }
        let device = LogDevice()
        func set(_ quota: Int?, _ organization: String = "default") async throws {
            try await archive.metadata.setLogQuota(
                quota, application: "a", organization: organization, by: .commandLine)
        }
        #expect(try await fault(device, "a", in: archive) == nil)
        let full = UploadError.quotaExceeded(.application, used: bytes, limit: bytes)
        #expect(try await fault(device, "a", in: archive) == full)
        try await set(2 * bytes)
        let notices = try await NoticeService(metadata: archive.metadata).page(
            organization: "default", below: nil, limit: 20
        ).rows
        #expect(!notices.isEmpty && notices.allSatisfy { $0.ended != nil })
        #expect(try await fault(device, "a", in: archive) == nil, "the device's quota grows with it")
        #expect(try await fault(device, "a", in: archive) != nil)
        #expect(try await fault(device, "b", in: archive) != nil, "but not for other names")
        let usage = try await archive.metadata.logUsage(organization: "default")
        #expect(usage.map(\.quotaBytes) == [2 * bytes])
        #expect(
            try await archive.metadata.logQuotas(of: "default") == [LogQuotaRow(application: "a", bytes: 2 * bytes)])
        try await set(nil)
        #expect(try await archive.metadata.logQuotas(of: "default").isEmpty)
        let tooMuch = await #expect(throws: StoreError.self) { try await set(10 * bytes + 1) }
        #expect(tooMuch?.code == .invalid)
        let unknown = await #expect(throws: StoreError.self) { try await set(bytes, "nowhere") }
        #expect(unknown?.code == .notFound)
        let trail = try await archive.metadata.audit(AuditQuery(), below: nil, limit: 10).rows.map(\.entry)
        #expect(trail.filter { $0.action == .logQuotaChange }.map(\.detail["bytes"]) == ["default", "\(2 * bytes)"])
        await archive.close()
    }

    @Test func `An organization has a quota over all names`() async throws {
        let bytes = try LogDevice.chunk(segment: 1, 1...20).text.count
        let archive = try archive { $0.organizationBytes = 3 * bytes + 1 }
        for name in ["a", "b", "c"] { #expect(try await fault(LogDevice(), name, in: archive) == nil) }
        #expect(
            try await fault(LogDevice(), "d", in: archive)
                == .quotaExceeded(.organization, used: 3 * bytes, limit: 3 * bytes + 1))
        #expect(try await fault(LogDevice("west"), "d", in: archive) == nil)
        let notices = try await NoticeService(metadata: archive.metadata).page(
            organization: "default", below: nil, limit: 10
        ).rows
        #expect(notices.map(\.subject) == ["all applications", "all applications"])
        #expect(Set(notices.map(\.code)) == [.logQuotaHigh, .logQuotaReached])
        let query = LogQuery(organization: "default", application: "a", withTest: true)
        _ = try await archive.delete(
            query, confirmation: try await archive.metadata.deletion(query).confirmation, by: .commandLine)
        #expect(try await fault(LogDevice(), "e", in: archive) == nil, "there is room again")
        #expect(
            try await archive.metadata.logUsage(organization: "default").map(\.application) == ["b", "c", "e"],
            "an empty name leaves nothing")
        await archive.close()
        // Verification is of files.
        if TestRegistry.postgreSQL == nil {
            #expect(try await directory.verify().isWhole)
        }
    }
}
