import ClickHouse
import ClickHouseTestKit
import Foundation
import PostgreSQL
import PostgresTestKit
import RecordStore
import StoreTestKit
import Testing
import WireModel

@testable import ClusterStore

/// The tables for people show what is committed, once, and each organization's records to that organization.
@Suite struct PeopleTablesTests {
    private static let organization: @Sendable (DeviceID) async -> String? = { _ in "default" }

    private static func owners(
        _ organization: @escaping @Sendable (DeviceID) async -> String?
    ) -> @Sendable (Set<DeviceID>) async -> [DeviceID: String] {
        { devices in
            var owners: [DeviceID: String] = [:]
            for device in devices { owners[device] = await organization(device) }
            return owners
        }
    }

    private static func withTables(
        organization: @escaping @Sendable (DeviceID) async -> String? = organization,
        _ body: (ClusterTestBed, ClusterRecordStore, PeopleTables) async throws -> Void
    ) async throws {
        try await ClusterTestBed.withStore { bed, store in
            try await body(bed, store, store.peopleTables(owners: owners(organization)))
        }
    }

    // MARK: What is shown

    @Test func `Samples, events and beacons become rows`() async throws {
        try await Self.withTables { bed, store, tables in
            var sampled = ScriptedDevice(stream: .sample)
            sampled.record(.sampleSystem, module: "system", try WireSystemSample.withLoad(0.25).encoded)
            sampled.record(.sampleCustom, module: "till", WireCustomSample.withDrawers([3, 4]).encoded, test: true)
            var acted = ScriptedDevice(device: sampled.device, stream: .event)
            acted.record(.event, WireEvent.sale(of: 42).encoded)
            var beaconed = ScriptedDevice(device: sampled.device, stream: .status)
            beaconed.record(.beacon, WireBeacon.secretive.encoded)
            beaconed.record(.commandResult, Data())
            for var device in [sampled, acted, beaconed] { _ = try await store.drain(&device) }
            #expect(try await tables.fill() == 3)
            #expect(try await tables.fill() == 0)

            let device = "device = '\(sampled.device)' AND organization = 'default'"
            #expect(
                try await bed.texts(
                    "value, unit, kind, attributes, is_test", of: "metric",
                    "name = 'system.cpu.load_average.1m' AND \(device)")
                    == ["0.25|{thread}|gauge|{}|0"])
            #expect(
                try await bed.texts(
                    "name, kind, time_microseconds - start_microseconds", of: "metric",
                    "start_microseconds IS NOT NULL AND \(device)")
                    == ["system.process.created|cumulative-counter|1"])
            #expect(
                try await bed.texts(
                    "value, attributes, repetition, module, is_test", of: "metric",
                    "name = 'till.drawers' ORDER BY repetition")
                    == [#"3|{"store":"a/\"b\""}|0|till|1"#, #"4|{"store":"a/\"b\""}|1|till|1"#])
            #expect(
                try await bed.texts(
                    "visitParamExtractString(attributes,'store')", of: "metric", "name = 'till.drawers' AND value = 3")
                    == [#"a/"b""#])
            #expect(
                try await bed.texts(
                    "name, type, value, value_type, value_number, attributes, succeeded, duration_seconds", of: "event",
                    device)
                    == [#"sale|custom|42|integer|42|{"paid":true,"till":"one"}|\N|1.5"#])
            #expect(
                try await bed.texts(
                    "trigger, device_name, compromised, network, consent, battery_level, profile_revision",
                    of: "beacon", device)
                    == ["schedule|kiosk-17|no|wifi|granted|0.5|7"])
            #expect(
                try await bed.texts("toString(time), time_microseconds, record", of: "event", device)
                    == ["2023-11-14 22:13:20|1700000000000001|1"])
            let figures = try await tables.figures()
            #expect(figures.slices == 3 && figures.waiting == 0 && figures.lagSeconds == 0)
            #expect(figures.unreadableRecords == 0)
            #expect(figures.rows == (try await bed.rows(of: "metric")) + 2)
        }
    }

    @Test func `A slice that is not committed is not shown`() async throws {
        try await Self.withTables { bed, store, tables in
            var device = ScriptedDevice(stream: .event)
            for number in 1...2 { device.record(.event, WireEvent.sale(of: Int64(number)).encoded) }
            _ = try await store.drain(&device)
            device.record(.event, WireEvent.sale(of: 3).encoded)
            // Written, and its mark never moves.
            let database = try PostgresDatabase(bed.configuration.postgreSQL, logger: ClusterTestBed.logger)
            let client = try ClickHouseClient(bed.configuration.clickHouse, logger: ClusterTestBed.logger)
            let part = try #require(device.part())
            let key = ChainKey(device: device.device, epoch: device.epoch)
            let claims = try await ChainTable(database: database, stream: .event, clock: bed.clock).claim([key])
            let chain = try #require(claims.chains[key])
            let decision = GroupDecision(
                GroupItem(job: 0, place: 0, chain: key, receivedAt: 1, work: .append(part)), part, chain,
                SliceVersion(generation: claims.generation, attempt: chain.attempt), .event)
            let slice = try #require(decision.move?.slices.first)
            let slices = SliceTable(client: client, quorum: 2, engine: try await client.engineVersion())
            guard case .stored = await slices.insert([slice], of: .event) else {
                Issue.record("the slice was not written")
                return
            }
            _ = try await tables.fill()
            #expect(try await bed.texts("value", of: "event", "1 ORDER BY value") == ["1", "2"])
            await database.shutDown()
            await client.shutDown()
        }
    }

    @Test func `A repeated fill shows once`() async throws {
        try await Self.withTables { bed, store, tables in
            var devices: [ScriptedDevice] = []
            for stream in StreamName.allCases {
                var device = ScriptedDevice(stream: stream)
                switch stream {
                case .sample:
                    device.record(.sampleCustom, module: "till", WireCustomSample.withDrawers([3, 3, 4]).encoded)
                case .event: device.record(.event, WireEvent.sale(of: 1).encoded)
                case .status: device.record(.beacon, WireBeacon.secretive.encoded)
                }
                _ = try await store.drain(&device)
                devices.append(device)
            }
            // What a crash between the rows and the removal leaves.
            _ = try await bed.postgreSQL.sql("CREATE TABLE former AS SELECT * FROM outbox")
            #expect(try await tables.fill() == 3)
            for _ in 0..<2 {
                _ = try await bed.postgreSQL.sql("INSERT INTO outbox SELECT * FROM former")
                #expect(try await tables.fill() == 3)
            }
            #expect(try await bed.texts("value", of: "metric", "1 ORDER BY repetition") == ["3", "3", "4"])
            #expect(try await bed.rows(of: "event") == 1)
            #expect(try await bed.rows(of: "beacon") == 1)
            #expect(try await tables.figures().rows == 15)
        }
    }

    @Test func `Each organization has its own rows`() async throws {
        let (one, other) = (DeviceID.random(), DeviceID.random())
        try await Self.withTables(organization: { $0 == one ? "one" : "other" }) { bed, store, tables in
            for (id, price) in [(one, Int64(1)), (other, 2)] {
                var device = ScriptedDevice(device: id, stream: .event)
                device.record(.event, WireEvent.sale(of: price).encoded)
                _ = try await store.drain(&device)
            }
            _ = try await tables.fill()
            #expect(try await bed.texts("value", of: "event", "organization = 'one'") == ["1"])
            #expect(try await bed.texts("value", of: "event", "organization = 'other'") == ["2"])
        }
    }

    // MARK: What waits

    @Test func `What cannot be filled holds nothing back`() async throws {
        let stranger = DeviceID.random()
        try await Self.withTables(organization: { $0 == stranger ? nil : "default" }) { bed, store, tables in
            var unknown = ScriptedDevice(device: stranger, stream: .event)
            unknown.record(.event, WireEvent.sale(of: 1).encoded)
            var lost = ScriptedDevice(stream: .event)
            lost.record(.event, WireEvent.sale(of: 2).encoded)
            var garbled = ScriptedDevice(stream: .event)
            garbled.record(.event, Data([0xff]))
            garbled.record(.event, WireEvent.sale(of: 3).encoded)
            for device in [unknown, lost, garbled] {
                var device = device
                _ = try await store.drain(&device)
            }
            // No replica has the slice that this entry describes.
            _ = try await bed.postgreSQL.sql(
                "UPDATE outbox SET attempt = 77 WHERE device = '\\x\(lost.device.data.hexadecimal)'")
            #expect(try await tables.fill() == 1)
            #expect(try await bed.texts("value", of: "event", "1") == ["3"])
            var figures = try await tables.figures()
            #expect(figures.unreadableRecords == 1)
            #expect(figures.waiting == 2 && figures.delayed == 2 && figures.lagSeconds > 0)
            // They are not due for a while, and are filled once they can be.
            #expect(try await tables.fill() == 0)
            _ = try await bed.postgreSQL.sql("UPDATE outbox SET due = 0, attempt = 1")
            #expect(try await tables.fill() == 1)
            #expect(try await bed.texts("value", of: "event", "1 ORDER BY value") == ["2", "3"])
            figures = try await tables.figures()
            #expect(figures.waiting == 1)
        }
    }

    @Test func `A newer entry is not removed with an older one`() async throws {
        try await Self.withTables { bed, store, _ in
            var device = ScriptedDevice(stream: .event)
            device.record(.event, WireEvent.sale(of: 1).encoded)
            _ = try await store.drain(&device)
            let database = try PostgresDatabase(bed.configuration.postgreSQL, logger: ClusterTestBed.logger)
            let outbox = OutboxTable(database: database)
            let entries = try await outbox.next(.event, count: 10, bytes: 1)
            #expect(entries.count == 1)
            _ = try await bed.postgreSQL.sql("UPDATE outbox SET generation = 2, attempt = 0")
            try await outbox.remove(entries)
            #expect(try await outbox.next(.event, count: 10, bytes: 1).map(\.slice.version.generation) == [2])
            await database.shutDown()
        }
    }

    @Test func `The lag is the age of the oldest slice`() async throws {
        try await Self.withTables { bed, store, tables in
            #expect(try await tables.figures().lagSeconds == 0)
            for _ in 0..<2 {
                var device = ScriptedDevice(stream: .event)
                device.record(.event, WireEvent.sale(of: 1).encoded)
                _ = try await store.drain(&device)
            }
            _ = try await bed.postgreSQL.sql(
                "UPDATE outbox SET at = at - 60000000 WHERE device = (SELECT device FROM outbox LIMIT 1)")
            let figures = try await tables.figures()
            #expect(figures.waiting == 2 && figures.lagSeconds >= 60 && figures.lagSeconds < 120)
            _ = try await tables.fill()
            #expect(try await tables.figures().lagSeconds == 0)
        }
    }

    @Test(.timeLimit(.minutes(3))) func `One of several collectors fills by itself`() async throws {
        try await Self.withTables { bed, store, tables in
            let other = store.peopleTables(owners: Self.owners(Self.organization))
            let (one, two) = (Task { await tables.run() }, Task { await other.run() })
            let clock = ContinuousClock()
            for number in 1...5 {
                var device = ScriptedDevice(stream: .event)
                device.record(.event, WireEvent.sale(of: Int64(number)).encoded)
                _ = try await store.drain(&device)
            }
            let start = clock.now
            try await bed.clickHouse.wait("five slices") {
                try await tables.figures().slices + other.figures().slices == 5
            }
            #expect(try await bed.rows(of: "event") == 5)
            #expect(clock.now - start < .seconds(30))
            let slices = [try await tables.figures().slices, try await other.figures().slices]
            #expect(slices.sorted() == [0, 5])
            // The other one goes on once the first has ended.
            let (first, second) = slices[0] == 5 ? (one, two) : (two, one)
            first.cancel()
            await first.value
            var device = ScriptedDevice(stream: .event)
            device.record(.event, WireEvent.sale(of: 6).encoded)
            _ = try await store.drain(&device)
            try await bed.clickHouse.wait("the sixth event") { try await bed.rows(of: "event") == 6 }
            second.cancel()
            await second.value
        }
    }

    // MARK: Days and recovery

    @Test func `A dropped day leaves the tables, too`() async throws {
        try await Self.withTables { bed, store, tables in
            var device = ScriptedDevice(stream: .event)
            device.record(.event, WireEvent.sale(of: 1).encoded)
            _ = try await store.drain(&device)
            _ = try await tables.fill()
            device.record(.event, WireEvent.sale(of: 2).encoded)
            _ = try await store.drain(&device)
            let partition = try #require(try await store.partitions().kept.first)
            #expect(partition.bytes > 0)
            bed.clock.advance(days: 1)
            device.record(.event, WireEvent.sale(of: 3).encoded)
            _ = try await store.drain(&device)
            try await store.drop(partition.partition)
            #expect(try await bed.rows(of: "event") == 0)
            // An entry of that day goes without rows.
            #expect(try await tables.fill() == 2)
            #expect(try await bed.texts("value", of: "event", "1") == ["3"])
            #expect(try await tables.figures().waiting == 0)
            // A fill that comes late revives the partition until it is dropped again.
            _ = try await bed.clickHouse.client.execute(
                """
                INSERT INTO \(bed.postgreSQL.name).event (day, organization, device, name)
                VALUES ('\(partition.partition.day)', 'default', '\(device.device)', 'late')
                """)
            #expect(try await bed.rows(of: "event") == 2)
            #expect(try await store.harmedPartitions().isEmpty)
            try await store.reclaim()
            #expect(try await bed.texts("value", of: "event", "1") == ["3"])
        }
    }

    @Test func `A recovery fills what it writes again`() async throws {
        let bed = try await ClusterTestBed()
        var store = try await bed.open()
        var tables = store.peopleTables(owners: Self.owners(Self.organization))
        var device = ScriptedDevice(stream: .event)
        device.record(.event, WireEvent.sale(of: 1).encoded)
        _ = try await store.drain(&device)
        _ = try await tables.fill()
        let failover = Failover(bed)
        try await failover.remember()
        // The first is shown before the failover, the second is not.
        for price in [Int64(2), 3] {
            device.record(.event, WireEvent.sale(of: price).encoded)
            _ = try await store.drain(&device)
            if price == 2 { _ = try await tables.fill() }
        }
        await store.shutDown()
        try await failover.happen()
        let report = try await ClusterRecovery(bed.configuration, logger: ClusterTestBed.logger).run()
        #expect(report.slices == 2)
        store = try await bed.open()
        tables = store.peopleTables(owners: Self.owners(Self.organization))
        #expect(try await tables.figures().waiting == 2)
        #expect(try await tables.fill() == 2)
        #expect(try await bed.texts("value", of: "event", "1 ORDER BY value") == ["1", "2", "3"])
        await store.shutDown()
        await bed.remove()
    }
}

