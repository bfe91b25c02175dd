import Foundation
import SQLite
import SQLiteStoreTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import CollectorMaintenance
@testable import RecordStore
@testable import Registry
@testable import SQLiteRecordStore

/// A packed day has the same records for everybody who reads it, in less space, whatever ends the packing.
@Suite struct RecordPackingTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()
    private static let firstDay = "2026-03-01"

    private func firstFile(_ stream: StreamName = .sample) throws -> Partition {
        Partition(day: try #require(UTCDay(Self.firstDay)), stream: stream)
    }

    init() throws { directory = try TemporaryDirectory() }

    private func open(_ path: TemporaryDirectory? = nil) throws -> SQLiteRecordStore {
        try SQLiteRecordStore.open(path ?? directory, clock: clock)
    }

    private func packer() throws -> RecordPacker? {
        try RecordPacker(try firstFile(), in: DataDirectory(path: directory.path), leastSlices: nil)
    }

    private func isPacked(_ stream: StreamName = .sample) throws -> Bool {
        let file = try RecordFile(reading: try firstFile(stream), in: DataDirectory(path: directory.path))
        return try file?.packedAbove() != nil
    }

    // MARK: What is stored

    private static func varint(_ value: UInt64) -> [UInt8] {
        var (bytes, rest) = ([UInt8](), value)
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    /// A record as a device makes it: counters that grow, and a text that stays.
    private static func sample(_ number: UInt64, module: String, at time: Int64) -> Data {
        var body = [UInt8]()
        for (field, value) in [(1, number * 1_000_003), (2, number / 7), (3, 4096)] as [(UInt8, UInt64)] {
            body += [field << 3] + varint(value)
        }
        body += [0x22, 20] + Array("a text that is there".utf8)
        return NewRecord(
            stream: .sample, kind: module == "system" ? .sampleSystem : .sampleNetworkData, module: module,
            stamp: RecordStamp(wallTime: time, bootID: nil, timeSinceBoot: number), body: Data(body)
        ).serialized(number: number)
    }

    /// Samples of two modules for some hours, in parts of some minutes, with a gap, a rejected record and a loss.
    private func fill(
        _ store: SQLiteRecordStore, _ devices: inout [ScriptedDevice], hours: Int = 8, inPart: Int = 8
    ) async throws {
        for minute in stride(from: 0, to: hours * 60, by: 10) {
            clock.advance(seconds: 600)
            for place in devices.indices {
                for step in 0..<inPart {
                    let number = devices[place].last + 1
                    devices[place].append(
                        Self.sample(
                            number, module: step % 2 == 0 ? "system" : "networkData",
                            at: clock.now() - Int64(inPart - step) * 20_000_000))
                }
                if minute == 60 { devices[place].dropOldest(3) }
                if minute == 90 { devices[place].append(Data([0xFF])) }
                // Nobody ever says what became of these numbers.
                if minute == 120 { devices[place].held.removeFirst(2) }
                var part = try #require(devices[place].part())
                part.priorLink = try #require(devices[place].links[part.first - 1])
                let answer = await store.append([part], from: devices[place].device, receivedAt: clock.now())[0]
                #expect(answer.outcome == .stored, "\(answer.detail)")
                devices[place].apply(answer)
            }
        }
    }

    /// Three days of three devices.
    private func filled(inPart: Int = 8) async throws -> (store: SQLiteRecordStore, devices: [ScriptedDevice]) {
        let store = try open()
        var devices = (0..<3).map { _ in ScriptedDevice() }
        for day in 0..<3 {
            if day > 0 { clock.advance(seconds: 16 * 3600) }
            try await fill(store, &devices, inPart: inPart)
        }
        return (store, devices)
    }

    /// All that somebody can ask about records.
    private func answers(_ store: SQLiteRecordStore, _ devices: [ScriptedDevice]) async throws -> [[StoredRecord]] {
        var answers: [[StoredRecord]] = []
        for device in devices {
            answers.append(try await store.allRecords(of: device.device, stream: .sample, pageSize: 200))
            let kind = WireRecordKind.sampleNetworkData.rawValue
            let choices: [(Set<Int>, String?)] = [([], "system"), ([], "networkData"), ([], "gps"), ([kind], nil)]
            for (kinds, module) in choices {
                let query = RecordQuery(.one(device.device), stream: .sample, kinds: kinds, module: module)
                var cursor: String?
                var found: [StoredRecord] = []
                repeat {
                    let page = try await store.records(query, before: cursor, limit: 210)
                    found += page.records
                    cursor = page.next
                } while cursor != nil
                answers.append(found)
            }
            let times = RecordTimes(
                from: ManualStoreClock.start + 3_600_000_000, to: ManualStoreClock.start + 7_200_000_000)
            let query = RecordQuery(.one(device.device), stream: .sample, times: times)
            answers.append(try await store.records(query, before: nil, limit: 1000).records)
        }
        answers.append(try await all(store))
        let query = RecordQuery(.all, stream: .sample)
        answers.append(
            try await store.newestRecords(of: devices.map(\.device), query).values.sorted { $0.device < $1.device })
        return answers
    }

    private func all(_ store: SQLiteRecordStore) async throws -> [StoredRecord] {
        var all: [StoredRecord] = []
        try await store.forEachPage(of: RecordQuery(.all, stream: .sample)) { all += $0 }
        return all.sorted { ($0.device, $0.header.number) < ($1.device, $1.header.number) }
    }

    private func bytes(_ directory: TemporaryDirectory) throws -> Int {
        try Data(contentsOf: URL(filePath: directory.recordFile(Self.firstDay))).count
    }

    // MARK: The same for everybody

    @Test func `Everybody reads the same, and it takes less space`() async throws {
        let (store, devices) = try await filled(inPart: 20)
        let before = try await answers(store, devices)
        let balances = try await store.balances()
        let size = try bytes(directory)
        #expect(before[0].count > 1000 && before[3].isEmpty && before[4] == before[2] && !before[5].isEmpty)
        try await store.packAll()
        #expect(try await answers(store, devices) == before)
        #expect(try await store.balances() == balances)
        let packed = try bytes(directory)
        #expect(packed * 2 < size, "\(size) bytes became \(packed)")
        #expect(try await store.verify().isWhole)
        let again = try Data(contentsOf: URL(filePath: directory.recordFile(Self.firstDay)))
        try await store.packAll()
        #expect(try Data(contentsOf: URL(filePath: directory.recordFile(Self.firstDay))) == again)
        await store.shutDown()
        #expect(try await directory.verify().isWhole)
        let reopened = try open()
        #expect(try await answers(reopened, devices) == before)
        await reopened.shutDown()
    }

    @Test func `The newest file of a stream is not packed`() async throws {
        let (store, _) = try await filled()
        #expect(
            try store.partitions(before: UTCDay(number: .max)).map(\.day.description) == [Self.firstDay, "2026-03-02"])
        #expect(try store.partitions(before: firstFile().day.next).map(\.day.description) == [Self.firstDay])
        await store.shutDown()
    }

    @Test func `Devices go on, and what was there is not stored again`() async throws {
        var (store, devices) = try await filled()
        try await store.packAll()
        await store.shutDown()
        store = try open()
        try await fill(store, &devices, hours: 1)
        #expect(try await store.verify().isWhole)
        // The links of numbers in a packed day are known.
        let points = [30, 400].compactMap { number in
            devices[0].links[number].map { EpochClose.Point(number: number, link: $0) }
        }
        let close = EpochClose.Stream(stream: .sample, last: devices[0].last, reason: .byteCap, points: points)
        let closed = try await store.close(
            EpochClose(epoch: devices[0].epoch, streams: [close]), from: devices[0].device)
        #expect(closed.first?.match == .point(points[1]), "\(closed)")
        await store.shutDown()
    }

    // MARK: Ends in between

    /// Every state that a killed packing leaves: after each transaction, before and after the rename.
    @Test func `A packing cut short at any step goes on, and nothing is lost`() async throws {
        let (store, _) = try await filled()
        let before = try await all(store)
        await store.shutDown()
        var cuts: [TemporaryDirectory] = []
        var isMore = true
        while isMore {
            // Each step is of another process.
            let packer = try #require(try packer())
            isMore = try packer.step(for: .zero)
            cuts.append(try directory.copy())
            if !isMore {
                _ = try packer.finish()
                cuts.append(try directory.copy())
            }
        }
        #expect(cuts.count > 8)
        for cut in cuts {
            #expect(try await cut.verify().isWhole)
            let store = try open(cut)
            #expect(try await all(store) == before)
            try await store.packAll()
            #expect(try await all(store) == before)
            #expect(try await store.verify().isWhole)
            #expect(try bytes(cut) < bytes(directory))
            #expect(!FileManager.default.fileExists(atPath: "\(cut.path)/records/packing/\(Self.firstDay)-sample"))
            await store.shutDown()
        }
    }

    @Test func `What is erased in between is not in the packed file`() async throws {
        let (store, devices) = try await filled()
        do {
            let packer = try #require(try packer())
            #expect(try packer.step(for: .zero))
        }
        let balance = try await store.balance(of: devices[0].device)
        try await store.erase([devices[0].device])
        try await store.packAll()
        #expect(try await store.allRecords(of: devices[0].device, stream: .sample).isEmpty)
        #expect(try await store.balance(of: devices[0].device) == balance)
        #expect(try await store.allRecords(of: devices[1].device, stream: .sample).count > 1000)
        #expect(try await store.verify().isWhole)
        await store.shutDown()
    }

    /// A salvage, or the recount of a day behind a mended one, writes to the day's file.
    @Test func `Packing begins again when the day's file was written to`() async throws {
        let (store, devices) = try await filled()
        await store.shutDown()
        do {
            let packer = try #require(try packer())
            #expect(try packer.step(for: .zero))
        }
        try directory.execute("UPDATE rejected SET reason = 2", on: directory.recordFile(Self.firstDay))
        let opened = try open()
        try await opened.packAll()
        #expect(try isPacked() && devices.count == 3)
        let packed = try Connection(path: directory.recordFile(Self.firstDay))
        #expect(try packed.first("SELECT count(*), min(reason) FROM rejected") { [$0.int(0), $0.int(1)] } == [3, 2])
        await opened.shutDown()
    }

    @Test(arguments: ["DELETE FROM slice WHERE id = 7", "UPDATE slice SET record_count = 9223372036854775807"])
    func `A day that is not whole stays as it is, and others are packed`(damage: String) async throws {
        let (store, _) = try await filled()
        await store.shutDown()
        try directory.execute(damage, on: directory.recordFile(Self.firstDay))
        let opened = try open()
        var settled: Set<Partition> = []
        var packed: [Partition] = []
        try? await RecordPacking(store: opened, clock: clock, logger: quietLogger).pass(
            before: UTCDay(number: .max), settled: &settled
        ) { packed.append($0.partition) }
        #expect(try packed.map(\.day) == [firstFile().day.next] && !isPacked())
        #expect(try await !opened.verify().isWhole)
        await opened.shutDown()
    }

    @Test func `Slices that cannot be packed are copied, and nothing newer is passed over`() async throws {
        let (store, devices) = try await filled()
        await store.shutDown()
        try directory.execute(
            "UPDATE slice SET records = x'00' WHERE id IN (4, 40)", on: directory.recordFile(Self.firstDay))
        let opened = try open()
        var query = RecordQuery(.one(devices[1].device), stream: .sample)
        func since(_ hours: Int64) async throws -> Set<UInt64> {
            query.receivedSince = ManualStoreClock.start + hours * 3_600_000_000
            var found: Set<UInt64> = []
            try await opened.forEachPage(of: query) { page in
                for record in page where record.receivedAt >= query.receivedSince ?? 0 {
                    found.insert(record.header.number)
                }
            }
            return found
        }
        var before: [Set<UInt64>] = []
        for hours in Int64(0)..<9 { before.append(try await since(hours)) }
        try await opened.packAll()
        #expect(try isPacked())
        for hours in Int64(0)..<9 { #expect(try await since(hours) == before[Int(hours)]) }
        await opened.shutDown()
    }

    @Test func `A packed day that was salvaged is packed, and old cursors hide nothing of it`() async throws {
        let (store, devices) = try await filled()
        let query = RecordQuery(.all, stream: .sample)
        // In the middle of the first day.
        var cursor: String?
        repeat {
            cursor = try await store.records(query, before: cursor, limit: 100).next
            try #require(cursor != nil)
        } while try cursor?.hasPrefix("\(firstFile().day.number)-") != true
        try await store.packAll()
        await store.shutDown()
        try RecordSalvageTests.Damage.headerZeroed.apply(to: directory.recordFile(Self.firstDay))
        let opened = try open()
        _ = try? await opened.allRecords(of: devices[0].device, stream: .sample, pageSize: 500)
        #expect(await opened.salvageDamaged(again: true) == 1)
        #expect(try isPacked())
        #expect(try await !opened.records(query, before: cursor, limit: 1000).records.isEmpty)
        #expect(try await opened.verify().isWhole)
        await opened.shutDown()
    }

    @Test func `Packed days are erased, dropped and backed up like others`() async throws {
        let (store, devices) = try await filled()
        try await store.packAll()
        let balance = try await store.balance(of: devices[0].device)
        let (backup, target) = (try TemporaryDirectory(), try TemporaryDirectory())
        let writer = try StoreBackup(
            of: store, directory: directory.path, output: backup.path + "/backup", clock: clock, logger: quietLogger)
        _ = try await writer.write()
        try await store.erase([devices[0].device])
        #expect(try await store.verify().isWhole)
        #expect(try await store.balance(of: devices[0].device) == balance)
        try await store.drop(firstFile())
        #expect(try await store.verify().isWhole)
        await store.shutDown()
        let path = target.path + "/new"
        _ = try StoreRestore(from: .directory(backup.path + "/backup"), to: path, clock: clock).restore()
        let restored = try SQLiteRecordStore.open(directory: path, clock: clock, logger: quietLogger)
        #expect(try await restored.allRecords(of: devices[0].device, stream: .sample).count > 1000)
        #expect(try await restored.verify().isWhole)
        await restored.shutDown()
    }

    // MARK: Cursors

    @Test(arguments: [13, 40, 200]) func `Pages that are read while a day is packed lose nothing`(
        limit: Int
    ) async throws {
        let (store, devices) = try await filled()
        let wanted = Set(
            try await store.allRecords(of: devices[1].device, stream: .sample, pageSize: 500).map(\.header.number))
        let query = RecordQuery(.one(devices[1].device), stream: .sample)
        var found: Set<UInt64> = []
        var cursor: String?
        repeat {
            let page = try await store.records(query, before: cursor, limit: limit)
            found.formUnion(page.records.map(\.header.number))
            cursor = page.next
            // In the second day.
            if found.count >= wanted.count / 2 { try await store.packAll() }
        } while cursor != nil
        #expect(found == wanted)
        await store.shutDown()
    }

    @Test func `A scan goes on in a day that was packed meanwhile, and reads each record`() async throws {
        let (store, devices) = try await filled()
        let query = RecordQuery(.all, stream: .sample)
        let first = try await store.scan(query, after: nil)
        try await store.packAll()
        var numbers = Dictionary(grouping: first.records, by: \.device).mapValues { Set($0.map(\.header.number)) }
        var cursor = first.next
        var count = first.records.count
        while let place = cursor {
            let page = try await store.scan(query, after: place)
            for record in page.records { numbers[record.device, default: []].insert(record.header.number) }
            count += page.records.count
            cursor = page.next
        }
        for device in devices {
            let stored = try await store.allRecords(of: device.device, stream: .sample, pageSize: 500)
            #expect(numbers[device.device]?.count == stored.count)
        }
        // A scan of the packed day alone repeats nothing.
        var again = 0
        try await store.forEachPage(of: query) { again += $0.count }
        #expect(again == numbers.values.reduce(0) { $0 + $1.count } && again <= count)
        await store.shutDown()
    }

    @Test func `Records since a time of receipt are all read`() async throws {
        let (store, devices) = try await filled()
        try await store.packAll()
        let since = ManualStoreClock.start + 5 * 3_600_000_000
        let wanted = try await store.allRecords(of: devices[0].device, stream: .sample, pageSize: 500).filter {
            $0.receivedAt >= since
        }
        var query = RecordQuery(.one(devices[0].device), stream: .sample)
        query.receivedSince = since
        var found: Set<UInt64> = []
        try await store.forEachPage(of: query) { found.formUnion($0.map(\.header.number)) }
        #expect(found.isSuperset(of: wanted.map(\.header.number)) && !wanted.isEmpty)
        await store.shutDown()
    }

    // MARK: Damage

    @Test func `Damage in a packed day is named, and the rest is kept`() async throws {
        let (store, devices) = try await filled()
        try await store.packAll()
        await store.shutDown()
        let file = directory.recordFile(Self.firstDay)
        let connection = try Connection(path: file)
        let row = try #require(
            try connection.first("SELECT id, records, first, last FROM slice ORDER BY length(records) DESC LIMIT 1") {
                (id: $0.int64(0), records: $0.bytes(1), first: $0.int64(2), last: $0.int64(3))
            })
        for place in [5, row.records.count / 2, row.records.count - 1] {
            var bytes = row.records
            bytes[place] ^= 0x10
            try connection.run("UPDATE slice SET records = ? WHERE id = ?", bytes, row.id)
            let report = try await directory.verify()
            #expect(!report.isWhole)
            let finding = try #require(report.findings.first)
            #expect(finding.first.map { Int64($0) >= row.first && Int64($0) <= row.last } == true, "\(finding)")
        }
        try connection.close()
        let opened = try open()
        var count = 0
        for device in devices {
            count += try await opened.allRecords(of: device.device, stream: .sample, pageSize: 500).count
        }
        #expect(count > 2800)
        await opened.shutDown()
    }

    // MARK: Other readers

    @Test func `Slices that move have the times at which their records came`() async throws {
        let (store, devices) = try await filled()
        let before = try await store.allRecords(of: devices[1].device, stream: .sample, pageSize: 500)
        try await store.packAll()
        await store.shutDown()
        let data = DataDirectory(path: directory.path)
        let moving = MovingRecords(try #require(try CollectorDatabase.openReading(data)), in: data)
        let partition = try firstFile()
        let slices = try moving.slices(in: partition, after: 0, count: 1000, bytes: .max)
        moving.close()
        var times: [UInt64: Int64] = [:]
        var mark: UInt64 = 0
        for moved in slices where moved.chain.device == devices[1].device {
            #expect(moved.slice.first == mark + 1 + moved.slice.lostBefore)
            mark = moved.slice.last
            var rows = 0
            try moved.slice.walk { number, _, step in
                if case .record = step {
                    times[number] = moved.slice.receivedAt
                    rows += 1
                }
            }
            #expect(rows == Int(moved.slice.recordCount) && (rows == 0 || moved.bounds.earliest <= moved.bounds.latest))
        }
        let wanted = before.filter { UTCDay(microseconds: $0.receivedAt) == partition.day }
        #expect(times.count == wanted.count && wanted.allSatisfy { times[$0.header.number] == $0.receivedAt })
    }

    @Test func `Items that were numbered keep their keys and contexts`() async throws {
        let store = try open()
        let senders = (0..<3).map { _ in ItemSender() }
        var requests: [(Int, UnnumberedItems)] = []
        for request in 0..<40 {
            let sender = senders[request % 3]
            let items = sender.items(sender.run("context \(request % 5)", (0..<6).map { "\(request)-\($0)" }))
            requests.append((request % 3, items))
            #expect(await store.append(items, to: .event).stored == 6)
        }
        let names = try await store.names(of: senders[0])
        clock.advance(days: 1)
        let next = senders[0].items(senders[0].run("context", ["next"], at: clock.now()))
        #expect(await store.append(next, to: .event, receivedAt: clock.now()).stored == 1)
        try await store.packAll()
        let partition = try firstFile(.event)
        let file = try #require(try RecordFile(reading: partition, in: DataDirectory(path: directory.path)))
        #expect(try file.packedAbove() != nil)
        #expect(try file.sliceCount() == 3 && file.strayKeyCount() == 0)
        for (_, items) in requests { #expect(await store.append(items, to: .event).stored == 0) }
        let found = try await store.names(of: senders[0])
        #expect(Array(found.prefix(names.count)) == names)
        #expect(try await store.verify().isWhole)
        await store.shutDown()
    }
}
