import TelemetryBasics
import TestKit
import WireModel

/// Lines as a log store has them (Schemas/logs/FORMAT.md), made up from a seed: for tests of what reads them.
package struct SampleLog: Sendable {
    /// A line that is still to get its number.
    package struct Line: Sendable {
        package var time: Int64
        package var level: LogLevel
        package var category: String
        package var message: String
        package var metadata: String

        package init(time: Int64, level: LogLevel, category: String = "-", message: String, metadata: String = "") {
            self.time = time
            self.level = level
            self.category = category
            self.message = message
            self.metadata = metadata
        }

        /// The line as on disk, with its end.
        package func text(_ number: LogNumber) -> [UInt8] {
            Array(
                """
                \(Timestamp.text(time)) \(Character(UnicodeScalar(level.letter))) \(number.value) \(category) \
                \(message)\(metadata.isEmpty ? "" : "\t")\(metadata)\n
                """
                .utf8)
        }

        /// A line of exactly that many bytes with its end.
        package static func filling(_ bytes: Int, time: Int64, level: LogLevel, number: LogNumber) -> Line {
            var line = Line(time: time, level: level, message: "")
            line.message = String(repeating: "x", count: max(0, bytes - line.text(number).count))
            return line
        }
    }

    /// 2026-11-21T00:00:00Z.
    package static let start: Int64 = 1_795_219_200_000_000

    private var generator: SplitMix64
    package var time: Int64

    package init(seed: UInt64, time: Int64 = SampleLog.start) {
        generator = SplitMix64(seed: seed)
        self.time = time
    }

    /// An ordinary line, some milliseconds after the one before; about 130 bytes.
    package mutating func line(level given: LogLevel? = nil) -> Line {
        time += Int64.random(in: 0...20_000, using: &generator)
        let level =
            given ?? [.error, .warning, .information, .information, .information, .verbose, .verbose].randomElement(
                using: &generator)!
        let category = ["app.network", "app.storage", "app.ui", "sync", "-"].randomElement(using: &generator)!
        let message = [
            "connection opened", "request answered with status 200", "write took longer than expected", "cache hit",
            "Größe geändert: 12 µm",
            "state changed from idle to running, nothing else to do", "a\\nline in two",
        ].randomElement(using: &generator)!
        let metadata =
            "attempt=\(Int.random(in: 1...9, using: &generator)) id=\(String(generator.next(), radix: 16)) session=5c1f"
        return Line(
            time: time, level: level, category: category, message: message,
            metadata: generator.chance(0.8) ? metadata : "")
    }

    /// Lines of a segment, numbered from 1 in it, of at most `bytes`.
    package mutating func segment(_ ordinal: UInt64, bytes: Int) -> [UInt8] {
        var text: [UInt8] = []
        var position: UInt64 = 1
        while case let next = line().text(LogNumber(segment: ordinal, position: position)),
            text.count + next.count <= bytes
        {
            text += next
            position += 1
        }
        return text
    }
}
