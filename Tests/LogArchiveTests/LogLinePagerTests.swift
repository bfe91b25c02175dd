import Foundation
import Gzip
import RegistryTestKit
import StoreTestKit
import TelemetryBasics
import TestKit
import Testing
import WireModel

@testable import LogArchive
@testable import RecordStore
@testable import Registry

@Suite(.eachRegistry) struct LogLinePagerTests {
    private static let second: Int64 = 1_000_000
    private static let start = ManualStoreClock.start

    private static func pager(_ archive: LogArchive, _ adjust: (inout LogLinePager.Bounds) -> Void = { _ in })
        -> LogLinePager
    {
        var bounds = LogLinePager.Bounds()
        adjust(&bounds)
        return LogLinePager(metadata: archive.metadata, chunks: archive.chunks, bounds: bounds)
    }

    /// All pages, and how many they are.
    private static func lines(
        _ pager: LogLinePager, _ order: LogLineOrder, limit: Int
    ) async throws -> (lines: [LogLineRow], pages: Int) {
        var (lines, pages, position) = ([LogLineRow](), 0, LogLinePosition?.none)
        repeat {
            let page = try await pager.page(LogQuery(), order, from: position, limit: limit)
            #expect(page.lines.count <= limit)
            lines += page.lines
            pages += 1
            try #require(page.next == nil || page.next != position, "no page begins where the one before began")
            position = page.next
        } while position != nil
        return (lines, pages)
    }

    /// Three devices at the same time, one of them with two programs, whose lines partly came twice.
    private static func fill(_ archive: LogArchive) async throws -> Set<LogLineID> {
        var expected: Set<LogLineID> = []
        for offset in 0..<3 {
            let device = LogDevice()
            let from = start + Int64(offset) * second / 4
            for segment in 1...2 as ClosedRange<UInt64> {
                for positions in [1...60, 50...130, 20...30] as [ClosedRange<UInt64>] {
                    let chunk = try LogDevice.chunk(
                        segment: segment, positions, from: from, padding: 400, linesPerMember: 20)
                    try await device.upload([chunk], to: archive)
                }
                for position in 1...130 as ClosedRange<UInt64> {
                    expected.insert(
                        LogLineID(
                            time: from + Int64(position) * second, device: device.row.id, epoch: device.epoch,
                            number: LogNumber(segment: segment, position: position).value))
                }
            }
        }
        return expected
    }

    @Test(arguments: [3, 100, 1000], LogLineOrder.allCases)
    func `Pages have every line once in their order`(_ limit: Int, _ order: LogLineOrder) async throws {
        let directory = try TemporaryDirectory()
        let archive = try LogArchive.open(directory)
        let expected = try await Self.fill(archive).sorted { order.precedes($0, $1) }
        let found = try await Self.lines(Self.pager(archive), order, limit: limit)
        #expect(found.lines.map(\.id) == expected)
        #expect(found.pages <= expected.count / limit + 2)
        await archive.close()
    }

    /// However little a page may read, hold or look through, nothing is left out.
    @Test(arguments: [(1, 1 << 20, 20_000), (16 << 20, 1000, 20_000), (1, 1, 2), (16 << 20, 1 << 20, 2)])
    func `Bounds cut pages and no lines`(_ scannedBytes: Int, _ pageBytes: Int, _ runs: Int) async throws {
        let directory = try TemporaryDirectory()
        let archive = try LogArchive.open(directory)
        // One after the other, so that every run begins at a time of its own.
        var expected: [LogLineID] = []
        let device = LogDevice()
        for segment in 1...6 as ClosedRange<UInt64> {
            let from = Self.start + Int64(segment) * 1000 * Self.second
            let chunk = try LogDevice.chunk(segment: segment, 1...45, from: from, padding: 400, linesPerMember: 10)
            try await device.upload([chunk], to: archive)
            expected += (1...45).map { position in
                LogLineID(
                    time: from + Int64(position) * Self.second, device: device.row.id, epoch: device.epoch,
                    number: LogNumber(segment: segment, position: position).value)
            }
        }
        for order in LogLineOrder.allCases {
            let pager = Self.pager(archive) { bounds in
                (bounds.scannedBytes, bounds.pageBytes, bounds.runs) = (scannedBytes, pageBytes, runs)
            }
            let found = try await Self.lines(pager, order, limit: 1000)
            #expect(found.lines.map(\.id) == (order == .newest ? expected.reversed() : expected), "\(order)")
        }
        await archive.close()
    }

