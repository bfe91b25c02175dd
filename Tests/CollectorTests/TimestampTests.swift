import Foundation
import Testing

@testable import Collector

@Suite("Times in RFC 3339")
struct TimestampTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000000Z"), (-1, "1969-12-31T23:59:59.999999Z"),
        (951_782_400_000_001, "2000-02-29T00:00:00.000001Z"),
        (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
        (-62_167_219_200_000_000, "0000-01-01T00:00:00.000000Z"),
    ])
    func aTimeReadsBackAsItWasWritten(time: Int64, text: String) {
        #expect(Timestamp.text(time) == text)
        #expect(Timestamp.parse(text) == time)
    }

    @Test func itAgreesWithFoundationOverTheYears() throws {
        let formatter = ISO8601DateFormatter()
        for day in stride(from: Int64(-20_000), to: 40_000, by: 17) {
            let seconds = day * 86_400 + 45_296
            let expected = formatter.string(from: Date(timeIntervalSince1970: Double(seconds))).replacing(
                "Z", with: ".000000Z")
            #expect(Timestamp.text(seconds * 1_000_000) == expected)
        }
    }

    @Test func offsetsFractionsAndDatesAreUnderstood() {
        #expect(Timestamp.parse("1970-01-01T01:00:00+01:00") == 0)
        #expect(Timestamp.parse("1970-01-01T00:00:00.5Z") == 500_000)
        #expect(Timestamp.parse("1970-01-01T00:00:00.1234569Z") == 123_456)
        #expect(Timestamp.parse("1970-01-02") == 86_400_000_000)
    }

    @Test(arguments: [
        "", "now", "1970-13-01", "1970-02-29", "1970-01-01T24:00:00Z", "1970-01-01T00:00:00", "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00Zx",
    ])
    func whatIsNoTimeIsNone(text: String) {
        #expect(Timestamp.parse(text) == nil)
    }

    @Test func timesOutOfRangeAreShownAsTheNearest() {
        #expect(Timestamp.text(.max) == "9999-12-31T23:59:59.999999Z")
        #expect(Timestamp.text(.min) == "0000-01-01T00:00:00.000000Z")
    }
}
