import CommandKit
import Foundation
import Testing

@testable import AgentCommands

/// What people write into the agent's file, and their editors around it.
@Suite struct ConfigurationFileTests {
    private func refusal(_ text: String) -> String {
        let error = #expect(throws: CommandError.self) {
            let file = try ConfigurationFile.parse(Data(text.utf8), path: "agent.json5")
            _ = try SettingLayers<AgentSettings>(flags: [:], environment: [:], file: file).read()
        }
        #expect(error?.code == .usage)
        return error?.message ?? ""
    }

    @Test func `All mistakes are told at once, each with its line`() {
        let refusal = refusal(
            """
            {
              colector: 'https://host', // a slip
              sampleInterval: 0,
              logRetention: {
                bytes: 5, /* too
                few */ dys: 3,
              },
              moduleIntervals: { system: { sampleInterval: 5 }, wlan2: { sampleInterval: 'often' } },
            }
            """)
        let lines = refusal.split(separator: "\n")
        #expect(lines.count == 5, "\(refusal)")
        for (place, line) in [
            ("'colector'", 2), ("sampleInterval in", 3), ("bytes of logRetention", 5), ("dys of logRetention", 6),
            ("wlan2.sampleInterval of moduleIntervals", 8),
        ] {
            #expect(lines.contains { $0.contains(place) && $0.contains("(line \(line))") }, "\(place) \(refusal)")
        }
    }

    @Test func `A value of no known form is refused with its line`() {
        #expect(refusal("{\n modules: ['system', 1]\n}").contains("modules (line 2): expected text"))
        #expect(refusal("{\n collector: null\n}").contains("collector (line 2)"))
    }

    @Test(arguments: [
        ("{ sampleInterval: 5, sampleInterval: 7 }", "sampleInterval", 1),
        ("{ sampleInterval: 5,\n'sampleInterval': 5 }", "sampleInterval", 2),
        ("{ privacy: { ssid: 'drop' }, /* mac: */ \r\n\r\n \"privacy\": { mac: 'hash' } }", "privacy", 3),
        ("{ // {\n privacy: { mac: 'drop', mac: 'send' } }", "privacy.mac", 2),
        ("{ privacy: { 'm\\u0061c': 'drop', \"mac\": 'send' } }", "privacy.mac", 1),
        ("{ modules: ['system', 'a,b:c'], privacy: {}, modules: [] }", "modules", 1),
        ("{ collector: 'https://host/\\'{', collector:'' }", "collector", 1),
    ]) func `A key that is given twice is refused, with its line`(text: String, key: String, line: Int) {
        let refusal = refusal(text)
        #expect(refusal.contains("(line \(line)): '\(key)' is given twice"), "\(refusal)")
    }

    @Test func `The same key in two objects, and words that look like keys, are taken`() throws {
        let text = """
            { // sampleInterval: 1, sampleInterval: 2
              moduleIntervals: { system: { sampleInterval: 5 } }, privacy: { mac: 'drop', ssid: "mac: 'drop', mac: 1" },
              /* modules: [], * / modules: [] **/ modules: ['system', 'system'], /*/ modules: 1 /*/
              collector: 'http://localhost:1', sampleInterval: +5., }
            """
        let file = try ConfigurationFile.parse(Data(text.utf8), path: "agent.json5")
        #expect(file.values.count == 5 && file.values["collector"] == .text("http://localhost:1"))
        #expect(file.mistakes.isEmpty)
    }

    @Test func `A file of another system's editor is read like any other`() throws {
        let text = "{ // made elsewhere\r\n  sampleInterval: 5,\r\n  collector: 'http://localhost:1' }\r\n"
        let units = Data("\u{FEFF}\(text)".utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] })
        for bytes in [Data(text.utf8), Data("\u{FEFF}\(text)".utf8), units] {
            #expect(try ConfigurationFile.parse(bytes, path: "agent.json5").values.count == 2)
        }
    }
}
