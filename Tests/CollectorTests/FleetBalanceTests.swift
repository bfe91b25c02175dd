import CollectorAPI
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import LogArchive
import RecordStore
import Registry
import SQLite
import SQLiteRecordStore
import TestKit
import Testing
import WireModel

@testable import Collector

@Suite("Balance of the fleet", .timeLimit(.minutes(10))) struct FleetBalanceTests {
    private static let path = "/api/v1/balance"

    private struct Scene: Sendable {
        let data: KeptData
        let server: CollectorServer
        let client: any TestClientProtocol
        let metadata: MetadataService
        /// The token of an administrator of all organizations.
        let administrator: String

        func balance(_ bearer: String? = nil, _ query: String = "") async throws -> JSONObject {
            try await client.json(path + query, bearer: bearer ?? administrator)
        }

        func execute(_ sql: String, on file: String) throws {
            let connection = try Connection(path: file, options: .init(mode: .readWrite))
            try connection.execute(sql)
            try connection.close()
        }
    }

    private func play(days: Int = 2, _ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
        let data = try await KeptData(days: days)
        let (metadata, _) = try MetadataService.open(directory: data.path, clock: data.clock, logger: KeptData.logger)
        let (_, token) = try await metadata.createPersonToken(name: "ann", role: .administrator, organization: nil)
        let store = try data.openStore()
        let archive = try LogArchive.open(metadata: metadata, logger: KeptData.logger)
        let clock = data.clock
        let server = CollectorServer(
            store: store, metadata: metadata, archive: archive, notices: NoticeService(metadata: metadata),
            settings: CollectorServer.Settings(port: 0), logger: KeptData.logger, clock: { clock.now() })
        try await server.application().test(.router) { client in
            try await body(
                Scene(data: data, server: server, client: client, metadata: metadata, administrator: token))
        }
        await store.shutDown()
        archive.shutDown()
        await metadata.close()
    }

    private static func day(_ data: KeptData) throws -> String {
        try #require(
            try FileManager.default.contentsOfDirectory(atPath: data.path + "/records").filter { $0.first == "2" }
                .sorted().first)
    }

    private static func chain(_ device: DeviceID) -> String {
        "(SELECT id FROM chain WHERE device = x'\(device.data.map { String(format: "%02x", $0) }.joined())')"
    }

    @Test func `Nothing is known before the first pass, and everything is accounted for after it`() async throws {
        try await play { scene in
            let before = try await scene.balance()
            #expect(before.text("state") == "unknown" && before["balance"] == nil && before.flag("running") == false)
            #expect(before.fields["verification"] is NSNull, "nobody has proved anything")
            try await scene.server.fleetBalance.pass()
            let balance = try #require(try await scene.balance().object("balance"))
            let records = 3 * 3 * Int(scene.data.records)
            #expect(balance.flag("intact") == true && balance.number("devices") == 3)
            #expect(balance.number("streams") == 9 && balance.number("files") == 6)
            #expect(balance.number("stored") == records && balance.number("produced") == records)
            for name in [
                "lost", "lostAtCollector", "missing", "doubled", "waiting", "devicesWaiting", "devicesWithFaults",
            ] {
                #expect(balance.number(name) == 0, "\(name)")
            }
            #expect(balance.text("completedAt") != nil && balance["unreadableFiles"] == nil)
        }
    }

    @Test func `One lost and one doubled record are reported`() async throws {
        try await play { scene in
            let (losing, doubling) = (scene.data.devices[0], scene.data.devices[1])
            let file = "\(scene.data.path)/records/\(try Self.day(scene.data))/event.sqlite"
            try await scene.server.fleetBalance.pass()
            #expect(try await scene.balance().object("balance")?.flag("intact") == true)
            // Its last record is not there any more; one of another device is there twice.
            try scene.execute(
                """
                UPDATE slice SET last = last - 1 WHERE chain = \(Self.chain(losing));
                INSERT INTO slice SELECT NULL, chain, first + 1, first + 1, lost_before, prior_link, last_link, \
                received_at,
                earliest, latest, 1, kinds, gaps, records FROM slice WHERE chain = \(Self.chain(doubling));
                """, on: file)
            try await scene.server.fleetBalance.pass()
            let balance = try #require(try await scene.balance().object("balance"))
            #expect(balance.flag("intact") == false && balance.number("lost") == 1 && balance.number("doubled") == 1)
            #expect(balance.number("missing") == 1 && balance.number("devicesWithFaults") == 2)
            let faults = Dictionary(
                uniqueKeysWithValues: balance.objects("faults").map { ($0.text("device") ?? "", $0) })
            #expect(faults["\(losing)"]?["reasons"] as? [String] == ["missing"])
            #expect(faults["\(doubling)"]?["reasons"] as? [String] == ["doubled"])
            // The proof says so, too, and the collector shows it.
            let run = try await scene.data.ws1collector("verify")
            #expect(run.status == 1, "\(run.errors)")
            let verification = try #require(try await scene.balance().object("verification"))
            #expect(verification.flag("intact") == false)
            let codes = Set(verification.objects("findings").compactMap { $0.text("code") })
            #expect(codes.isSuperset(of: ["altered", "doubled"]), "\(codes)")
            #expect(verification.number("findingCount") ?? 0 >= 2 && verification.object("scope")?.number("files") == 6)
        }
    }

    @Test func `The last verification is shown with its scope`() async throws {
        try await play { scene in
            let run = try await scene.data.ws1collector("verify", "--json")
            #expect(run.status == 0, "\(run.errors)")
            let verification = try #require(try await scene.balance().object("verification"))
            #expect(verification.flag("intact") == true && verification.number("findingCount") == 0)
            let scope = try #require(verification.object("scope"))
            #expect(scope.number("records") == 3 * 3 * Int(scene.data.records) && scope.number("chains") == 9)
            #expect(verification.text("completedAt") ?? "" >= verification.text("startedAt") ?? "x")
            try "{}".write(toFile: scene.data.path + "/verify.json", atomically: true, encoding: .utf8)
            #expect(
                try await scene.client.send(.get, Self.path, bearer: scene.administrator).status == .serviceUnavailable)
        }
    }

    @Test func `An organization sees its own devices and findings only`() async throws {
        try await play { scene in
            try await scene.metadata.createOrganization("other")
            let stranger = try await scene.metadata.createPersonToken(
                name: "bob", role: .viewer, organization: "other"
            ).token
            let own = try await scene.metadata.createPersonToken(
                name: "eve", role: .viewer, organization: "default"
            ).token
            let file = "\(scene.data.path)/records/\(try Self.day(scene.data))/event.sqlite"
            try scene.execute(
                "UPDATE slice SET last = last - 1 WHERE chain = \(Self.chain(scene.data.devices[0]))", on: file)
            try await scene.server.fleetBalance.pass()
            _ = try await scene.data.ws1collector("verify")
            let seen = try await scene.balance(stranger)
            let balance = try #require(seen.object("balance"))
            #expect(balance.flag("intact") == true && balance.number("devices") == 0 && balance.number("stored") == 0)
            #expect(balance["files"] == nil && balance.objects("faults").isEmpty)
            let verification = try #require(seen.object("verification"))
            #expect(verification.number("findingCount") == 0 && verification["scope"] == nil)
            #expect(verification.flag("intact") == true && seen.text("organization") == "other")
            let theirs = try await scene.balance(own)
            #expect(theirs.object("balance")?.number("lost") == 1)
            #expect(theirs.object("verification")?.number("findingCount") ?? 0 > 0)
        }
    }

    @Test func `Test devices are in the sum if asked for, and deleted ones are not`() async throws {
        try await play { scene in
            let connection = try Connection(
                path: scene.data.path + "/collector.sqlite", options: .init(mode: .readWrite))
            try connection.execute(
                """
                UPDATE device SET test = 1 WHERE id = \
                x'\(scene.data.devices[0].data.map { String(format: "%02x", $0) }.joined())'
                """
            )
            try connection.close()
            let deleted = try #require(
                try await scene.metadata.device(scene.data.devices[1], organization: nil))
            try await scene.metadata.deleteDevice(
                deleted.id, enrollment: deleted.enrollmentID, organization: nil, by: .commandLine)
            try await scene.server.fleetBalance.pass()
            #expect(try await scene.balance().object("balance")?.number("devices") == 1)
            #expect(try await scene.balance(nil, "?test=true").object("balance")?.number("devices") == 2)
        }
    }

    @Test func `A missing file is named, and nothing is whole`() async throws {
        try await play { scene in
            let day = try Self.day(scene.data)
            try FileManager.default.removeItem(atPath: "\(scene.data.path)/records/\(day)/event.sqlite")
            try await scene.server.fleetBalance.pass()
            let balance = try #require(try await scene.balance().object("balance"))
            #expect(balance.flag("intact") == false)
            #expect(balance["unreadableFiles"] as? [String] == ["records/\(day)/event.sqlite"])
        }
    }

    @Test func `A pass that is asked for is made`() async throws {
        try await play { scene in
            let keeper = scene.server.fleetBalance
            let running = Task { await keeper.run(on: .continuous) }
            while try await scene.balance().text("state") == "unknown" { await Task.yield() }
            running.cancel()
            await running.value
            let asked = try await scene.client.send(.post, Self.path, bearer: scene.administrator)
            #expect(asked.status == .accepted)
        }
    }

    // MARK: The sum

    private static func entry(
        stored: UInt64, rows: UInt64? = nil, lost: UInt64 = 0, waiting: UInt64 = 0, produced: UInt64? = nil
    ) -> EpochBalance {
        EpochBalance(
            epoch: EpochID.random(), stream: .sample,
            mark: StreamMark(number: stored.addingSaturating(lost), stored: stored, lostAtCollector: lost),
            storedRows: rows ?? stored, totals: StreamTotals(), closed: false,
            balance: StreamBalance(
                produced: produced ?? stored.addingSaturating(lost).addingSaturating(waiting), stored: stored,
                rejected: [:], dropped: [:], lostAtCollector: lost, waiting: waiting))
    }

    @Test func `A device that claims the impossible spoils no sum`() {
        var sum = FleetBalance()
        sum.add(
            DeviceID(high: 0, low: 1), [Self.entry(stored: 5, waiting: 2), Self.entry(stored: 1, produced: 99)],
            found: [])
        sum.add(DeviceID(high: 0, low: 2), [Self.entry(stored: .max)], found: [])
        sum.add(DeviceID(high: 0, low: 3), [Self.entry(stored: 7, rows: 4, lost: 3)], found: [])
        #expect(sum.devices == 3 && sum.devicesWaiting == 1 && sum.waiting == 2)
        #expect(sum.streams == 3 && sum.streamsLeftOut == 1 && sum.stored == .max && sum.produced == .max)
        #expect(sum.lostAtCollector == 3 && sum.missing == 3 && sum.lost == 6)
        #expect(sum.faults.map(\.reasons) == [[.deviceClaims], [.lostAtCollector, .missing]])
    }

    @Test func `A bounded number of faults is listed one by one, and the others are counted`() {
        var (one, two) = (FleetBalance(), FleetBalance())
        for number in 0..<80 {
            one.add(DeviceID(high: 1, low: UInt64(number)), [Self.entry(stored: 1, lost: 1)], found: [])
            two.add(DeviceID(high: 2, low: UInt64(number)), [Self.entry(stored: 1, lost: 1)], found: [])
        }
        one.add(two)
        #expect(one.faults.count == FleetBalance.maximumFaults && one.devicesWithFaults == 160 && one.lost == 160)
    }
}
