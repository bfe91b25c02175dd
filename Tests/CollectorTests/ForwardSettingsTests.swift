import Foundation
import HTTPConnection
import TestKit
import Testing
import WireModel

@testable import CollectorCommands
@testable import CommandKit
@testable import Forwarding

@Suite("Settings of forwarding")
struct ForwardSettingsTests {
    private static func settings(_ yaml: String, _ flags: [String: String] = [:]) throws(CommandError) -> Settings {
        try Settings(
            SettingLayers(
                flags: flags.merging(["data": "/d"]) { $1 }, environment: [:],
                file: try ConfigurationFile.parse(yaml, path: "c.yaml")))
    }

    private static func refusal(_ yaml: String, _ flags: [String: String] = [:]) -> String {
        do throws(CommandError) {
            _ = try settings(yaml, flags)
            return ""
        } catch { return error.message }
    }

    @Test func `Each endpoint has settings of its own`() throws {
        let directory = try TemporaryDirectory()
        let headers = directory.path + "/headers"
        try Data("Authorization: Bearer x\n".utf8).write(to: URL(fileURLWithPath: headers))
        let settings = try Self.settings(
            """
            log-level: error
            forward:
              backend:
                url: https://otlp.example:4318/base/
                headers: \(headers)
                kinds: [samples, events]
                organizations: [shop, west]
                metrics: [system.*, ws1.network.io]
                test: true
                backlog: yes
                own: 60
              b2:
                url: http://127.0.0.1:4318
            """)
        let backend = try #require(settings.forward["backend"])
        #expect(backend.url?.description == "https://otlp.example:4318/base" && backend.headerFile == headers)
        #expect(backend.kinds == [.samples, .events] && backend.organizations == ["shop", "west"])
        #expect(backend.metrics == ["system.*", "ws1.network.io"])
        #expect(backend.withTest && backend.withBacklog && backend.ownMetricsSeconds == 60)
        var other = ForwardEndpoint()
        other.url = settings.forward["b2"]?.url
        #expect(settings.forward["b2"] == other && other.url?.port == 4318)
        #expect(settings.logLevel == .error)
        #expect(try Self.settings("forward: {}").forward.isEmpty)
        #expect(try Self.settings("").forward.isEmpty)
    }

    @Test(arguments: [
        ("forward: {a: {}}", "endpoint `a`: give its `url`"),
        ("forward: {a: {url: otlp.example}}", "has no scheme"),
        ("forward: {a: {url: 'https://u:hunter2@x'}}", "user name or password"),
        ("forward: {a: {url: 'http://otlp.example'}}", "endpoint `a`: the collector http://otlp.example"),
        ("forward: {a: {url: 'https://x', kinds: [sample]}}", "'sample' is no kind. Known: samples, events"),
        ("forward: {a: {url: 'https://x', color: red}}", "unknown key a.color of forward"),
        ("forward: {a: {url: 'https://x', own: 1}}", "a.own of forward"),
        ("forward: {a: {url: 'https://x', headers: /nowhere}}", "/nowhere cannot be read"),
        ("forward: {a: {url: 'https://x', ca: /nowhere}}", "/nowhere"),
        ("forward: {'A b': {url: 'https://x'}}", "a name has 1 to 64 characters"),
        ("forward: https://x", "must be an object"),
        ("forward: {a: {url: 'https://x', test: maybe}}", "true or false"),
    ])
    func `What cannot be used is refused by its name`(yaml: String, words: String) {
        let message = Self.refusal(yaml)
        #expect(message.contains(words), "\(message)")
        #expect(!message.contains("hunter2"))
    }

    @Test func `Plain HTTP to another machine needs permission`() throws {
        _ = try Self.settings("forward: {a: {url: 'http://otlp.example'}}", ["allow-plaintext": "true"])
    }

    @Test func `A mistake in the section has its line`() {
        let message = Self.refusal("log-level: error\nforward:\n  a:\n    url: https://x\n    kinds: [x]\n")
        #expect(message.contains("(line 5)"), "\(message)")
    }
}
