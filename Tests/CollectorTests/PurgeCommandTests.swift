import CollectorMaintenance
import Foundation
import LogArchive
import RecordStore
import Registry
import SQLiteRecordStore
import TestKit
import Testing
import WireModel

@testable import CollectorCommands

/// The built `ws1collector purge`, on a directory alone and beside a collector.
@Suite("ws1collector purge", .timeLimit(.minutes(10)))
struct PurgeCommandTests {
    @Test(arguments: [("14d", 14), ("2w", 14), ("1d", 1), ("36500d", 36_500)])
    func `Ages are days or weeks`(text: String, days: Int) {
        #expect(PurgeCommand.days(text) == days)
    }

    @Test(arguments: ["", "d", "14", "0d", "-1d", "36501d", "99999999999999999999d", "1h", "1.5d", "36500w"])
    func `What is not an age is none`(text: String) {
        #expect(PurgeCommand.days(text) == nil)
    }

    @Test func `Nothing goes without being confirmed`() async throws {
        let data = try await KeptData(days: 3)
        let asked = try await data.ws1collector("purge", "--records", "--older-than", "10d")
        #expect(asked.status == 64 && asked.text.contains("sample: 3 days, 2025-06-15 to 2025-06-17"))
        #expect(asked.errors.contains("--yes"))
        #expect(try StreamName.allCases.map { try data.files($0) } == [3, 3, 3])
        for wrong in [
            [], ["--records"], ["--logs", "--older-than", "soon"], ["--logs", "--stream", "event"],
            ["--records", "--organization", "x"],
            ["--logs", "--organization", "elsewhere"],
        ] {
            let refused = try await ProgramRun.of(
                ["purge", "--yes", "--data", data.path] + wrong,
                program: URL(fileURLWithPath: ProgramRun.ws1collectorPath))
            #expect(refused.status == 64, "\(wrong)")
        }
    }

    @Test func `Records are removed by whole days of the streams named`() async throws {
        let data = try await KeptData(days: 4)
        let purged = try await data.ws1collector(
            "purge", "--records", "--older-than", "10d", "--stream", "event", "--yes")
        #expect(purged.status == 0 && purged.text.hasSuffix("4 files removed.\n"), "\(purged.errors)")
        #expect(try StreamName.allCases.map { try data.files($0) } == [4, 0, 4])
        try await data.expectBalance()
        let again = try await data.ws1collector(
            "purge", "--records", "--older-than", "10d", "--stream", "event", "--yes")
        #expect(again.status == 0 && again.text == "No whole day of records is older than 10 days.\n")
        #expect(
            try await Self.trail(data).map(\.entry.outcome) == [.begun, .done], "once: nothing was left for the second")
    }

    @Test func `A running collector removes what it is asked to`() async throws {
        let data = try await KeptData(days: 4)
        let store = try data.openStore()
        let notices = try data.notices()
        let retention = try RecordRetention(
            store: store, registry: SQLiteRegistry(directory: data.path), limits: RetentionLimits(), notices: notices,
            clock: data.clock, logger: KeptData.logger)
        let purged = try await withThrowingTaskGroup(of: ProgramRun?.self) { group in
            group.addTask {
                try await data.ws1collector("purge", "--records", "--older-than", "10d", "--stream", "status", "--yes")
            }
            group.addTask {
                while !Task.isCancelled {
                    await retention.purgeWhatIsAsked()
                    await Task.yield()
                }
                return nil
            }
            let first = try await group.next()
            group.cancelAll()
            return try #require(first ?? nil)
        }
        #expect(
            purged.status == 0 && purged.text.contains("Asked the collector")
                && purged.text.hasSuffix("4 files removed.\n"))
        #expect(try StreamName.allCases.map { try data.files($0) } == [0, 4, 4])
        #expect(try await Self.trail(data).map(\.entry.outcome) == [.begun, .done])
        await store.shutDown()
        try await data.expectBalance()
    }

    /// Oldest first.
    private static func trail(_ data: KeptData) async throws -> [AuditRow] {
        let (metadata, _) = try MetadataService.open(
            directory: data.path, clock: data.clock, logger: KeptData.logger, exclusive: false)
        let rows = try await metadata.audit(AuditQuery(action: .recordsPurge), below: nil, limit: 100).rows
        await metadata.close()
        #expect(rows.allSatisfy { $0.entry.actor == .commandLine && $0.entry.detail["files"] == "4" })
        return rows.reversed()
    }

    @Test func `Old logs are removed, and their quota is free`() async throws {
        try await UploadScene.play { scene in
            var book = LogBook(application: "com.example.kiosk")
            try book.add(segment: 1, positions: 1...40, from: Harness.now)
            try await scene.upload(book)
            func purge(_ arguments: String...) async throws -> ProgramRun {
                try await ProgramRun.of(
                    ["purge", "--logs", "--data", scene.harness.directory] + arguments,
                    program: URL(fileURLWithPath: ProgramRun.ws1collectorPath))
            }
            let usage = try #require(try await scene.harness.archive.metadata.logUsage(organization: nil).first)
            #expect(usage.chunks == 1)
            let other = try await purge("--application", "com.example.other", "--yes")
            #expect(other.status == 0 && other.text == "No logs are older than 14 days.\n")
            let purged = try await purge(
                "--organization", usage.organization, "--application", usage.application, "--yes")
            #expect(
                purged.status == 0 && purged.text.contains("1 chunk of 1 device, 40 lines"),
                "\(purged.text)\(purged.errors)")
            #expect(try await scene.harness.archive.metadata.logUsage(organization: nil).first?.chunks == 0)
            #expect(try await StoreVerifier(directory: scene.harness.directory).verify().isWhole)
        }
    }
}
