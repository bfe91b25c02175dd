import DeviceTestKit
import DeviceTunables
import Foundation
import SQLite
import Testing
import TestKit
import WireModel

@testable import RecordQueue

@Suite("Salvage")
struct SalvageTests {
    private static let pageBytes = 4096

    /// A queue in use: three streams, rows over several pages among them, some acknowledged, some dropped, part of it
    /// in the WAL.
    private func build(_ fixture: QueueFixture, _ collector: inout ModelCollector, rows: Int, random: inout SplitMix64)
        throws -> EpochID
    {
        let store = try fixture.store()
        for start in stride(from: 0, to: rows, by: 1000) {
            let records = (start..<min(rows, start + 1000)).map { number -> NewRecord in
                var body = withUnsafeBytes(of: UInt64(number).bigEndian) { Data($0) }
                body.append(
                    Data(
                        repeating: UInt8(number & 0xFF),
                        count: number.isMultiple(of: 50) ? 9000 : Int.random(in: 20...400, using: &random))
                )
                return NewRecord(
                    stream: number.isMultiple(of: 3) ? .event : .sample,
                    kind: number.isMultiple(of: 3) ? .event : .sampleSystem,
                    stamp: fixture.clock.now(), body: body)
            }
            _ = try store.append(records)
        }
        let part = try #require(
            try store.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 500, hold: .zero))
        #expect(try store.apply(collector.post(part)) == .remove)
        // Arrived, but its answer did not.
        _ = collector.post(
            try #require(try store.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 300, hold: .zero)))
        _ = try store.drop(oldest: 200, bytes: .max, of: .event, reason: .byteCap, keepAside: false)
        let epoch = store.state.epoch
        try fixture.copyAsKilled(from: "", to: "/image")
        try? FileManager.default.copyItem(
            atPath: "\(fixture.directory)/queue.epoch", toPath: "\(fixture.directory)/image/queue.epoch")
        try store.close()
        return epoch
    }

    /// Identities of the records whose pages are untouched: those that SQLite would read from the undamaged image,
    /// without those a damaged page holds any of.
    private func damage(_ path: String, pages: Set<Int>, random: inout SplitMix64) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        for page in pages {
            try file.seek(toOffset: UInt64(page * Self.pageBytes))
            try file.write(
                contentsOf: Data((0..<Self.pageBytes).map { _ in UInt8.random(in: 0...255, using: &random) }))
        }
        try file.close()
    }

    @Test(arguments: 1...4)
    func
        `With random pages destroyed, 99 % of the readable rows reach the collector once, and every loss is counted`(
            _ seed: Int
        ) async throws
    {
        var random = SplitMix64(seed: UInt64(seed))
        let fixture = try QueueFixture()
        var collector = ModelCollector()
        let rows = 12_000
        let epoch = try build(fixture, &collector, rows: rows, random: &random)
        let image = fixture.directory + "/image"
        // All of it in the file, so that what is destroyed is not simply in the WAL, too.
        let connection = try Connection(path: image + "/queue.sqlite")
        _ = try connection.checkpoint(.truncate)
        try connection.close()
        let pageCount =
            Int(try FileManager.default.attributesOfItem(atPath: image + "/queue.sqlite")[.size] as? UInt64 ?? 0)
            / Self.pageBytes
        let holders = try pagesOfRows(image)
        var pages = Set((0..<pageCount / 100).map { _ in Int.random(in: 1..<pageCount, using: &random) })
        switch seed {
        case 1: pages.insert(0)
        case 2: pages.formUnion(interiorPages(try Data(contentsOf: URL(fileURLWithPath: image + "/queue.sqlite"))))
        case 3: pages = pages.union([0, 1, 2, 3])
        default: break
        }
        try damage(image + "/queue.sqlite", pages: pages, random: &random)
        let readable = holders.filter { $0.value.isDisjoint(with: pages) }.keys

        let queue = try fixture.open("/image")
        if try await queue.status().ended.isEmpty {
            // Nothing that opening reads was hit: it is met while running.
            #expect(seed > 3)
            _ = try await collector.drain(queue)
        }
        let before = try await queue.status()
        #expect(
            before.ended.first?.epoch == epoch
                && before.ended.first?.salvage?.file.hasPrefix("queue.corrupt-1-") == true)
        for (stream, balance) in try await queue.balance() { #expect(balance.closes, "\(stream) \(balance)") }
        _ = try await collector.closeAll(queue)
        _ = try await collector.drain(queue)
        let stored = identities(collector)
        #expect(Set(stored).count == stored.count, "nothing twice")
        let reached = readable.filter { Set(stored).contains($0) }.count
        #expect(Double(reached) >= 0.99 * Double(readable.count), "\(reached) of \(readable.count) readable rows")
        var produced: UInt64 = 0
        for (stream, balance) in try await queue.balance() {
            #expect(balance.closes && balance.waiting == 0, "\(stream) \(balance)")
            produced += balance.stored + balance.dropped.filter { $0.key != "moved" }.values.reduce(0, +)
        }
        #expect(produced == UInt64(rows), "every record is stored, or counted as dropped or lost")
        await queue.close()
    }

    private func identities(_ collector: ModelCollector) -> [UInt64] {
        collector.stored.values.joined().compactMap { record in
            RecordHeader(scanning: record).map {
                $0.body(of: record).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            }
        }
    }

    /// Returns, for each record that waits, the pages, from 0, that hold any of it.
    private func pagesOfRows(_ directory: String) throws -> [UInt64: Set<Int>] {
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: directory + "/queue.sqlite")))
        let wal = RawPages(database: directory + "/queue.sqlite", wal: directory + "/queue.sqlite-wal")
        guard !wal.hasCommittedFrames else { return [:] }
        var found: [UInt64: Set<Int>] = [:]
        for page in 0..<bytes.count / Self.pageBytes where bytes[page * Self.pageBytes] == 0x0D {
            let base = page * Self.pageBytes
            for cell in 0..<bytes.number16(base + 3) {
                var position = base + bytes.number16(base + 8 + cell * 2)
                guard position >= base, let size = bytes.varint(&position, end: base + Self.pageBytes),
                    bytes.varint(&position, end: base + Self.pageBytes) != nil,
                    size < 300_000
                else { continue }
                var holders: Set<Int> = [page]
                var payload: [UInt8]
                if size <= 4061 {
                    payload = Array(bytes[position..<min(bytes.count, position + Int(size))])
                } else {
                    let fitting = 489 + (Int(size) - 489) % 4092
                    let local = fitting <= 4061 ? fitting : 489
                    payload = Array(bytes[position..<position + local])
                    var next = Int(bytes.number32(position + local))
                    while payload.count < Int(size), next > 0, next * Self.pageBytes <= bytes.count {
                        holders.insert(next - 1)
                        let start = (next - 1) * Self.pageBytes
                        payload += bytes[start + 4..<start + 4 + min(4092, Int(size) - payload.count)]
                        next = Int(bytes.number32(start))
                    }
                }
                guard let row = RawRow(payload), row.columns.count == 9, let body = row.bytes(7),
                    let header = RecordHeader(scanning: Data(body))
                else { continue }
                found[header.body(of: Data(body)).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }] = holders
            }
        }
        // Those on free pages were acknowledged or dropped; they are no loss.
        let connection = try Connection(path: directory + "/queue.sqlite")
        var waiting: Set<UInt64> = []
        for stream in StreamName.allCases {
            let statement = try connection.prepare("SELECT body FROM \(stream)")
            while try statement.step() {
                let record = statement.data(0)
                guard let header = RecordHeader(scanning: record) else { continue }
                waiting.insert(header.body(of: record).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
            }
        }
        try connection.close()
        return found.filter { waiting.contains($0.key) }
    }

    private func interiorPages(_ bytes: Data) -> [Int] {
        (1..<bytes.count / Self.pageBytes).filter { bytes[$0 * Self.pageBytes] == 5 }
    }

    @Test
    func
        `Without its epoch's id nobody can be asked: records are counted as unverifiable, and stay in the kept file`()
        async throws
    {
        let fixture = try QueueFixture()
        var random = SplitMix64(seed: 5)
        var collector = ModelCollector()
        _ = try build(fixture, &collector, rows: 1000, random: &random)
        let image = fixture.directory + "/image"
        try FileManager.default.removeItem(atPath: image + "/queue.epoch")
        let connection = try Connection(path: image + "/queue.sqlite")
        try connection.execute("DELETE FROM epoch")
        try connection.close()
        let queue = try fixture.open("/image")
        #expect(try await queue.nextClose() == nil)
        #expect(try await queue.nextPart(of: .sample, maximumBytes: 1, maximumRecords: 1, hold: .zero) == nil)
        let balances = try await queue.balance().values
        #expect(balances.allSatisfy { $0.closes && $0.waiting == 0 })
        #expect(balances.reduce(0) { $0 + ($1.dropped["unverifiable"] ?? 0) } >= 300)
        #expect(try await queue.inspect().corruptFiles.count == 1)
        await queue.close()
    }

    @Test(arguments: [true, false])
    func `A file that is gone, or empty, is reported where it had been there`(_ empty: Bool) async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        let epoch = queue.epoch
        _ = try await queue.enqueueDurably(fixture.record())
        await queue.close()
        try FileManager.default.removeItem(atPath: fixture.database)
        try FileManager.default.removeItem(atPath: fixture.database + "-wal")
        if empty { #expect(FileManager.default.createFile(atPath: fixture.database, contents: nil)) }
        queue = try fixture.open()
        let ended = try #require(try await queue.status().ended.first)
        #expect(ended.epoch == epoch && ended.salvage?.cause.contains(empty ? "is empty" : "is missing") == true)
        #expect(try await queue.nextClose()?.epoch == epoch.data)
        await queue.close()
    }

    @Test
    func `Cut short at any step, a salvage is finished by the next opening, and no more than two bad files are kept`()
        async throws
    {
        let fixture = try QueueFixture()
        for round in 1...4 {
            var queue = try fixture.open()
            _ = try await queue.enqueueDurably(fixture.record(byte: UInt8(round)))
            await queue.close()
            let connection = try Connection(path: fixture.database)
            try connection.execute("UPDATE ledger SET stored = stored + 1 WHERE chain > 4")
            try connection.close()
            let files = SalvageFiles(directory: fixture.directory)
            switch round {
            case 1: mkdir(files.salvaging, 0o700)
            case 2:
                _ = try files.moveAside(at: 0)
                #expect(
                    FileManager.default.createFile(atPath: files.salvaging + "/new.sqlite", contents: Data([1, 2, 3])))
            default: break
            }
            queue = try fixture.open()
            #expect(try await queue.status().ended.contains { $0.salvage != nil })
            #expect(try await queue.balance()[.sample]?.waiting == UInt64(round))
            await queue.close()
            if round == 3 {
                // Everything but the last renaming was done.
                let kept = try #require(files.kept.last)
                try FileManager.default.moveItem(atPath: "\(fixture.directory)/\(kept)", toPath: files.salvaging)
            }
        }
        #expect(SalvageFiles(directory: fixture.directory).kept.count == Tunables.Queue.keptCorruptFiles)
        let queue = try fixture.open()
        var collector = ModelCollector()
        _ = try await collector.closeAll(queue)
        _ = try await collector.drain(queue)
        #expect(collector.stored[.sample]?.count == 4)
        await queue.close()
    }

    /// What a damaged page of the free list says.
    enum FreeListDamage: CaseIterable {
        case noise
        /// More pages on it than a page can name.
        case tooMany
        /// The next one is beyond the file's end.
        case beyond
        /// The next one is itself.
        case circle

        func bytes(_ page: UInt32, _ random: inout SplitMix64) -> [UInt8] {
            func words(_ next: UInt32, _ count: UInt32) -> [UInt8] {
                [next, count].flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } }
                    + [UInt8](repeating: 0, count: 4088)
            }
            return switch self {
            case .noise: (0..<4096).map { _ in UInt8.random(in: 0...255, using: &random) }
            case .tooMany: words(0, .max)
            case .beyond: words(.max, 0)
            case .circle: words(page, 0)
            }
        }
    }

    @Test(arguments: FreeListDamage.allCases)
    func `A damaged page of the free list costs no record that waits, and is met when a page is wanted`(
        _ damage: FreeListDamage
    ) async throws {
        var random = SplitMix64(seed: 11)
        let fixture = try QueueFixture()
        var collector = ModelCollector()
        let rows = 3000
        _ = try build(fixture, &collector, rows: rows, random: &random)
        let image = fixture.directory + "/image"
        let connection = try Connection(path: image + "/queue.sqlite")
        _ = try connection.checkpoint(.truncate)
        try connection.close()
        let waiting = Set(try pagesOfRows(image).keys)
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: image + "/queue.sqlite"))
        let header = [UInt8](try #require(try file.read(upToCount: 100)))
        let trunk = header.number32(32)
        try #require(trunk > 1, "what was acknowledged and dropped left free pages")
        try file.seek(toOffset: UInt64(trunk - 1) * UInt64(Self.pageBytes))
        try file.write(contentsOf: damage.bytes(UInt32(trunk), &random))
        try file.close()

        let queue = try fixture.open("/image")
        var made = 0
        var refused = 0
        while try await queue.status().ended.isEmpty, made < 3000 {
            let body = withUnsafeBytes(of: UInt64(rows + made).bigEndian) { Data($0) } + Data(repeating: 1, count: 9000)
            do throws(QueueError) {
                _ = try await queue.enqueueDurably(
                    NewRecord(stream: .event, kind: .event, stamp: fixture.clock.now(), body: body))
                made += 1
            } catch {
                refused += 1
                #expect(error.code == .corrupt && refused < 3, "\(error)")
            }
        }
        #expect(try await queue.status().ended.first?.salvage?.lost == 0)
        _ = try await collector.closeAll(queue)
        _ = try await collector.drain(queue)
        let stored = identities(collector)
        #expect(Set(stored).count == stored.count, "nothing twice")
        #expect(
            Set(stored).isSuperset(of: waiting.union((rows..<rows + made).map(UInt64.init))),
            "all that waited, all that was taken since")
        for (stream, balance) in try await queue.balance() {
            #expect(balance.closes && balance.waiting == 0, "\(stream) \(balance)")
        }
        await queue.close()
    }

    /// A queue on a small disk, 4,000 records of 2,000 bytes in it, whose file then is corrupt.
    private func corrupt(_ fixture: QueueFixture, _ configuration: RecordQueue.Configuration) async throws {
        let queue = try fixture.open("", configuration)
        for _ in 1...16 {
            for _ in 1...250 { try queue.enqueue(fixture.record(.event, bytes: 2000)) }
            try await queue.flush()
        }
        await queue.close()
        let connection = try Connection(path: fixture.database)
        try connection.execute("UPDATE ledger SET stored = stored + 1 WHERE chain > 4")
        try connection.close()
    }

    @Test(.enabled(if: SmallDisk.isAvailable, "needs root and mount(8): a small tmpfs is filled to its last byte"))
    func `On a full disk a salvage says so, harms nothing, and is made up for once there is room`() async throws {
        let disk = try SmallDisk(megabytes: 48)
        let fixture = try QueueFixture(in: disk.path)
        let configuration = QueueFixture.configuration { $0.maximumBytes = 32 << 20 }
        try await corrupt(fixture, configuration)
        try disk.fill()
        for _ in 1...2 {
            let error = #expect(throws: QueueError.self) { _ = try fixture.open("", configuration) }
            #expect(error?.code == .diskFull, "\(String(describing: error))")
        }
        disk.empty()
        let queue = try fixture.open("", configuration)
        let note = try #require(try await queue.status().ended.first?.salvage)
        #expect(note.salvaged == 4000 && note.lost == 0)
        var collector = ModelCollector()
        _ = try await collector.closeAll(queue)
        _ = try await collector.drain(queue)
        #expect(collector.stored[.event]?.count == 4000)
        await queue.close()
    }

    @Test(
        .enabled(if: SmallDisk.isAvailable, "needs root and mount(8): a small tmpfs is nearly full"),
        arguments: [10, 13])
    func `With little room a salvage saves what fits, and counts the rest`(megabytes: Int) async throws {
        let disk = try SmallDisk(megabytes: 48)
        let fixture = try QueueFixture(in: disk.path)
        let configuration = QueueFixture.configuration { $0.maximumBytes = 32 << 20 }
        try await corrupt(fixture, configuration)
        try disk.fill(leaving: megabytes << 20)
        let queue = try fixture.open("", configuration)
        let note = try #require(try await queue.status().ended.first?.salvage)
        #expect(
            note.salvaged > (megabytes - 10) * 300 + 100 && note.salvaged < 4000 && note.salvaged + note.lost == 4000,
            "\(note)")
        var collector = ModelCollector()
        _ = try await collector.closeAll(queue)
        _ = try await collector.drain(queue)
        #expect(UInt64(collector.stored[.event]?.count ?? 0) == note.salvaged)
        for (stream, balance) in try await queue.balance() {
            #expect(balance.closes && balance.waiting == 0, "\(stream) \(balance)")
        }
        await queue.close()
    }
}
