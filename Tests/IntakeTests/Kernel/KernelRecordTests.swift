import TestKit
import Testing

@testable import Intake

@Suite struct KernelRecordTests {
    private func record(_ text: String) -> KernelRecord? { Array(text.utf8).withUnsafeBytes { KernelRecord($0) } }

    @Test func `A record has its priority, number, time, text and fields`() {
        let found = record(
            "4,1234,98765432,-,caller=T1;usb 1-1: new device; of \\xc3\\xa9\\x0a\n SUBSYSTEM=usb\n DEVICE=c189:0\n")
        #expect(
            found
                == KernelRecord(
                    severity: 4, facility: 0, sequence: 1234, microseconds: 98_765_432,
                    text: "usb 1-1: new device; of \u{E9}\n", fields: ["SUBSYSTEM": "usb", "DEVICE": "c189:0"]))
        let user = record("13,349,72090713321,-;test\n")
        #expect(user?.facility == 1 && user?.severity == 5 && user?.text == "test" && user?.fields == [:])
    }

    @Test(arguments: [
        "", "\n", ";", "6,1,2,-", "6,1;x", "a,1,2,-;x", "6,,2,-;x", "6,-1,2,-;x", "99999999999,1,2,-;x",
        "6,1,18446744073709551615,-;x", "6,18446744073709551616,1,-;x",
    ])
    func `What is not of the format is no record`(text: String) { #expect(record(text) == nil) }

    @Test func `What only looks like an escape stays`() {
        #expect(record("6,1,2,-;a\\x4 \\xzz \\ \\x41\\x")?.text == "a\\x4 \\xzz \\ A\\x")
    }

    @Test func `Any bytes are read without harm`() {
        var random = SplitMix64(seed: 16)
        let sample = Array("6,123,456,-,caller=T1;text \\x41\\xff\n SUBSYSTEM=pci\n DEVICE=+pci:1\n".utf8)
        for round in 0..<5_000 {
            var bytes = sample
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.insert([10, 44, 59, 92, 61, 32].randomElement(using: &random)!, at: index)
                default: bytes.removeSubrange(index..<min(bytes.count, index + 9))
                }
                if bytes.isEmpty { break }
            }
            let found = bytes.withUnsafeBytes { KernelRecord($0) }
            guard let found else { continue }
            // Each byte is shown once, and one that is no UTF-8 as three.
            let shown = found.text.utf8.count + found.fields.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
            #expect(shown <= 3 * bytes.count, "round \(round)")
            #expect((0...7).contains(found.severity) && found.facility >= 0 && found.microseconds >= 0)
        }
    }
}
