import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// Standard output of every command. A failed write is an error, so that a full disk never looks like success. Control
/// characters are escaped, because lines contain text from devices and collectors.
package struct StandardOutput: ~Copyable {
    private static let bufferBytes = 64 << 10

    private var buffer: [UInt8] = []
    /// Whether each line should appear at once.
    package let isTerminal = isatty(STDOUT_FILENO) == 1

    package init() {}

    /// Buffers the bytes and writes them when the buffer is full, or with ``flush()``.
    package mutating func write(_ bytes: some Collection<UInt8>) throws(CommandError) {
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.bufferBytes { try flush() }
    }

    package mutating func line(_ text: String) throws(CommandError) {
        try write("\(text.escapingControlCharacters(keeping: "\n\t"))\n".utf8)
    }

    package mutating func json(_ value: some Encodable) throws(CommandError) {
        try write(try JSONText.of(value).escapingHiddenCharactersInJSON + Data("\n".utf8))
    }

    package mutating func flush() throws(CommandError) {
        guard let code = buffer.withUnsafeBytes({ writeAll($0, to: STDOUT_FILENO).systemError }) else {
            return buffer.removeAll(keepingCapacity: true)
        }
        throw code == EPIPE
            ? CommandError(.readerGone, "nobody reads the output")
            : CommandError(.failed, "The output cannot be written: \(String(cString: strerror(code))).")
    }
}

/// Standard output of a command that prints little. It is written at once.
package enum Output {
    package static func write(_ bytes: some Collection<UInt8>) throws(CommandError) {
        var output = StandardOutput()
        try output.write(bytes)
        try output.flush()
    }

    package static func line(_ text: String) throws(CommandError) {
        var output = StandardOutput()
        try output.line(text)
        try output.flush()
    }

    package static func json(_ value: some Encodable) throws(CommandError) {
        try json(try JSONText.of(value))
    }

    /// The outcome of a command: a line for people, or its fields for a script.
    package static func outcome(
        _ text: @autoclosure () -> String, _ fields: some Encodable, asJSON: Bool
    ) throws(CommandError) {
        if asJSON { try json(fields) } else { try line(text()) }
    }

    /// - Parameter text: the bytes of an encoder.
    package static func json(_ text: Data) throws(CommandError) {
        try write(text.escapingHiddenCharactersInJSON + Data("\n".utf8))
    }

    /// - Parameter rows: the titles, then the rows.
    package static func table(_ rows: [[String]]) throws(CommandError) {
        guard let titles = rows.first else { return }
        var table = TextTable(titles)
        for row in rows.dropFirst() { table.add(row) }
        try write(table.text.utf8)
    }
}

/// Writes lines to standard error. Control characters are escaped.
package enum StandardError {
    package static func line(_ text: String) { write("\(text.escapingControlCharacters(keeping: "\n\t"))\n") }

    /// Writes the text without escaping.
    package static func write(_ text: String) { write(Array(text.utf8)) }

    /// Writes the bytes without escaping. Failures are ignored, because they cannot be reported.
    package static func write(_ bytes: some ContiguousBytes) {
        _ = bytes.withUnsafeBytes { writeAll($0, to: STDERR_FILENO) }
    }
}

/// JSON for people and scripts, with sorted keys.
package enum JSONText {
    package static func of(_ value: some Encodable) throws(CommandError) -> Data {
        do { return try JSONEncoder.stable(.prettyPrinted).encode(value) } catch {
            throw CommandError(.failed, "the result cannot be written as JSON: \(error)", cause: error)
        }
    }
}
