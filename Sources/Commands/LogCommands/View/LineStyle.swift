import ArgumentParser
import CommandKit
import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// How a line is shown: as it is on disk, as JSON, or for a terminal with a coloured level and a local time.
struct LineStyle: Sendable {
    let isColoured: Bool
    /// Shows local times, to the millisecond, without the year if it is the present one.
    let isLocalTime: Bool
    /// Shows one object a line, without colour and local time.
    var isJSON = false
    /// Escapes control characters, which would steer a terminal, and shows metadata with its spaces.
    var isForTerminal = false

    private static let reset = Array("\u{1B}[0m".utf8)
    private static let dim = Array("\u{1B}[2m".utf8)

    /// Shows lines as they are.
    var isPlain: Bool { !isColoured && !isLocalTime && !isJSON && !isForTerminal }

    /// - Parameter line: with its newline.
    func shown(_ line: UnsafeRawBufferPointer) -> [UInt8] {
        if isJSON { return LineJSON.object(line) }
        if isForTerminal, let escaped = Self.escaped(line) { return escaped.withUnsafeBytes { styled($0) } }
        return styled(line)
    }

    /// - Parameter device: the id of the device that wrote it, for who sees lines of several.
    func shown(_ line: UnsafeRawBufferPointer, ofDevice device: String) -> [UInt8] {
        let shown = shown(line)
        return isJSON ? Array("{\"device\":\"\(device)\",".utf8) + shown.dropFirst() : Array("\(device) ".utf8) + shown
    }

    /// `nil` if there is nothing to escape. Bytes that are not UTF-8 become U+FFFD, because some terminals treat them
    /// as control characters.
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

    /// Metadata for a person. On disk, `\u{20}` and `\u{3D}` stand for space and equals sign, which separate fields.
    /// Here they are these characters again, in quotes.
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
                // Other escapes stay as they are on disk. A backslash after a backslash begins no escape.
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

    /// Local time with its offset, as RFC 3339 says: `2026-11-22T00:51:28.123+01:00`.
    /// - Parameter digits: of the fraction of a second, 0 to 6.
    static func localTime(_ microseconds: Int64, digits: Int = 3) -> String {
        var time = time_t(microseconds / 1_000_000)
        var parts = tm()
        localtime_r(&time, &parts)
        let shown = Timestamp.text(microseconds + Int64(parts.tm_gmtoff) * 1_000_000)
        return shown.prefix(digits == 0 ? 19 : 20 + digits) + offset(seconds: parts.tm_gmtoff)
    }

    /// `+01:00`. RFC 3339 has no seconds in it.
    static func offset(seconds: Int) -> String {
        let minutes = abs(seconds) / 60
        let digits = { (value: Int) in value < 10 ? "0\(value)" : "\(value)" }
        return "\(seconds < 0 ? "-" : "+")\(digits(minutes / 60)):\(digits(minutes % 60))"
    }
}

/// How lines are shown.
struct ViewOptions: ParsableArguments {
    @Flag(help: "Show times in UTC, as they are on disk. Without this flag a terminal shows local times.")
    var utc = false

    @Flag(
        inversion: .prefixedNo, help: "Show colours; by default on a terminal, unless NO_COLOR is set or TERM is dumb.")
    var color: Bool?

    /// The style for standard output.
    func style(isJSON: Bool = false) -> LineStyle {
        let isTerminal = isatty(STDOUT_FILENO) == 1
        let noColour = ProcessInfo.processInfo.environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        return LineStyle(
            isColoured: color ?? (Terminal.obeysEscapes(STDOUT_FILENO) && !noColour), isLocalTime: isTerminal && !utc,
            isJSON: isJSON,
            isForTerminal: isTerminal)
    }
}
