import Foundation
import LogStore
import TelemetryBasics
import WireModel

/// A store of sealed segments with lines as programs write them, and the same lines in one file. Errors lie in one
/// block of twenty.
struct SampleLogStore {
    static let blocksPerError = 20
    /// Before the first line: blocks are skipped by level.
    static let since = "2026-11-20T00:00:00Z"

    private static let start: Int64 = 1_795_219_200_000_000
    private static let messages = [
        "connection opened", "request answered", "cache hit", "cache miss, asking the origin",
        "state changed from idle to running",
        "write took longer than expected", "retry scheduled", "configuration applied", "user interface drawn",
        "timer fired",
    ]
    private static let categories = [
        "app.network", "app.storage", "app.ui", "sync.engine", "sync.scheduler", "device.power",
    ]

    private(set) var bytes = 0
    private(set) var errorBytes = 0
    private(set) var segments = 0
    private(set) var storedBytes = 0

    init(directory: String, plain: String, bytes wanted: Int) throws {
        let store = StoreDirectory(path: directory)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let all = try OpenFile<LogStoreError>(replacing: plain)
        let sealer = try SegmentSealer()
        var random = SplitMix(state: 7)
        var time = Self.start
        while bytes < wanted {
            segments += 1
            let name = SegmentName(ordinal: UInt64(segments), kind: .application)
            var text: [UInt8] = []
            var position: UInt64 = 1
            while true {
                time += Int64(random.next() % 40_000)
                let line = Self.line(
                    time, number: LogNumber(segment: name.ordinal, position: position),
                    mayFail: (text.count / LogLimits.blockBytes) % Self.blocksPerError == 5, &random)
                guard text.count + line.count <= min(LogLimits.chunkBytes, wanted - bytes) else { break }
                if line[LogLine.levelOffset] == LogLevel.error.letter { errorBytes += line.count }
                text += line
                position += 1
            }
            guard !text.isEmpty else { break }
            try all.write(text)
            try OpenFile<LogStoreError>(replacing: store.path(name, .text)).write(text)
            guard let index = try sealer.seal(name, in: store, epoch: LogEpochID(high: 1, low: 1)).index else {
                throw BenchmarkError("segment \(segments) was not sealed")
            }
            bytes += text.count
            storedBytes += index.whole.storedBytes
        }
    }

    private static func line(_ time: Int64, number: LogNumber, mayFail: Bool, _ random: inout SplitMix) -> [UInt8] {
        let level: LogLevel
        switch random.next() % 20 {
        case 0 where mayFail: level = .error
        case 0...1: level = .warning
        case 2...12: level = .information
        default: level = .verbose
        }
        let category = categories[Int(random.next() % UInt64(categories.count))]
        let message = messages[Int(random.next() % UInt64(messages.count))]
        let request = String(random.next() & 0xFFFF_FFFF, radix: 16)
        let text =
            """
            \(Timestamp.text(time)) \(Character(UnicodeScalar(level.letter))) \(number.value) \(category) \
            \(message)\tbytes=\(random.next() % 100_000) host=node-\(random.next() % 40).example.net \
            request=\(request) took=\(random.next() % 900)ms\n
            """
        return Array(text.utf8)
    }
}
