import CommandKit
import DataSampler
import Foundation
import Testing

@testable import AgentCommands

/// The setting `metricSources`.
@Suite struct MetricSourceSettingTests {
    private static func sources(_ text: String) throws -> [String: MetricSourceSettings] {
        let given = try ConfigurationFile.parse(Data(text.utf8), path: "agent.json5")
        let layers = SettingLayers<AgentSettings>(
            flags: ["data": "/data", "collector": "http://localhost"], environment: [:], file: given)
        return try AgentSettings(layers, needsCollector: true).configuration.metricSources
    }

    @Test func `No program is run or asked where none is named`() throws { #expect(try Self.sources("{}").isEmpty) }

    @Test func `A source has what the file says, and defaults`() throws {
        let sources = try Self.sources(
            """
            {metricSources: {
              'local.mail': {exec: '/usr/bin/mail-queue', arguments: ['-a', 'b,c'], timeout: 2.5, series: 7},
              'local.apps': {statsd: '127.0.0.1:8125'},
              'local.lan': {statsd: '0.0.0.0:8125', fromOtherMachines: true},
              'local.node': {prometheus: 'http://127.0.0.1:9100/metrics'},
            }}
            """)
        var mail = MetricSourceSettings()
        mail.exec = "/usr/bin/mail-queue"
        mail.arguments = ["-a", "b,c"]
        (mail.timeout, mail.series) = (2.5, 7)
        #expect(sources["local.mail"] == mail)
        var apps = MetricSourceSettings()
        apps.statsd = "127.0.0.1:8125"
        #expect(sources["local.apps"] == apps && apps.timeout == 10 && apps.series == 1_000)
        var node = MetricSourceSettings()
        node.prometheus = "http://127.0.0.1:9100/metrics"
        #expect(sources["local.node"] == node && sources["local.lan"]?.fromOtherMachines == true && sources.count == 4)
    }

    @Test(arguments: [
        ("{'l.a': {}}", "one of exec, statsd and prometheus"),
        ("{'l.a': {exec: '/a', statsd: '/b'}}", "one of exec, statsd and prometheus"),
        ("{'l.a': {exec: 'a'}}", "metricSources.l.a.exec is 'a': it must be the absolute path"),
        ("{'l.a': {statsd: '/a', arguments: ['x']}}", "has arguments and no exec"),
        ("{'l.a': {exec: '/a', fromOtherMachines: true}}", "has fromOtherMachines and no statsd"),
        ("{'l.a': {statsd: '0.0.0.0:8125'}}", "metricSources.l.a.statsd: others than this machine"),
        ("{'l.a': {prometheus: 'http://192.0.2.1/metrics'}}", "metricSources.l.a.prometheus: it must be http://"),
        ("{'l.a': {exec: '/a', timeout: 26}}", "0.1 to 25 seconds"),
        ("{'l.a': {exec: '/a', series: 0}}", "1 to 10000"),
        ("{'l.a': {exec: '/a', program: '/b'}}", "program"),
        ("{system: {exec: '/a'}}", "'system' is the name of a built-in module"),
        ("{'a b': {exec: '/a'}}", "metricSources.a b"),
        ("{mail: {exec: '/a'}}", "must have a dot, such as local.mail"),
    ])
    func `What cannot be is refused, and the message names it`(source: String, words: String) {
        let error = #expect(throws: CommandError.self) { try Self.sources("{metricSources: \(source)}") }
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }
}
