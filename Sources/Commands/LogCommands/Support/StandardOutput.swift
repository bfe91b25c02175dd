import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// Standard output, in large writes. Errors are those of whoever reads.
struct StandardOutput: ~Copyable {
    private static let bufferBytes = 64 << 10

    private var buffer: [UInt8] = []
    /// Whether each line should be seen at once.
    let isTerminal = isatty(STDOUT_FILENO) == 1

    mutating func write(_ bytes: some Collection<UInt8>) throws(LogCommandError) {
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.bufferBytes { try flush() }
    }

    /// Nothing of it steers a terminal: names and reasons of devices and collectors are among it.
    mutating func line(_ text: String) throws(LogCommandError) {
        try write(text.escapingControlCharacters(keeping: "\n\t").utf8)
        try write(CollectionOfOne(UInt8(ascii: "\n")))
    }

    mutating func json(_ value: some Encodable) throws(LogCommandError) {
        try write(try JSONText.of(value).escapingHiddenCharactersInJSON)
    }

    mutating func flush() throws(LogCommandError) {
        if let systemError = buffer.withUnsafeBytes({ writeAll($0, to: STDOUT_FILENO).systemError }) {
            throw systemError == EPIPE
                ? LogCommandError(.readerGone, "nobody reads the output")
                : LogCommandError(.failed, "writing the output failed: \(FileError.words(systemError))")
        }
        buffer.removeAll(keepingCapacity: true)
    }
}

/// Standard error, a line at a time.
enum StandardError {
    static func write(_ text: String) {
        _ = Array(text.utf8).withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    static func warn(_ text: String) { write("ws1log: \(text.escapingControlCharacters(keeping: "\n\t"))\n") }
}

/// JSON for people and scripts: sorted, one value, a line's end.
enum JSONText {
    static func of(_ value: some Encodable) throws(LogCommandError) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        do { return try encoder.encode(value) + Data("\n".utf8) } catch {
            throw LogCommandError(.failed, "the result cannot be written as JSON: \(error)", cause: error)
        }
    }
}

/// How far long work is, on a terminal; elsewhere nothing.
struct ProgressLine {
    private static let barWidth = 30
    /// Ten times a second is enough for an eye.
    private static let pauseNanoseconds: Int64 = 100_000_000

    private let isShown: Bool
    private var lastShown: Int64 = 0
    private var isOnScreen = false

    /// - Parameter isShown: whether it may be, where standard error is a terminal.
    init(isShown: Bool) { self.isShown = isShown && isatty(STDERR_FILENO) == 1 }

    mutating func show(_ done: Int, of all: Int, _ what: String) {
        guard all > 0 else { return }
        show(Double(done) / Double(all), "\(done) of \(all) \(what)")
    }

    /// - Parameter fraction: 0 to 1.
    mutating func show(_ fraction: Double, _ text: String) {
        let now = SystemClock.monotonicNanoseconds()
        guard isShown, now - lastShown >= Self.pauseNanoseconds || fraction >= 1 else { return }
        lastShown = now
        isOnScreen = true
        let filled = Int(Double(Self.barWidth) * min(max(fraction, 0), 1))
        let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: Self.barWidth - filled)
        StandardError.write("\r[\(bar)] \(text.escapingControlCharacters)\u{1B}[K")
    }

    mutating func clear() {
        if isOnScreen { StandardError.write("\r\u{1B}[K") }
        isOnScreen = false
    }
}