extension ClusterTestBed {
    /// How many rows a table for people shows.
    fileprivate func rows(of table: String) async throws -> UInt64 {
        try await clickHouse.number("SELECT count() FROM \(postgreSQL.name).\(table) FINAL")
    }

    /// The rows of a table for people, as text with `|` between the columns.
    fileprivate func texts(_ columns: String, of table: String, _ condition: String) async throws -> [String] {
        var rows = try await clickHouse.client.query(
            """
            SELECT \
            arrayStringConcat([\
            \(columns.split(separator: ", ").map { "ifNull(toString(\($0)), '\\\\N')" }.joined(separator: ", "))], '|')
            FROM \(postgreSQL.name).\(table) FINAL WHERE \(condition)
            """)
        var texts: [String] = []
        while rows.next() { texts.append(try rows.string()) }
        return texts
    }
}

extension ScriptedDevice {
    fileprivate mutating func record(
        _ kind: WireRecordKind, module: String = "", _ body: Data, test: Bool = false
    ) {
        let number = last + 1
        append(
            NewRecord(
                stream: stream, kind: kind, module: module,
                stamp: RecordStamp(
                    wallTime: 1_700_000_000_000_000 + Int64(number), bootID: nil, timeSinceBoot: number),
                test: test, body: body
            ).serialized(number: number))
    }
}

