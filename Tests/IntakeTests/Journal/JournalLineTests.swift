import LogStore
import Testing
import WireModel

@testable import Intake

@Suite struct JournalLineTests {
    private func entry(_ fields: [(String, String)]) -> JournalExportParser.Entry {
        JournalExportParser.Entry(
            fields: fields.map { JournalExportParser.Field(name: $0.0, value: Array($0.1.utf8)) })
    }

    private func line(
        _ fields: [(String, String)], _ change: (inout JournalIntake.Filter) -> Void = { _ in }
    ) -> LogEntry? {
        var filter = JournalIntake.Filter()
        change(&filter)
        return JournalLine(filter, fields: ["_BOOT_ID"]).line(of: entry(fields))
    }

    @Test func `Levels follow from priorities`() {
        let levels = (0...7).map { line([("MESSAGE", "m"), ("PRIORITY", "\($0)")])?.level }
        #expect(levels == [.error, .error, .error, .error, .warning, .information, .information, .verbose])
        #expect(line([("MESSAGE", "m")])?.level == .information)
        #expect(line([("MESSAGE", "m"), ("PRIORITY", "x")])?.level == .information)
    }

    @Test func `Who wrote the line and the chosen fields are metadata`() {
        let found = line([
            ("MESSAGE", "hello"), ("_COMM", "comm"), ("SYSLOG_IDENTIFIER", "shop"), ("_PID", "7"),
            ("_SYSTEMD_UNIT", "shop.service"), ("_BOOT_ID", "b1"), ("OTHER", "x"),
        ])
        #expect(found?.message == "hello")
        #expect(
            found?.metadata == ["identifier": "shop", "pid": "7", "unit": "shop.service", "_BOOT_ID": "b1"])
    }

    @Test func `Filters take units, identifiers and priorities, and leave out the agent`() {
        let fields = [("MESSAGE", "m"), ("SYSLOG_IDENTIFIER", "a"), ("_SYSTEMD_UNIT", "u.service"), ("PRIORITY", "5")]
        #expect(line(fields) { $0.units = ["u.service"] } != nil)
        #expect(line(fields) { $0.units = ["v.service"] } == nil)
        #expect(line(fields) { $0.identifiers = ["a"] } != nil)
        #expect(line(fields) { $0.identifiers = ["b"] } == nil)
        #expect(line(fields) { $0.priority = 5 } != nil)
        #expect(line(fields) { $0.priority = 4 } == nil)
        #expect(line(fields) { $0.excludedUnit = "u.service" } == nil)
        // Any program may claim an identifier, so it hides nobody.
        #expect(line([("MESSAGE", "m"), ("SYSLOG_IDENTIFIER", "u.service")]) { $0.excludedUnit = "u.service" } != nil)
    }

    @Test func `Bytes that are no UTF-8 and cut values are shown as such`() {
        let entry = JournalExportParser.Entry(fields: [
            JournalExportParser.Field(name: "MESSAGE", value: [0x61, 0xFF, 0x62], leftOutBytes: 9)
        ])
        let found = JournalLine(JournalIntake.Filter(), fields: []).line(of: entry)
        #expect(found?.message == "a\u{FFFD}b…[+9]")
    }

    @Test func `A time that no clock has is not taken`() {
        #expect(JournalLine.time(of: entry([("__REALTIME_TIMESTAMP", "1795305088000000")])) == 1_795_305_088_000_000)
        for text in ["-1", "x", "", "9223372036854775807"] {
            #expect(JournalLine.time(of: entry([("__REALTIME_TIMESTAMP", text)])) == nil)
        }
    }
}
