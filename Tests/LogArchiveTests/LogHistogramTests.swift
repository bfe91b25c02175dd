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

@Suite(.eachRegistry) struct LogHistogramTests {
    private static let second: Int64 = 1_000_000
    private static let start = ManualStoreClock.start

    /// What the lines themselves say.
    private static func counted(
        _ archive: LogArchive, _ query: LogQuery, in buckets: LogBuckets
    ) async throws -> [[Int]] {
        var counts = Array(repeating: Array(repeating: 0, count: buckets.count), count: 4)
        var position: LogLinePosition?
        repeat {
            let page = try await archive.lines(query, .oldest, from: position, limit: 1000)
            for line in page.lines {
                if let bucket = buckets.bucket(of: line.id.time) { counts[line.level.rawValue - 1][bucket] += 1 }
            }
            position = page.next
        } while position != nil
        return counts
    }

    private static func sums(_ counts: [[Int]]) -> [Int] { counts.map { $0.reduce(0, +) } }

    /// Two devices with lines of the same hours, some of which came twice: whole pieces, parts of pieces, and filtered.
    private static func fill(_ archive: LogArchive) async throws {
        for offset in 0..<2 as Range<Int64> {
            let device = LogDevice()
            let from = start + offset * second / 2
            for positions in [1...900, 301...600, 551...950] as [ClosedRange<UInt64>] {
                try await device.upload(
                    [try LogDevice.chunk(segment: 1, positions, from: from, padding: 350)], to: archive)
            }
            try await device.upload([try LogDevice.chunk(segment: 2, 1...200, from: from, padding: 350)], to: archive)
            // Errors alone, as a request for them brings them.
            let errors = (1...95).map { position in
                """
                \(Timestamp.text(from + Int64(position) * 10 * second)) E \(1_000_000 + position * 10) app line \
                1.\(position * 10)\tpad=\(String(repeating: "x", count: 350))\n
                """
            }
            let text = Data(errors.joined().utf8)
            try await device.upload([(text, try GzipCodec.compress(text))], to: archive)
        }
    }

    private static let queries = [
        LogQuery(), LogQuery(lines: LogFilter(level: .error)), LogQuery(lines: LogFilter(text: "LINE 1.5")),
        LogQuery(lines: LogFilter(categories: ["a*"])), LogQuery(lines: LogFilter(categories: ["b"])),
        LogQuery(lines: LogFilter(since: start + 100 * second, until: start + 777 * second)),
        LogQuery(lines: LogFilter(level: .warning, text: "7")),
    ]

    @Test(arguments: queries)
    func `Exact counts are those of the lines`(_ query: LogQuery) async throws {
        let directory = try TemporaryDirectory()
        let archive = try LogArchive.open(directory)
        try await Self.fill(archive)
        for step in [7, 60, 1000, 100_000] as [Int64] {
            let buckets = LogBuckets(
                from: Self.start - 5 * Self.second, to: Self.start + 1001 * Self.second, step: step * Self.second)
            let expected = try await Self.counted(archive, query, in: buckets)
            let found = try await archive.histogram(query, in: buckets, isExact: true)
            #expect(found.counts == expected && found.isExact && found.firstCounted == 0, "step \(step)")
        }
        await archive.close()
    }

    @Test func `Without a look at the text, sums are nearly right`() async throws {
        let directory = try TemporaryDirectory()
        let archive = try LogArchive.open(directory)
        try await Self.fill(archive)
        let buckets = LogBuckets(
            from: Self.start - 5 * Self.second, to: Self.start + 1001 * Self.second, step: 20 * Self.second)
        for query in [LogQuery(), LogQuery(lines: LogFilter(level: .error))] {
            let expected = try await Self.counted(archive, query, in: buckets)
            let found = try await archive.histogram(query, in: buckets, isExact: false)
            #expect(!found.isExact && found.scannedBytes == 0)
            // 950 + 200 lines each. Without knowing what came twice they would be 1,995 each.
            for (sum, right) in zip(Self.sums(found.counts), Self.sums(expected)) {
                #expect(abs(sum - right) <= right / 5, "\(sum), not \(right)")
            }
            for (count, right) in zip(found.counts[2], expected[2]) { #expect((count > 0) == (right > 0)) }
        }
        await archive.close()
    }

    @Test func `What is within one bucket is exact without a look at the text`() async throws {
        let (directory, device) = (try TemporaryDirectory(), LogDevice())
        let archive = try LogArchive.open(directory)
        for segment in 1...5 as ClosedRange<UInt64> {
            // Three pieces of 100 lines, each within ten minutes; twice the same chunk.
            let chunk = try LogDevice.chunk(
                segment: segment, 1...300, from: Self.start + Int64(segment) * 600 * Self.second, padding: 350)
            try await device.upload([chunk, chunk], to: archive)
        }
        let buckets = LogBuckets(
            from: Self.start + 600 * Self.second, to: Self.start + 3600 * Self.second, step: 600 * Self.second)
        let found = try await archive.histogram(LogQuery(), in: buckets, isExact: false)
        #expect(found.isExact && found.scannedBytes == 0)
        #expect(
            found.counts == [[30, 30, 30, 30, 30], [0, 0, 0, 0, 0], [270, 270, 270, 270, 270], [0, 0, 0, 0, 0]])
        await archive.close()
    }

