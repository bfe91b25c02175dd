import Collector
import CollectorAPI
import CollectorMaintenance
import Foundation
import HTTPTypes
import HummingbirdTesting
import LogArchive
import RecordStore
import Registry
import SQLiteRecordStore
import Testing
import WireModel

/// Retention and purges over HTTP, on a data directory with days of records.
@Suite("Retention over HTTP")
struct RetentionRoutesTests {
    private static let purge = "/api/v1/records/purge"

    /// A collector that serves four days of records, ten days later.
    private static func play(
        _ body:
            @escaping @Sendable (KeptData, SQLiteRecordStore, any TestClientProtocol, _ administrator: String)
            async throws -> Void
    ) async throws {
        let data = try await KeptData(days: 4)
        data.clock.advance(seconds: 10 * 86_400)
        let (metadata, _) = try MetadataService.open(directory: data.path, clock: data.clock, logger: KeptData.logger)
        let administrator = try await metadata.createPersonToken(name: "ann", role: .administrator, organization: nil)
            .token
        let store = try data.openStore()
        let clock = data.clock
        let server = CollectorServer(
            store: store, metadata: metadata,
            archive: try LogArchive.open(metadata: metadata, logger: KeptData.logger),
            notices: NoticeService(metadata: metadata),
            settings: CollectorServer.Settings(port: 0), logger: KeptData.logger, clock: { clock.now() })
        let result: Result<Void, any Error>
        do {
            result = .success(
                try await server.application().test(.router) { try await body(data, store, $0, administrator) })
        } catch { result = .failure(error) }
        await store.shutDown()
        await metadata.close()
        try result.get()
        try await data.expectBalance()
    }

    private static func retention(_ data: KeptData, _ store: SQLiteRecordStore) throws -> RecordRetention {
        try RecordRetention(
            store: store, registry: SQLiteRegistry(directory: data.path), limits: RetentionLimits(),
            notices: try data.notices(), clock: data.clock, logger: KeptData.logger)
    }

    private static func trail(_ client: any TestClientProtocol, _ administrator: String) async throws -> [JSONObject] {
        try await client.json("/api/v1/audit?actor=ann", bearer: administrator).objects("items").reversed()
    }