extension WireSystemSample {
    fileprivate static func withLoad(_ load: Double) throws -> WireSystemSample {
        var sample = WireSystemSample()
        sample.load.oneMinute = UInt32(load * 100)
        sample.activity.processesCreatedSinceBoot = 9
        return sample
    }
}

extension WireCustomSample {
    /// Measurements of one name and equal attributes.
    fileprivate static func withDrawers(_ values: [Int64]) -> WireCustomSample {
        var sample = WireCustomSample()
        sample.measurements = values.map { value in
            var measurement = WireMeasurement()
            measurement.name = "till.drawers"
            measurement.attributes = ["store": "a/\"b\""]
            measurement.value.integer = value
            return measurement
        }
        return sample
    }
}

extension WireEvent {
    fileprivate static func sale(of price: Int64) -> WireEvent {
        var event = WireEvent()
        (event.type, event.name) = (.custom, "sale")
        event.value.integer = price
        event.attributes["till", default: WireValue()].text = "one"
        event.attributes["paid", default: WireValue()].boolean = true
        event.durationMicroseconds = 1_500_000
        return event
    }
}

extension WireBeacon {
    /// With a push token and a person's address, which nobody sees in the table.
    fileprivate static var secretive: WireBeacon {
        var beacon = WireBeacon()
        (beacon.trigger, beacon.deviceName, beacon.compromised) = (.schedule, "kiosk-17", .no)
        (beacon.network, beacon.consent, beacon.profileRevision) = (.wifi, .granted, 7)
        beacon.power.batteryLevel = 5000
        beacon.userEmail = "a@example.org"
        return beacon
    }
}
