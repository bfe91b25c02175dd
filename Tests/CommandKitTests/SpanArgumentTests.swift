import CommandKit
import Testing

@Suite struct SpanArgumentTests {
    @Test func `A length of time that is too long names its flag and the longest`() throws {
        #expect(try SpanArgument(seconds: 7 * 86_400).seconds(of: "--expires", atMostDays: 7) == 604_800)
        let error = #expect(throws: CommandError.self) {
            try SpanArgument(seconds: 7 * 86_400 + 1).seconds(of: "--expires", atMostDays: 7)
        }
        #expect(error?.code == .usage && error?.message == "--expires is 604801s; expected at most 7d.")
    }

    @Test(
        arguments: [
            ("90s", 90), ("15m", 900), ("2h", 7200), ("3d", 259_200), ("1w", 604_800), ("0s", nil), ("+2h", nil),
            ("-2h", nil), ("2", nil), ("99999999999999999d", nil), ("2026-11-21", nil), ("x", nil), ("", nil),
        ] as [(String, Int64?)])
    func `Spans are read`(_ text: String, _ seconds: Int64?) {
        #expect(SpanArgument(argument: text)?.seconds == seconds)
    }

    @Test func `A default is shown as it can be given`() {
        for seconds: Int64 in [30, 86_400, 2_592_000] {
            let span = SpanArgument(seconds: seconds)
            #expect(SpanArgument(argument: span.defaultValueDescription) == span)
        }
    }
}
