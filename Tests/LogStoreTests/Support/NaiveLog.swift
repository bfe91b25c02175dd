import Gzip
import LogStore
import TelemetryBasics
import WireModel

/// The oracle: what somebody with `zcat` and a line filter would get.
enum NaiveLog {
    static func lines(_ store: TemporaryStore, kinds: Set<SegmentName.Kind>, filter: LogFilter = LogFilter()) throws
        -> [[UInt8]]
    {
        var lines: [[UInt8]] = []
        for (name, parts) in try store.directory.segments().sorted(by: { $0.key < $1.key })
        where kinds.contains(name.kind) {
            let text =
                parts.contains(.index)
                ? try GzipCodec.decompress(
                    store.read(name.file(.sealed)), limits: InflateLimits(maximumBytes: 1 << 30, maximumRatio: 2_000))
                : try store.read(name.file(.text))
            var line: [UInt8] = []
            for byte in text {
                line.append(byte)
                guard byte == UInt8(ascii: "\n") else { continue }
                if wants(line, filter) { lines.append(line) }
                line = []
            }
        }
        return lines
    }

    private static func wants(_ line: [UInt8], _ filter: LogFilter) -> Bool {
        if filter.isEverything { return true }
        let text = String(decoding: line.dropLast(), as: UTF8.self)
        let fields = text.split(separator: " ", maxSplits: 4, omittingEmptySubsequences: false)
        guard fields.count == 5, fields[0].utf8.count == 27, let level = "EWIV".firstIndex(of: fields[1].first ?? "?"),
            fields[1].count == 1
        else { return false }
        let rank = "EWIV".distance(from: "EWIV".startIndex, to: level) + 1
        let time = String(fields[0])
        return rank <= filter.level.rawValue
            // Times of one length compare as text.
            && (filter.since.map { time >= Timestamp.text($0) } ?? true)
            && (filter.until.map { time < Timestamp.text($0) } ?? true)
            && (filter.categories.isEmpty
                || filter.categories.contains {
                    $0.hasSuffix("*") ? fields[3].hasPrefix($0.dropLast()) : fields[3] == $0
                })
            && (filter.text.isEmpty || "\(fields[3]) \(fields[4])".lowercased().contains(filter.text.lowercased()))
    }
}