    @Test func `What the bound leaves out is reported and not counted`() async throws {
        let (directory, device) = (try TemporaryDirectory(), LogDevice())
        let archive = try LogArchive.open(directory)
        for segment in 1...6 as ClosedRange<UInt64> {
            let chunk = try LogDevice.chunk(
                segment: segment, 1...100, from: Self.start + Int64(segment) * 100 * Self.second, padding: 350)
            try await device.upload([chunk], to: archive)
        }
        let buckets = LogBuckets(
            from: Self.start + 101 * Self.second, to: Self.start + 701 * Self.second, step: 50 * Self.second)
        // Room for two of the six.
        let counter = LogHistogramCounter(
            metadata: archive.metadata, chunks: archive.chunks, bounds: .init(scannedBytes: 50_000))
        let words = LogQuery(lines: LogFilter(text: "line"))
        let found = try await counter.count(words, in: buckets, isExact: false)
        #expect(found.firstCounted == 8 && found.isExact && found.scannedBytes < 100_000)
        #expect(found.counts[2].suffix(4) == [45, 45, 45, 45] && found.counts[0].suffix(4) == [5, 5, 5, 5])
        // Without words the rest is estimated.
        let all = try await counter.count(LogQuery(), in: buckets, isExact: true)
        #expect(all.firstCounted == 0 && !all.isExact && Self.sums(all.counts) == [60, 0, 540, 0])
        for bounds in [LogHistogramCounter.Bounds(runs: 5), .init(pieces: 5)] {
            let narrow = LogHistogramCounter(metadata: archive.metadata, chunks: archive.chunks, bounds: bounds)
            let error = await #expect(throws: StoreError.self) {
                try await narrow.count(words, in: buckets, isExact: false)
            }
            #expect(error?.code == .invalid)
        }
        await archive.close()
    }

    @Test(
        arguments: [
            (0...99, 10, [10, 0]), (50...149, 100, [50, 50]), (0...199, 3, [2, 1]), (-100...99, 10, [5, 0]),
            (100...1099, 10, [0, 1]), (200...300, 10, [0, 0]), (7...7, 9, [9, 0]),
        ] as [(ClosedRange<Int64>, Int, [Int])])
    func `Lines are spread evenly, and none is lost or doubled`(
        _ times: ClosedRange<Int64>, _ count: Int, _ expected: [Int]
    ) {
        var histogram = LogHistogram(LogBuckets(from: 0, to: 200, step: 100))
        histogram.spread(count, .warning, over: times)
        #expect(histogram.counts[1] == expected && histogram.counts[0] == [0, 0])
    }

    // MARK: Facets

    @Test func `Facets count what else could be chosen`() async throws {
        let directory = try TemporaryDirectory()
        let archive = try LogArchive.open(directory)
        var devices = [LogDevice(), LogDevice()]
        for (place, lines) in [(0, 20), (0, 30), (1, 40)] as [(Int, UInt64)] {
            devices[place].application = lines == 30 ? "com.example.other" : ""
            try await devices[place].upload([try LogDevice.chunk(segment: 1, 1...lines)], to: archive)
        }
        let all = try await archive.metadata.logFacets(LogQuery())
        #expect(
            all.chunks == 3 && all.lines == 90 && all.times == Self.start + Self.second...Self.start + 40 * Self.second)
        #expect(
            all.applications.map(\.value) == ["com.example.kiosk", "com.example.other"] && all.applicationCount == 2)
        #expect(all.applications.map(\.lines) == [60, 30] && all.applications.map(\.chunks) == [2, 1])
        #expect(all.devices.map(\.value.id) == [devices[0].row.id, devices[1].row.id])
        #expect(all.devices.map(\.lines) == [50, 40] && all.deviceCount == 2)
        #expect(all.levels.map(\.lines) == [9, 0, 81, 0] && all.levels.map(\.chunks) == [3, 0, 3, 0])
        #expect(all.types.map(\.value) == [.application] && all.types.map(\.bytes) == [all.bytes])
        var query = LogQuery(device: devices[0].row.id, application: "com.example.other")
        query.lines.level = .warning
        let some = try await archive.metadata.logFacets(query)
        #expect(some.chunks == 1 && some.lines == 30)
        #expect(some.applications.map(\.lines).sorted() == [20, 30], "of the device, of all applications")
        #expect(some.devices.map(\.lines) == [30], "of the application, of all devices")
        #expect(some.levels.map(\.lines) == [3, 0, 27, 0])
        let none = try await archive.metadata.logFacets(LogQuery(organization: "west"))
        #expect(none.chunks == 0 && none.times == nil && none.devices.isEmpty && none.deviceCount == 0)
        await archive.close()
    }
}
