import CommandKit
import DataSampler
import Foundation
import Intake
import Testing
import WireModel

@testable import AgentCommands

/// The setting `intake`.
@Suite struct IntakeSettingTests {
    private static func sources(_ text: String) throws -> [String: IntakeSettings] {
        let given = try ConfigurationFile.parse(Data(text.utf8), path: "agent.json5")
        let layers = SettingLayers<AgentSettings>(
            flags: ["data": "/data", "collector": "http://localhost"], environment: [:], file: given)
        return try AgentSettings(layers, needsCollector: true).configuration.intakes
    }

    @Test func `No file is taken in where none is named`() throws { #expect(try Self.sources("{}").isEmpty) }

    @Test func `A source has what the file says, and defaults`() throws {
        let sources = try Self.sources(
            """
            {intake: {
              nginx: {files: '/var/log/nginx/*.log'},
              'shop.app': {files: ['/a/*.log', '/b,c.log'], start: '2026-11-29', level: 'warning',
                eventStart: '\\\\d{4}-', bytes: 1000000, days: 1, linesPerSecond: 5, burst: 7},
              all: {files: ['/a'], start: 'all'},
            }}
            """)
        var nginx = IntakeSettings()
        nginx.files = ["/var/log/nginx/*.log"]
        #expect(sources["nginx"] == nginx && nginx.start == .now)
        var shop = IntakeSettings()
        shop.files = ["/a/*.log", "/b,c.log"]
        shop.start = .since(1_795_910_400_000_000)
        shop.level = .warning
        shop.eventStart = "\\d{4}-"
        (shop.bytes, shop.days, shop.linesPerSecond, shop.burst) = (1_000_000, 1, 5, 7)
        #expect(sources["shop.app"] == shop)
        #expect(sources["all"]?.start == .all && sources.count == 3)
    }

    @Test func `OTLP is switched on by one word, and off without it`() throws {
        let sources = try Self.sources(
            """
            {intake: {
              otlp: {otlp: true},
              shop: {otlp: true, port: 0, socket: '/run/otlp', group: 'shop', bodyBytes: 65536, bytesPerDay: 1000000},
              syslog: {socket: '/run/syslog'},
            }}
            """)
        var usual = IntakeSettings()
        usual.otlp = true
        #expect(sources["otlp"] == usual && usual.port == 4318 && usual.bodyBytes == 4_194_304)
        var shop = usual
        (shop.port, shop.socket, shop.group) = (0, "/run/otlp", "shop")
        (shop.bodyBytes, shop.bytesPerDay) = (65_536, 1_000_000)
        #expect(sources["shop"] == shop)
        #expect(sources["syslog"]?.otlp == false)
    }

    @Test func `The journal is switched on by one word, and filtered by more`() throws {
        let sources = try Self.sources(
            """
            {intake: {
              system: {journal: true},
              web: {journal: true, units: ['nginx.service'], identifiers: 'nginx', priority: 4, namespace: 'web'},
            }}
            """)
        var system = IntakeSettings()
        system.journal = true
        #expect(sources["system"] == system)
        var web = system
        web.units = ["nginx.service"]
        web.identifiers = ["nginx"]
        web.priority = 4
        web.namespace = "web"
        #expect(sources["web"] == web)
    }

    @Test func `The kernel's ring is switched on by one word, and syslog by its addresses`() throws {
        let sources = try Self.sources(
            """
            {intake: {
              kernel: {kernel: true, priority: 4, start: 'all'},
              syslog: {socket: '/run/ws1agent/syslog', udp: '127.0.0.1:5514', tcp: '0.0.0.0:5514', allowRemote: true},
            }}
            """)
        var kernel = IntakeSettings()
        (kernel.kernel, kernel.priority, kernel.start) = (true, 4, .all)
        #expect(sources["kernel"] == kernel)
        var syslog = IntakeSettings()
        (syslog.socket, syslog.udp, syslog.tcp) = ("/run/ws1agent/syslog", "127.0.0.1:5514", "0.0.0.0:5514")
        syslog.allowRemote = true
        #expect(sources["syslog"] == syslog)
    }

    @Test(arguments: [
        ("{web: {journal: true, files: ['/a']}}", "files and journal: make a source of each"),
        ("{web: {files: ['/a'], priority: 3}}", "intake.web.priority is not for a source of files, but of journal"),
        ("{web: {journal: true, level: 'error'}}", "intake.web.level is not for a source of journal, but of files"),
        ("{web: {}}", "intake.web.files is missing"),
        ("{web: {kernel: true, units: ['a.service']}}", "intake.web.units is not for a source of kernel"),
        ("{web: {udp: '0.0.0.0:514'}}", "allowRemote"),
        ("{web: {tcp: 'host:514'}}", "an address and a port"),
        ("{web: {otlp: true, port: 0}}", "intake.web.port is 0 and there is no socket"),
        ("{web: {otlp: true, group: 'shop'}}", "intake.web.group is for a socket"),
        ("{web: {otlp: true, udp: '127.0.0.1:514'}}", "syslog and otlp: make a source of each"),
        ("{web: {otlp: true, linesPerSecond: 5}}", "intake.web.linesPerSecond is not for a source of otlp"),
        ("{web: {otlp: true, level: 'warning'}}", "intake.web.level is not for a source of otlp"),
        ("{web: {journal: true, port: 1}}", "intake.web.port is not for a source of journal, but of otlp"),
        ("{web: {otlp: true, socket: 'otlp'}}", "must be an absolute path"),
        ("{web: {otlp: true, bodyBytes: 1}}", "65536"),
        ("{web: {otlp: true, bytesPerDay: 1}}", "1000000 or more"),
        ("{web: {files: ['a.log']}}", "it must be an absolute path"),
        ("{web: {files: ['/data/logs/x']}}", "data directory"),
        ("{web: {files: ['/a'], start: 'soon'}}", "now, all, or a date"),
        ("{web: {files: ['/a'], level: 'loud'}}", "error, warning, information, verbose"),
        ("{web: {files: ['/a'], eventStart: '('}}", "intake.web.eventStart"),
        ("{web: {files: ['/a'], bytes: 5}}", "1000000 or more"),
        ("{web: {files: ['/a'], file: 1}}", "file"),
        ("{'we b': {files: ['/a']}}", "intake.we b"),
    ])
    func `What cannot be is refused, and the message names it`(source: String, words: String) {
        let error = #expect(throws: CommandError.self) { try Self.sources("{intake: \(source)}") }
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }
}
