import TestKit
import Testing
import WireModel

@testable import Intake

@Suite struct SyslogMessageTests {
    private func message(_ text: String) -> SyslogMessage { Array(text.utf8).withUnsafeBytes { SyslogMessage($0) } }

    @Test func `A message of RFC 5424 has all its parts`() {
        let found = message(
            "<165>1 2026-11-29T22:14:15.003Z mymachine.example su 77 ID47 "
                + #"[exampleSDID@32473 iut="3" eventSource="App\"\]\\ \x"][b c=""] \#u{FEFF}caf\#u{E9}"# + "\n")
        #expect(
            found
                == SyslogMessage(
                    severity: 5, facility: 20, time: "2026-11-29T22:14:15.003Z", host: "mymachine.example",
                    identifier: "su", process: "77", messageID: "ID47",
                    values: [
                        "exampleSDID@32473.iut": "3", "exampleSDID@32473.eventSource": #"App"]\ \x"#, "b.c": "",
                    ], text: "caf\u{E9}"))
        #expect(message("<34>1 - - - - - -") == SyslogMessage(severity: 2, facility: 4))
        #expect(message("<34>1 - - - - - - text").text == "text")
        #expect(message("<34>1 - - - - - [id]").values == [:])
        #expect(message(#"<34>1 - - - - - [id a="1" a="2"] x"#).values == ["id.a": "1, 2"])
    }

    @Test func `A message of RFC 3164 has time, host and tag`() {
        let found = message("<34>Oct 11 22:14:15 mymachine su[77]: 'su root' failed")
        #expect(
            found
                == SyslogMessage(
                    severity: 2, facility: 4, time: "Oct 11 22:14:15", host: "mymachine", identifier: "su",
                    process: "77", text: "'su root' failed"))
        let zoned = message("<13>2026-11-29T22:14:15+01:00 host app: text")
        #expect(zoned.time == "2026-11-29T22:14:15+01:00" && zoned.host == "host" && zoned.text == "text")
    }

    @Test func `What syslog(3) sends has no host`() {
        let found = message("<13>Nov  9 22:14:15 nightly-backup[123]: disk: full")
        #expect(
            found
                == SyslogMessage(
                    severity: 5, facility: 1, time: "Nov  9 22:14:15", identifier: "nightly-backup", process: "123",
                    text: "disk: full"))
        #expect(message("<13>Nov 29 22:14:15 root: text").identifier == "root")
    }

    @Test func `Bare text stays whole, unless it has a tag with a process`() {
        #expect(message("<13>error: disk full") == SyslogMessage(text: "error: disk full"))
        #expect(message("<13>text").text == "text")
        let tagged = message("<11>su[7]: no")
        #expect(tagged.identifier == "su" && tagged.process == "7" && tagged.text == "no")
        // Without a tag behind it, the first word is no host.
        #expect(message("<13>Nov 29 22:14:15 usb 1-1 new").text == "usb 1-1 new")
    }

    @Test(arguments: [
        "no priority", "", "<", "<>x", "<192>x", "<1234>x", "<13", "<-1>x", "<34>1 - - -", "<34>1 - - - - - ",
        "<34>1 - - - - - x",
        #"<34>1 - - - - - [id a="1"#, #"<34>1 - - - - - [id a=1] x"#, #"<34>1 - - - - - [id a="1"]x"#,
        "<34>1  - - - - - x",
    ])
    func `What is not of syslog is kept as it came`(text: String) {
        let found = message(text)
        #expect(!found.isKnown && found.text == text)
        #expect(found.host == nil && found.values.isEmpty && found.time == nil)
        #expect(SyslogPriority.level(found.severity) == (text.hasPrefix("<34>") ? .error : .information))
    }

    @Test func `Values over the limit are counted`() {
        let values = (0..<100).map { " n\($0)=\"v\"" }.joined()
        let found = message("<13>1 - - - - - [id\(values)] text")
        #expect(
            found.values.count == SyslogMessage.maximumValues
                && found.leftOutValues == 100 - SyslogMessage.maximumValues)
        #expect(found.text == "text" && found.isKnown)
    }

    @Test func `Levels follow from severities, and facilities have names`() {
        let levels = (0...7).map { SyslogPriority.level(message("<\($0)>x").severity) }
        #expect(levels == [.error, .error, .error, .error, .warning, .information, .information, .verbose])
        #expect(SyslogPriority.facility(message("<191>x").facility) == "local7")
        #expect(SyslogPriority.facility(4_711) == "4711")
    }

    @Test func `Any bytes are read without harm, and what is not understood stays whole`() {
        var random = SplitMix64(seed: 54)
        let samples = [
            "<165>1 2026-11-29T22:14:15.003Z host su 77 ID47 [id a=\"3\" b=\"\\\"\"][c] text",
            "<34>Oct 11 22:14:15 mymachine su[77]: 'su root' failed", "<13>su[7]: x", "<13>text",
        ].map { Array($0.utf8) }
        for round in 0..<5_000 {
            var bytes = samples.randomElement(using: &random)!
            for _ in 0..<Int.random(in: 1...5, using: &random) where !bytes.isEmpty {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.insert(Array("<>[]\"\\ :=-".utf8).randomElement(using: &random)!, at: index)
                default: bytes.removeSubrange(index..<min(bytes.count, index + 7))
                }
            }
            let found = bytes.withUnsafeBytes { SyslogMessage($0) }
            #expect((0...7).contains(found.severity) && (0...23).contains(found.facility))
            #expect(found.text.utf8.count <= 3 * bytes.count, "round \(round)")
            if !found.isKnown {
                while let last = bytes.last, [0, 10, 13].contains(last) { bytes.removeLast() }
                #expect(found.text == String(decoding: bytes, as: UTF8.self), "round \(round)")
            }
        }
    }
}
