import CommandKit
import DataSampler
import Foundation
import Testing

@testable import AgentCommands

/// The setting `metricSources`.
@Suite struct MetricSourceSettingTests {
    private static func sources(_ text: String) throws -> [String: MetricSourceSettings] {
        let values = try ConfigurationFile.parse(Data(text.utf8), path: "agent.json5")
        let layers = SettingLayers<AgentSettings>(
            flags: ["data": "/data", "collector": "http://localhost"], environment: [:], file: (values, "agent.json5"))
        return try AgentSettings(layers, needsCollector: true).configuration.metricSources
    }

    @Test func `No program is run or asked where none is named`() throws { #expect(try Self.sources("{}").isEmpty) }

    @Test func `A source has what the file says, and defaults`() throws {
        let sources = try Self.sources(
            """
            {metricSources: {
              mail: {exec: '/usr/bin/mail-queue', arguments: ['-a', 'b,c'], timeout: 2.5, interval: 30, series: 7},
              apps: {statsd: '127.0.0.1:8125'},
              lan: {statsd: '0.0.0.0:8125', fromOtherMachines: true},
              node: {prometheus: 'http://127.0.0.1:9100/metrics'},
            }}
            """)
        var mail = MetricSourceSettings()
        mail.exec = "/usr/bin/mail-queue"
        mail.arguments = ["-a", "b,c"]
        (mail.timeout, mail.interval, mail.series) = (2.5, 30, 7)
        #expect(sources["mail"] == mail)
        var apps = MetricSourceSettings()
        apps.statsd = "127.0.0.1:8125"
        #expect(sources["apps"] == apps && apps.timeout == 10 && apps.interval == nil && apps.series == 1_000)
        var node = MetricSourceSettings()
        node.prometheus = "http://127.0.0.1:9100/metrics"
        #expect(sources["node"] == node && sources["lan"]?.fromOtherMachines == true && sources.count == 4)
    }

    @Test(arguments: [
        ("{a: {}}", "one of exec, statsd and prometheus"),
        ("{a: {exec: '/a', statsd: '/b'}}", "one of exec, statsd and prometheus"),
        ("{a: {exec: 'a'}}", "metricSources.a.exec is 'a': it must be the absolute path"),
        ("{a: {statsd: '/a', arguments: ['x']}}", "has arguments and no exec"),
        ("{a: {exec: '/a', fromOtherMachines: true}}", "has fromOtherMachines and no statsd"),
        ("{a: {statsd: '0.0.0.0:8125'}}", "metricSources.a.statsd: others than this machine"),
        ("{a: {prometheus: 'http://192.0.2.1/metrics'}}", "metricSources.a.prometheus: it must be http://"),
        ("{a: {exec: '/a', timeout: 26}}", "0.1 to 25 seconds"),
        ("{a: {exec: '/a', interval: 0}}", "1 to 86400 seconds"),
        ("{a: {exec: '/a', series: 0}}", "1 to 10000"),
        ("{a: {exec: '/a', program: '/b'}}", "program"),
        ("{system: {exec: '/a'}}", "'system' is the name of a built-in module"),
        ("{'a b': {exec: '/a'}}", "metricSources.a b"),
    ])
    func `What cannot be is refused, and the message names it`(source: String, words: String) {
        let error = #expect(throws: CommandError.self) { try Self.sources("{metricSources: \(source)}") }
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }
}
