import FoundationEssentials
import Glibc
import WireModel

/// How a line is shown: as it is on disk, as JSON, or for a terminal with its level in colour and its time in local time.
struct LineStyle: Sendable {
    let isColoured: Bool
    let isLocalTime: Bool
    /// One object a line; neither colour nor local time then.
    var isJSON = false
    /// Whether control characters other than tabs are shown escaped: of what a device logged nothing steers a terminal.
    var escapesControls = false

    private static let reset = Array("\u{1B}[0m".utf8)
    private static let dim = Array("\u{1B}[2m".utf8)

    /// As it is unless something asks for more.
    var isPlain: Bool { !isColoured && !isLocalTime && !isJSON && !escapesControls }

    /// - Parameter line: with its end.
    func shown(_ line: UnsafeRawBufferPointer) -> [UInt8] {
        if isJSON { return LineJSON.object(line) }
        if escapesControls, let escaped = Self.escaped(line) { return escaped.withUnsafeBytes { styled($0) } }
        return styled(line)
    }

    /// `nil` where nothing is to be escaped. Bytes that are no UTF-8 become U+FFFD: some terminals take them for control characters.
    private static func escaped(_ line: UnsafeRawBufferPointer) -> [UInt8]? {
        guard line.contains(where: { ($0 < 0x20 && $0 != UInt8(ascii: "\t") && $0 != UInt8(ascii: "\n")) || $0 >= 0x7F }) else {
            return nil
        }
        let hasEnd = line.last == UInt8(ascii: "\n")
        let text = String(decoding: hasEnd ? UnsafeRawBufferPointer(rebasing: line.dropLast()) : line, as: UTF8.self)
        let fields = text.split(separator: "\t", omittingEmptySubsequences: false).map(\.escapingControlCharacters)
        return Array((fields.joined(separator: "\t") + (hasEnd ? "\n" : "")).utf8)
    }

    private func styled(_ line: UnsafeRawBufferPointer) -> [UInt8] {
        guard isColoured || isLocalTime, let fields = LogLine(line), line.last == UInt8(ascii: "\n") else { return Array(line) }
        let time = isLocalTime ? Array(Self.localTime(fields.time).utf8) : Array(line[..<LogLine.timeBytes])
        let rest = line[LogLine.timeBytes..<(line.count - 1)]
        guard isColoured else { return time + rest + [UInt8(ascii: "\n")] }
        let colour = Array(Self.colour(fields.level).utf8)
        let head = Array(line[LogLine.levelOffset..<fields.message.lowerBound])
        var shown = Self.dim + time + Self.reset + [UInt8(ascii: " ")] + colour + head + Array(line[fields.message]) + Self.reset
        if !fields.metadata.isEmpty { shown += Self.dim + [UInt8(ascii: "\t")] + Array(line[fields.metadata]) + Self.reset }
        return shown + [UInt8(ascii: "\n")]
    }

    private static func colour(_ level: LogLevel) -> String {
        switch level {
        case .error: "\u{1B}[31m"
        case .warning: "\u{1B}[33m"
        case .information: "\u{1B}[0m"
        case .verbose: "\u{1B}[2m"
        }
    }

    /// `2026-11-22T00:51:28.123456+01:00`.
    static func localTime(_ microseconds: Int64) -> String {
        let (seconds, fraction) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        var time = time_t(seconds)
        var parts = tm()
        localtime_r(&time, &parts)
        // The local wall time written as if it were UTC, then its distance from it.
        let offset = Int64(parts.tm_gmtoff)
        let wall = LogTime.text((seconds + offset) * 1_000_000 + fraction).dropLast()
        let minutes = abs(offset) / 60
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return "\(wall)\(offset < 0 ? "-" : "+")\(two(minutes / 60)):\(two(minutes % 60))"
    }
}
