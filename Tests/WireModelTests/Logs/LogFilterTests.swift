import TelemetryBasics
import Testing
import WireModel

@Suite struct LogFilterTests {
    private static let time: Int64 = 1_795_305_088_123_456

    private func matches(
        _ filter: LogFilter, level: LogLevel = .warning, category: String = "app.network",
        message: String = "Connection opened"
    ) -> Bool {
        var text =
            """
            \(Timestamp.text(Self.time)) \(Character(Unicode.Scalar(level.letter))) 5 \(category) \
            \(message)\tpeer=Alpha\n
            """
        return text.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            return LogLine(bytes).map { LogLineMatcher(filter).matches($0, in: bytes) } ?? false
        }
    }

    @Test(arguments: LogLevel.allCases, LogLevel.allCases)
    func `A level shows itself and all that is more severe`(_ shown: LogLevel, _ level: LogLevel) {
        #expect(matches(LogFilter(level: shown), level: level) == (level.rawValue <= shown.rawValue))
    }

    @Test(arguments: [
        (LogFilter(since: time), true), (LogFilter(since: time + 1), false), (LogFilter(until: time), false),
        (LogFilter(until: time + 1), true),
        (LogFilter(since: time + 5, until: time - 5), false),
        (LogFilter(categories: ["app.network"]), true), (LogFilter(categories: ["app"]), false),
        (LogFilter(categories: ["x", "app.*"]), true),
        (LogFilter(categories: ["*"]), true), (LogFilter(text: "connection OPENED"), true),
        (LogFilter(text: "closed"), false),
        (LogFilter(text: "peer=alpha"), true), (LogFilter(text: "app.network conn"), true),
        (LogFilter(text: "2026"), false),
        (LogFilter(categories: ["app.*"], text: "closed"), false),
    ])
    func `All that is given has to agree`(_ filter: LogFilter, _ expected: Bool) {
        #expect(matches(filter) == expected)
    }

    @Test(arguments: [
        ("aaab", "aab", true), ("AaAB", "aab", true), ("aAcaab", "AAB", true), ("aac", "aab", false),
        ("x", "x", true), ("X", "x", true), ("x", "X", true), ("y", "x", false), ("[1]", "[1]", true),
        ("{1}", "[1]", false),
        ("…é", "é", true), ("È", "è", false), ("end", "END", true), ("en", "end", false), ("\u{1}@", "`", false),
    ])
    func `Text is found wherever it is in either case`(_ message: String, _ text: String, _ expected: Bool) {
        #expect(matches(LogFilter(text: text), category: "0", message: message) == expected)
    }

    @Test(
        arguments: [
            (LogFilter(level: .error), [0, 3, 9, 9], false, false),
            (LogFilter(level: .error), [1, 3, 9, 9], true, false),
            (LogFilter(level: .warning), [1, 3, 0, 0], true, true), (LogFilter(), [0, 0, 0, 1], true, true),
            (LogFilter(since: 21), [1, 0, 0, 0], false, false), (LogFilter(since: 20), [1, 0, 0, 0], true, false),
            (LogFilter(since: 10, until: 21), [1, 0, 0, 0], true, true),
            (LogFilter(until: 10), [1, 0, 0, 0], false, false),
            (LogFilter(until: 20), [1, 0, 0, 0], true, false), (LogFilter(text: "x"), [1, 0, 0, 0], true, false),
        ] as [(LogFilter, [UInt64], Bool, Bool)])
    func `A stretch is skipped or accepted whole only where that is certain`(
        _ filter: LogFilter, _ counts: [UInt64], _ may: Bool, _ all: Bool
    ) {
        #expect(filter.mayMatch(times: 10...20, levelCounts: counts) == may)
        #expect(filter.matchesAll(times: 10...20, levelCounts: counts) == all)
    }
}