    @Test func `What is confirmed is removed, and the trail says who and what`() async throws {
        try await Self.play { data, store, client, administrator in
            let asked = try await client.post(
                Self.purge, bearer: administrator, json: #"{"olderThanDays": 12, "streams": ["event"]}"#)
            let plan = try asked.json
            #expect(asked.status == .ok && plan.flag("asked") == false && plan.number("files") == 2)
            #expect(plan.objects("streams").map { $0.text("newest") } == ["2025-06-16"])
            #expect(try data.files(.event) == 4 && plan["purge"] == nil)
            #expect(try await Self.trail(client, administrator).isEmpty, "nothing was done")

            let confirm = try #require(plan.text("confirm"))
            let other = try await client.post(
                Self.purge, bearer: administrator,
                json: #"{"olderThanDays": 10, "streams": ["event"], "confirm": "\#(confirm)"}"#)
            #expect(try other.status == .conflict && other.problem.code == "confirmation-outdated")
            let body = #"{"olderThanDays": 12, "streams": ["event"], "confirm": "\#(confirm)"}"#
            let done = try await client.post(Self.purge, bearer: administrator, json: body)
            let id = try #require(try done.json.text("purge"))
            #expect(try done.status == .accepted && done.json["confirm"] == nil)
            let again = try await client.post(Self.purge, bearer: administrator, json: body)
            #expect(try again.status == .conflict && again.problem.code == "purge-waiting")
            let waiting = try await client.json("/api/v1/retention", bearer: administrator)
            #expect(waiting.object("purge")?.text("state") == "waiting" && waiting.object("purge")?.text("id") == id)
            #expect(try await Self.trail(client, administrator).map { $0.text("outcome") } == ["begun"])

            await (try Self.retention(data, store)).purgeWhatIsAsked()
            #expect(try StreamName.allCases.map { try data.files($0) } == [4, 2, 4])
            let after = try await client.json("/api/v1/retention", bearer: administrator)
            #expect(
                after.object("purge")?.text("state") == "done" && after.object("purge")?.number("removedFiles") == 2)
            let trail = try await Self.trail(client, administrator)
            #expect(trail.map { $0.text("outcome") } == ["begun", "done"])
            #expect(
                trail.allSatisfy {
                    $0.text("action") == "records-purge" && $0.text("subject") == id && $0["organization"] == nil
                })
            let detail = try #require(trail.last?.object("detail"))
            #expect(
                detail.text("oldest") == "2025-06-15" && detail.text("streams") == "event"
                    && detail.text("removedFiles") == "2")
        }
    }

    @Test func `What fails midway is reported as failed`() async throws {
        try await Self.play { data, store, client, administrator in
            let asked = try await client.post(
                Self.purge, bearer: administrator, json: #"{"olderThanDays": 11, "streams": ["sample"]}"#)
            let confirm = try #require(try asked.json.text("confirm"))
            let body = #"{"olderThanDays": 11, "streams": ["sample"], "confirm": "\#(confirm)"}"#
            #expect(try await client.post(Self.purge, bearer: administrator, json: body).status == .accepted)
            // The oldest file cannot be read, and the next one cannot go before it.
            let oldest = "\(data.path)/records/2025-06-15/sample.sqlite"
            let kept = try Data(contentsOf: URL(fileURLWithPath: oldest))
            try Data(repeating: 7, count: 8192).write(to: URL(fileURLWithPath: oldest))
            await (try Self.retention(data, store)).purgeWhatIsAsked()
            try kept.write(to: URL(fileURLWithPath: oldest))
            let after = try await client.json("/api/v1/retention", bearer: administrator)
            #expect(
                after.object("purge")?.text("state") == "failed"
                    && after.object("purge")?.text("failure")?.isEmpty == false)
            #expect(try await Self.trail(client, administrator).map { $0.text("outcome") } == ["begun", "failed"])
        }
    }

    @Test func `A release is a word of an administrator and is in the trail once`() async throws {
        try await Self.play { data, store, client, administrator in
            let path = "/api/v1/retention/release"
            let idle = try await client.send(.post, path, bearer: administrator)
            #expect(try idle.status == .ok && idle.json.flag("released") == false)
            // Records of a time to come.
            data.clock.advance(seconds: -20 * 86_400)
            let retention = try Self.retention(data, store)
            #expect(await retention.pass().isEmpty)
            #expect(try await client.json("/api/v1/retention", bearer: administrator).text("waiting") != nil)
            let released = try await client.send(.post, path, bearer: administrator)
            #expect(
                try released.json.flag("released") == true
                    && released.json.text("waited")?.contains("in the future") == true)
            #expect(try await client.json("/api/v1/retention", bearer: administrator)["waiting"] == nil)
            #expect(try await Self.trail(client, administrator).map { $0.text("action") } == ["retention-release"])
        }
    }

    @Test(
        arguments: [
            ("{}", "olderThanDays"), (#"{"olderThanDays": 0}"#, "olderThanDays"),
            (#"{"olderThanDays": 36501}"#, "olderThanDays"),
            (#"{"olderThanDays": 5, "streams": ["logs"]}"#, "streams[0]"),
            (#"{"olderThanDays": 5, "organization": "x"}"#, "organization"),
        ])
    func `What cannot be is refused by its name`(body: String, field: String) async throws {
        let harness = try MetadataHarness()
        try await harness.route { client in
            let response = try await client.post(Self.purge, bearer: harness.administrator, json: body)
            #expect(try response.status == .unprocessableContent && response.problem.field == field)
        }
    }
}
