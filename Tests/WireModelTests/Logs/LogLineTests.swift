import TelemetryBasics
import Testing
import WireModel

@Suite struct LogLineTests {
    private static let text =
        "2026-11-21T23:51:28.123456Z I 5000042 app.network connection opened\thost=collector.example attempt=2\n"

    private func read(_ text: String) -> LogLine? {
        var text = text
        return text.withUTF8 { LogLine(UnsafeRawBufferPointer($0)) }
    }

    private func part(_ range: Range<Int>, of text: String) -> String {
        String(decoding: Array(text.utf8)[range], as: UTF8.self)
    }

    @Test(arguments: [true, false])
    func `A line is split into its fields`(_ hasEnd: Bool) throws {
        let line = try #require(read(hasEnd ? Self.text : String(Self.text.dropLast())))
        #expect(line.level == .information)
        #expect(line.number == LogNumber(segment: 5, position: 42))
        #expect(Timestamp.text(line.time) == "2026-11-21T23:51:28.123456Z")
        #expect(part(line.category, of: Self.text) == "app.network")
        #expect(part(line.message, of: Self.text) == "connection opened")
        #expect(part(line.metadata, of: Self.text) == "host=collector.example attempt=2")
    }

    @Test func `Message and metadata may be empty`() throws {
        let line = try #require(read("2026-11-21T23:51:28.123456Z E 1000001 - \n"))
        #expect(line.message.isEmpty)
        #expect(line.metadata.isEmpty)
    }

    @Test func `A line cut anywhere before its message is none`() {
        let message = Self.text.utf8.count - "connection opened\thost=collector.example attempt=2\n".utf8.count
        for count in 0..<message { #expect(read(String(Self.text.prefix(count))) == nil, "\(count) bytes") }
    }

    @Test(arguments: [
        "2026-11-21T23:51:28.123456Z X 5000042 app m", "2026-11-21T23:51:28.123456Z I 50000a2 app m",
        "2026-11-21 23:51:28.123456Z I 5 app m",
        "2026-02-30T23:51:28.123456Z I 5 app m", "2026-13-01T23:51:28.123456Z I 5 app m",
        "2026-11-21T24:51:28.123456Z I 5 app m",
        "2026-11-21T23:51:60.123456Z I 5 app m", "2026-11-21T23:51:28.123456Z I  app m",
        "2026-11-21T23:51:28.123456Z I 5  m",
        "2026-11-21T23:51:28.123456Z I 12345678901234567890 app m",
    ])
    func `What is not of the form is none`(_ text: String) {
        #expect(read(text) == nil)
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000000Z"), (951_782_400_000_001, "2000-02-29T00:00:00.000001Z"),
            (4_107_542_399_999_999, "2100-02-28T23:59:59.999999Z"),
            (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
        ] as [(Int64, String)])
    func `Times are written and read back`(_ microseconds: Int64, _ text: String) {
        #expect(Timestamp.text(microseconds) == text)
        #expect(read("\(text) V 7 c m")?.time == microseconds)
    }

    @Test func `Every day of four centuries is read back`() {
        for day: Int64 in 0..<146_097 {
            let time = day * 86_400_000_000
            #expect(read("\(Timestamp.text(time)) V 7 c m")?.time == time)
        }
    }
}