    @Test func `What overlaps beyond the bound is refused and not returned in part`() async throws {
        let directory = try TemporaryDirectory()
        let archive = try LogArchive.open(directory)
        for _ in 0..<10 { try await LogDevice().upload([try LogDevice.chunk(segment: 1, 1...300)], to: archive) }
        let narrow = Self.pager(archive) { ($0.scannedBytes, $0.mostScannedBytes) = (1, 40_000) }
        let first = try await narrow.page(LogQuery(), .newest, from: nil, limit: 1000)
        #expect(first.lines.isEmpty && first.next == .time(Self.start + 300 * Self.second))
        let error = await #expect(throws: StoreError.self) {
            try await narrow.page(LogQuery(), .newest, from: first.next, limit: 1000)
        }
        #expect(error?.code == .invalid && error?.message.contains("Name devices") == true)
        // With room for all that overlaps it goes on.
        let wide = Self.pager(archive) { $0.scannedBytes = 1 }
        #expect(try await wide.page(LogQuery(), .newest, from: first.next, limit: 1000).lines.count == 1000)
        await archive.close()
    }

    @Test func `A log of 200 MB opens at once and is searched page by page`() async throws {
        let (directory, device) = (try TemporaryDirectory(), LogDevice())
        let archive = try LogArchive.open(directory)
        // 40 chunks of 5 MB; each line of 64 KB is a stretch of its own.
        var total = 0
        for segment in 1...40 {
            let chunk = try LogDevice.chunk(
                segment: UInt64(segment), 1...78, from: Self.start + Int64(segment) * 100 * Self.second,
                padding: 63_890, linesPerMember: 1)
            total += chunk.text.count
            try await device.upload([chunk], to: archive)
        }
        #expect(total > 190_000_000)
        let pager = Self.pager(archive)
        for (order, expected) in [(LogLineOrder.newest, "40.78"), (.oldest, "1.1")] {
            let page = try await pager.page(LogQuery(), order, from: nil, limit: 10)
            #expect(page.lines.count == 10 && page.lines.first?.text == "line \(expected)")
            #expect(page.scannedBytes <= 11 * LogLimits.lineBytes, "\(order): \(page.scannedBytes)")
        }
        // In the middle as fast as at its ends.
        var query = LogQuery(lines: LogFilter(since: Self.start + 2010 * Self.second))
        let middle = try await pager.page(query, .oldest, from: nil, limit: 10)
        #expect(middle.lines.first?.text == "line 20.10" && middle.scannedBytes <= 11 * LogLimits.lineBytes)
        // A rare word: each page says how far it has got, and reads no more than it may.
        query = LogQuery(lines: LogFilter(text: "LINE 3.7\t"))
        var (found, pages, position) = ([LogLineRow](), 0, LogLinePosition?.none)
        repeat {
            let page = try await pager.page(query, .newest, from: position, limit: 10)
            #expect(page.scannedBytes <= (16 << 20) + LogLimits.lineBytes)
            if let next = page.next, let position { #expect(next.time < position.time) }
            found += page.lines
            pages += 1
            position = page.next
        } while position != nil
        #expect(found.map(\.text) == ["line 3.7"] && (11...14).contains(pages), "\(pages)")
        await archive.close()
    }

    @Test func `A line is shown with what belongs to it`() async throws {
        let (directory, device) = (try TemporaryDirectory(), LogDevice())
        let archive = try LogArchive.open(directory)
        let long = String(repeating: "é", count: 40_000)
        let lines = [
            "\(Timestamp.text(Self.start)) W 1000001 app.net refused\tpeer=a try=2\n", "  no form\n", "again\n",
            "\(Timestamp.text(Self.start + 1)) V 1000002 - x\(long)\n",
        ]
        let text = Data(lines.joined().utf8)
        try await device.upload([(text, try GzipCodec.compress(text))], to: archive)
        let page = try await Self.pager(archive).page(LogQuery(), .oldest, from: nil, limit: 10)
        let (first, second) = (try #require(page.lines.first), try #require(page.lines.last))
        #expect(first.level == .warning && first.category == "app.net" && first.text == "refused")
        #expect(first.metadata == "peer=a try=2" && first.unformatted == "  no form\nagain\n" && !first.isCut)
        #expect(first.application == "com.example.kiosk" && first.type == .application && first.chunk == 1)
        #expect(second.category == nil && second.isCut && second.text == "x" + long.prefix(32_767))
        await archive.close()
    }

    @Test func `A chunk that was altered on disk is an error`() async throws {
        let (directory, device) = (try TemporaryDirectory(), LogDevice())
        let archive = try LogArchive.open(directory)
        try await device.upload([try LogDevice.chunk(segment: 1, 1...50)], to: archive)
        let file = "\(directory.path)/chunks/\(directory.chunkFiles[0])"
        var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        bytes[bytes.count / 2] ^= 0x10
        try bytes.write(to: URL(fileURLWithPath: file))
        let error = await #expect(throws: StoreError.self) {
            try await Self.pager(archive).page(LogQuery(), .newest, from: nil, limit: 1)
        }
        #expect(error?.code == .corrupt)
        try FileManager.default.removeItem(atPath: file)
        #expect(try await Self.pager(archive).page(LogQuery(), .newest, from: nil, limit: 1).lines.isEmpty)
        await archive.close()
    }

    // MARK: Arrival

    @Test func `What arrives is reported once, however little at a time`() async throws {
        let (directory, device) = (try TemporaryDirectory(), LogDevice())
        let archive = try LogArchive.open(directory)
        try await device.upload([try LogDevice.chunk(segment: 1, 1...50)], to: archive)
        let from = try await archive.arrival()
        #expect(try await archive.lines(LogQuery(), arrivedSince: from, limit: 10).lines.isEmpty)
        // An older one and a newer one by the device's clock.
        for (segment, seconds) in [(2, -5000), (3, 5000)] as [(UInt64, Int64)] {
            let chunk = try LogDevice.chunk(
                segment: segment, 1...50, from: Self.start + seconds * Self.second, padding: 3000, linesPerMember: 10)
            try await device.upload([chunk], to: archive)
        }
        let expected = [2, 3].flatMap { segment in (1...50).map { "line \(segment).\($0)" } }
        for (limit, scanned, page) in [
            (1000, 16 << 20, 2 << 20), (7, 16 << 20, 2 << 20), (1000, 1, 2 << 20), (1000, 1, 4000),
        ] {
            let pager = Self.pager(archive) { ($0.scannedBytes, $0.pageBytes) = (scanned, page) }
            var (texts, arrival, hasMore) = ([String](), from, true)
            while hasMore {
                let arrived = try await pager.arrived(LogQuery(), since: arrival, limit: limit)
                try #require(arrived.arrival != arrival)
                #expect(arrived.lines.count <= limit)
                texts += arrived.lines.map(\.text)
                (arrival, hasMore) = (arrived.arrival, arrived.hasMore)
            }
            #expect(texts == expected, "\(limit) lines, \(scanned) bytes")
            #expect(try await archive.arrival() == arrival)
        }
        let errors = LogQuery(lines: LogFilter(level: .error))
        #expect(try await archive.lines(errors, arrivedSince: from, limit: 1000).lines.count == 10)
        await archive.close()
    }

    @Test func `A follower misses nothing when the newest logs are deleted`() async throws {
        let (directory, device) = (try TemporaryDirectory(), LogDevice())
        let archive = try LogArchive.open(directory)
        for segment in 1...3 as ClosedRange<UInt64> {
            try await device.upload([try LogDevice.chunk(segment: segment, 1...5)], to: archive)
        }
        let from = try await archive.arrival()
        for _ in 0..<2 {
            let plan = try await archive.metadata.deletion(LogQuery())
            _ = try await archive.delete(LogQuery(), confirmation: plan.confirmation, by: .commandLine)
        }
        #expect(try await archive.arrival() == from)
        try await device.upload([try LogDevice.chunk(segment: 4, 1...5)], to: archive)
        let arrived = try await archive.lines(LogQuery(), arrivedSince: from, limit: 100)
        #expect(arrived.lines.map(\.text) == (1...5).map { "line 4.\($0)" })
        await archive.close()
    }

    // MARK: Context

    @Test func `The context of a line is from its log alone and of all levels`() async throws {
        let (directory, other) = (try TemporaryDirectory(), LogDevice())
        var device = LogDevice()
        let archive = try LogArchive.open(directory)
        try await device.upload([try LogDevice.chunk(segment: 1, 1...50)], to: archive)
        try await device.upload(
            [try LogDevice.chunk(segment: 3, 1...50, from: Self.start + 50 * Self.second)], to: archive)
        device.application = "com.example.other"
        try await device.upload([try LogDevice.chunk(segment: 2, 1...50)], to: archive)
        try await other.upload([try LogDevice.chunk(segment: 1, 1...50)], to: archive)
        let line = LogLineID(
            time: Self.start + 48 * Self.second, device: device.row.id, epoch: device.epoch, number: 1_000_048)
        let found = try #require(try await archive.lines(around: line, organization: "default", count: 3))
        #expect(
            found.lines.map(\.text) == [
                "line 1.45", "line 1.46", "line 1.47", "line 1.48", "line 1.49", "line 1.50", "line 3.1",
            ])
        #expect(found.hasEarlier && found.hasLater && Set(found.lines.map(\.level)) == [.information, .error])
        let first = LogLineID(time: Self.start + Self.second, device: line.device, epoch: line.epoch, number: 1_000_001)
        let beginning = try #require(try await archive.lines(around: first, organization: nil, count: 200))
        #expect(beginning.lines.count == 100 && !beginning.hasEarlier && !beginning.hasLater)
        // Another organization's, and lines that are not there.
        #expect(try await archive.lines(around: line, organization: "west", count: 3) == nil)
        for (time, number) in [(line.time, 1_000_047), (line.time, 9_000_001), (line.time, 0)] as [(Int64, UInt64)] {
            let absent = LogLineID(time: time, device: line.device, epoch: line.epoch, number: number)
            #expect(try await archive.lines(around: absent, organization: nil, count: 3) == nil, "\(number)")
        }
        await archive.close()
    }

    @Test func `An ID is read back from its bytes alone`() {
        let line = LogLineID(time: Self.start, device: .random(), epoch: .random(), number: 18_000_000_000)
        #expect(LogLineID(line.data) == line && line.data.count == 48)
        #expect(LogLineID(line.data.dropLast()) == nil && LogLineID(line.data + [0]) == nil && LogLineID(Data()) == nil)
    }
}
