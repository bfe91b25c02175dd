import Foundation
import Testing

import TelemetryBasics

@Suite("Times in RFC 3339")
struct TimestampTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000000Z"), (-1, "1969-12-31T23:59:59.999999Z"),
        (951_782_400_000_001, "2000-02-29T00:00:00.000001Z"), (4_107_542_399_999_999, "2100-02-28T23:59:59.999999Z"),
        (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
        (-62_167_219_200_000_000, "0000-01-01T00:00:00.000000Z"),
    ])
    func `A time reads back as it was written`(time: Int64, text: String) {
        #expect(Timestamp.text(time) == text)
        #expect(Timestamp.parse(text) == time)
        #expect(Array(text.utf8).withUnsafeBytes { Timestamp.microseconds($0) } == time)
    }

    @Test func `It agrees with Foundation over the years`() throws {
        let formatter = ISO8601DateFormatter()
        for day in stride(from: Int64(-20_000), to: 40_000, by: 17) {
            let seconds = day * 86_400 + 45_296
            let expected = formatter.string(from: Date(timeIntervalSince1970: Double(seconds))).replacing(
                "Z", with: ".000000Z")
            #expect(Timestamp.text(seconds * 1_000_000) == expected)
        }
    }

    @Test func `Every day of two eras reads back`() {
        for day: Int64 in -146_097..<146_097 {
            let date = CivilDate(daysSince1970: day)
            #expect(date.daysSince1970 == day)
            #expect(CivilDate(year: date.year, month: date.month, day: date.day) == date)
        }
    }

    @Test func `Offsets, fractions and days are understood`() {
        #expect(Timestamp.parse("1970-01-01T01:00:00+01:00") == 0)
        #expect(Timestamp.parse("1970-01-01T00:00:00.5Z") == 500_000)
        #expect(Timestamp.parse("1970-01-01T00:00:00.1234569999999Z") == 123_456)
        #expect(Timestamp.parse("1970-01-01t00:00:01z") == 1_000_000)
        #expect(Timestamp.parse("1970-01-02") == 86_400_000_000)
        let moment = Timestamp.moment("1970-01-01T00:00:01.1234567894Z", [])
        #expect(moment?.seconds == 1 && moment?.nanoseconds == 123_456_789)
    }

    @Test(
        arguments: [
            ("2026-01-31", .day), ("2026-01-31 12:00:00Z", .looseSeparators),
            ("2026-01-31t12:00:00Z", .looseSeparators),
            ("2026-01-31T12:00:00z", .looseSeparators), ("2026-01-31T12:00:00.5", .withoutZone),
            ("2026-01-31T12:00:00-0130", .compactOffset),
        ] as [(String, Timestamp.Forms)])
    func `A form is read where the caller allows it, and only there`(text: String, form: Timestamp.Forms) {
        #expect(Timestamp.parse(text, form) != nil)
        #expect(Timestamp.parse(text, []) == nil)
    }

    @Test(arguments: [
        "", "now", "1970-13-01", "1970-02-29", "1900-02-29", "1970-01-00", "1970-01-01T24:00:00Z",
        "1970-01-01T00:00:60Z", "1970-01-01T00:00:00", "1970-01-01T00:00:00.Z", "1970-01-01T00:00:00Zx",
        "1970-01-01T00:00:00+24:00", "1970-01-01T00:00:00+1:00", "1970-1-1T0:0:0Z", "+970-01-01", "1970-01-01T00:00Z",
        "١٩٧٠-01-01",
    ])
    func `What is no time is none`(text: String) {
        #expect(Timestamp.parse(text) == nil)
        #expect(Timestamp.parse(text, [.day, .looseSeparators, .compactOffset]) == nil)
    }

    @Test func `Times out of range are shown as the nearest`() {
        #expect(Timestamp.text(.max) == "9999-12-31T23:59:59.999999Z")
        #expect(Timestamp.text(.min) == "0000-01-01T00:00:00.000000Z")
    }

    @Test(
        arguments: [
            (1.5, 1_500_000), (-1, -1_000_000), (.nan, 0), (.infinity, 253_402_300_799_000_000),
            (-.infinity, Timestamp.range.lowerBound), (1.7e15, 253_402_300_799_000_000),
        ] as [(Double, Int64)])
    func `Any number of seconds is a time in range`(seconds: Double, microseconds: Int64) {
        #expect(Timestamp.microseconds(ofSeconds: seconds) == microseconds)
    }

    @Test func `The fixed form is refused at every byte that is changed to another form`() {
        let text = Array("2026-11-21T23:51:28.123456Z".utf8)
        for place in text.indices {
            var changed = text
            changed[place] = UInt8(ascii: " ")
            #expect(changed.withUnsafeBytes { Timestamp.microseconds($0) } == nil)
            #expect(text[..<place].withUnsafeBytes { Timestamp.microseconds($0) } == nil)
        }
    }
}
