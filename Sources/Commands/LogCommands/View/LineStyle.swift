import ArgumentParser
import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// How a line is shown: as it is on disk, as JSON, or for a terminal with its level in colour and its time short and
/// local.
struct LineStyle: Sendable {
    let isColoured: Bool
    /// Whether times are local, to the millisecond, and without the year where it is the present one.
    let isLocalTime: Bool
    /// One object a line; neither colour nor local time then.
    var isJSON = false
    /// For a terminal: nothing that a device logged steers it, and metadata has its spaces back.
    var isForTerminal = false

    private static let reset = Array("\u{1B}[0m".utf8)
    private static let dim = Array("\u{1B}[2m".utf8)

    /// As it is unless something asks for more.
    var isPlain: Bool { !isColoured && !isLocalTime && !isJSON && !isForTerminal }

    /// - Parameter line: with its end.
    func shown(_ line: UnsafeRawBufferPointer) -> [UInt8] {
        if isJSON { return LineJSON.object(line) }
        if isForTerminal, let escaped = Self.escaped(line) { return escaped.withUnsafeBytes { styled($0) } }
        return styled(line)
    }

    /// `nil` where nothing is to be escaped. Bytes that are no UTF-8 become U+FFFD: some terminals take them for
    /// control characters.
    private static func escaped(_ line: UnsafeRawBufferPointer) -> [UInt8]? {
        guard
            line.contains(where: { ($0 < 0x20 && $0 != UInt8(ascii: "\t") && $0 != UInt8(ascii: "\n")) || $0 >= 0x7F })
        else {
            return nil
        }
        let hasEnd = line.last == UInt8(ascii: "\n")
        let text = String(decoding: hasEnd ? UnsafeRawBufferPointer(rebasing: line.dropLast()) : line, as: UTF8.self)
        let fields = text.split(separator: "\t", omittingEmptySubsequences: false).map(\.escapingControlCharacters)
        return Array((fields.joined(separator: "\t") + (hasEnd ? "\n" : "")).utf8)
    }

    private func styled(_ line: UnsafeRawBufferPointer) -> [UInt8] {
        guard !isPlain, let fields = LogLine(line), line.last == UInt8(ascii: "\n") else { return Array(line) }
        let time = isLocalTime ? Array(Self.localTime(fields.time).utf8) : Array(line[..<LogLine.timeBytes])
        let head = Array(line[LogLine.levelOffset..<fields.message.lowerBound])
        let message = Array(line[fields.message])
        let metadata = isForTerminal ? Self.readable(line[fields.metadata]) : Array(line[fields.metadata])
        let space = [UInt8(ascii: " ")]
        let tab = [UInt8(ascii: "\t")]
        let end = [UInt8(ascii: "\n")]
        guard isColoured else {
            return time + space + head + message + (fields.metadata.lowerBound > fields.message.upperBound ? tab : [])
                + metadata + end
        }
        let colour = Array(Self.colour(fields.level).utf8)
        let shown = Self.dim + time + Self.reset + space + colour + head + message + Self.reset
        return shown + (metadata.isEmpty ? [] : Self.dim + tab + metadata + Self.reset) + end
    }

    /// Metadata for a person: `\u{20}` and `\u{3D}`, which keep fields apart on disk, as space and equals sign again,
    /// in quotes.
    private static func readable(_ metadata: Slice<UnsafeRawBufferPointer>) -> [UInt8] {
        guard metadata.contains(UInt8(ascii: "\\")) else { return Array(metadata) }
        return Array(
            String(decoding: metadata, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false).map {
                pair in
                let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(readable)
                return parts.joined(separator: "=")
            }.joined(separator: " ").utf8)
    }

    private static func readable(_ field: Substring) -> String {
        var text = ""
        var rest = field
        while let character = rest.popFirst() {
            guard character == "\\" else {
                text.append(character)
                continue
            }
            if rest.hasPrefix("u{20}") || rest.hasPrefix("u{3D}") {
                text.append(rest.hasPrefix("u{20}") ? " " : "=")
                rest = rest.dropFirst(5)
            } else {
                // Another escape, as it is on disk; what follows a backslash of its own is no escape.
                text.append(character)
                if let next = rest.popFirst() { text.append(next) }
            }
        }
        return text.contains(" ") || text.contains("=") ? "\"\(text.replacing("\"", with: "\\\""))\"" : text
    }

    private static func colour(_ level: LogLevel) -> String {
        switch level {
        case .error: "\u{1B}[31m"
        case .warning: "\u{1B}[33m"
        case .information: "\u{1B}[0m"
        case .verbose: "\u{1B}[2m"
        }
    }

    /// `11-22 00:51:28.123`, or with the year in front where it is not the present one.
    static func localTime(_ microseconds: Int64, now: Int64 = SystemClock.wallMicroseconds()) -> String {
        let shown = Self.wallTime(microseconds)
        let isThisYear = shown.prefix(4) == Self.wallTime(now).prefix(4)
        return "\(shown.prefix(10).dropFirst(isThisYear ? 5 : 0)) \(shown.dropFirst(11).prefix(12))"
    }

    /// Local time, written as if it were UTC.
    private static func wallTime(_ microseconds: Int64) -> String {
        var time = time_t(microseconds / 1_000_000)
        var parts = tm()
        localtime_r(&time, &parts)
        return Timestamp.text(microseconds + Int64(parts.tm_gmtoff) * 1_000_000)
    }
}

/// How times are shown, and whether in colour.
struct ViewOptions: ParsableArguments {
    @Flag(help: "Show times in UTC, as they are on disk; without it a terminal shows short local times.")
    var utc = false

    @Flag(inversion: .prefixedNo, help: "Colour; by default on a terminal, unless NO_COLOR is set.")
    var color: Bool?

    func style(isTerminal: Bool, isJSON: Bool = false) -> LineStyle {
        let noColour = ProcessInfo.processInfo.environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        return LineStyle(
            isColoured: color ?? (isTerminal && !noColour), isLocalTime: isTerminal && !utc, isJSON: isJSON,
            isForTerminal: isTerminal)
    }
}
