import ArgumentParser
import Foundation
import Logging
import NIOCore
import NIOPosix
import RecordStore
import TestKit
import Testing
import WireModel

@testable import Collector
@testable import CollectorCommands
@testable import CommandKit

@Suite("Settings of the collector")
struct SettingsTests {
    private func settings(
        flags: [String: String] = [:], environment: [String: String] = [:], file: SettingFile? = nil
    ) throws(CommandError) -> Settings {
        try Settings(SettingLayers(flags: flags, environment: environment, file: file))
    }

    @Test func `Flags override environment, environment overrides file, file overrides defaults`() throws {
        let file = try ConfigurationFile.parse(
            "data: /file\nlisten: 127.0.0.1:1\nlog-level: error\nmaximum-connections: 7\n", path: "c.yaml")
        let settings = try settings(
            flags: ["data": "/flag"],
            environment: ["WS1_DATA": "/environment", "WS1_LISTEN": "[::1]:2", "WS1_LOG_LEVEL": ""], file: file)
        #expect(settings.data == "/flag")
        #expect(settings.listen == ListenAddress(host: "::1", port: 2))
        #expect(settings.logLevel == .error, "an empty variable is not set")
        #expect(settings.maximumConnections == 7)
        #expect(settings.maximumBodyBytes == 4 * 1024 * 1024)
    }

    @Test func `Secrets among the arguments are warned of without showing them`() throws {
        let secrets = Settings.declarations.filter { $0.isSecret && $0.places.contains(.flag) }
        #expect(secrets.map(\.name).sorted() == ["clickhouse-password", "notice-webhook", "postgresql"])
        for setting in secrets {
            let warnings = try ServerOptions.parse(["--data", "/d", setting.flag, "http://h/hunter2"]).warnings
            #expect(warnings.count == 1 && warnings[0].hasPrefix("\(setting.flag) shows"), "\(warnings)")
            #expect(warnings[0].contains(setting.variable) && !warnings[0].contains("hunter2"))
        }
        #expect(try ServerOptions.parse(["--data", "/d"]).warnings.isEmpty)
    }

    @Test func `Retention is set by stream`() throws {
        let file = try ConfigurationFile.parse(
            "data: /d\nretention-sample-days: 7\nretention-event-bytes: 5000000\n", path: "c.yaml")
        let settings = try settings(
            flags: ["retention-status-days": "365"], environment: ["WS1_DISK_NOTICE_BYTES": "0"], file: file)
        var expected = RetentionLimits()
        expected.status.days = 365
        expected.event.bytes = 5_000_000
        expected.sample.days = 7
        #expect(settings.retention == expected && settings.diskNoticeBytes == 0)
        #expect(try self.settings(flags: ["data": "/d"], environment: [:], file: nil).retention == RetentionLimits())
    }

    @Test func `What nobody says is as the server has it`() throws {
        let used = try settings(flags: ["data": "/d"]).server
        let server = CollectorServer.Settings(host: "127.0.0.1", port: 8420)
        #expect(used.host == server.host && used.port == server.port && used.connections == server.connections)
        #expect(used.bodyBytes == server.bodyBytes && used.inflatedBytes == server.inflatedBytes)
        #expect(used.deviceRequestsPerSecond == server.deviceRequestsPerSecond)
    }

    @Test(arguments: [(2048, 20_000, 2048), (2048, 1024, 512), (1, 1024, 1), (2048, 1, 1)])
    func `Connections leave descriptors for the rest`(wanted: Int, limit: Int, expected: Int) {
        #expect(OpenFiles.connections(wanted: wanted, limit: limit) == expected)
    }

    @Test func `All mistakes are told at once, each in a line`() throws {
        let wrong = #expect(throws: CommandError.self) {
            try settings(
                flags: ["maximum-connections": "0"], environment: ["WS1_LISTEN": "nowhere"],
                file: try ConfigurationFile.parse("log-level: loud\n", path: "c.yaml"))
        }
        let lines = wrong?.message.split(separator: "\n").map(String.init) ?? []
        #expect(wrong?.code == .usage && lines.count == 3)
        for place in ["--maximum-connections", "WS1_LISTEN", "log-level in c.yaml"] {
            #expect(lines.contains { $0.hasPrefix(place) }, "\(lines)")
        }
        let file = #expect(throws: CommandError.self) {
            try settings(
                file: try ConfigurationFile.parse(
                    "lisen: a\ndata: /d\ncolour: red\nlisten:\nlog-level: loud\n", path: "c.yaml"))
        }
        let keys = file?.message.split(separator: "\n").map(String.init) ?? []
        #expect(keys.count == 4)
        #expect(keys[0].contains("(line 1): unknown setting `lisen`") && keys[1].contains("(line 3)"))
        #expect(keys[2].contains("(line 4): `listen` has no single value"))
        #expect(keys[3].contains("log-level in c.yaml (line 5) is 'loud'"))
    }

    @Test func `The password for ClickHouse is the first line of its file`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "clickhouse-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        func cluster(_ more: [String: String] = [:]) throws -> Settings {
            try settings(
                flags: [
                    "store": "cluster", "clickhouse-urls": "http://a,http://b", "postgresql": "host=db",
                    "bucket-endpoint": "http://s3", "bucket": "logs", "clickhouse-password-file": path,
                ].merging(more) { $1 })
        }
        func refusal(_ more: [String: String] = [:]) -> String {
            let error = #expect(throws: CommandError.self) { try cluster(more) }
            #expect(error?.code == .usage)
            return error?.message ?? ""
        }
        #expect(refusal().contains("--clickhouse-password-file") && refusal().contains("No such file"))
        try Data("\nlater".utf8).write(to: URL(filePath: path))
        #expect(refusal().contains("first line"))
        try Data("p w\r\nnext".utf8).write(to: URL(filePath: path))
        #expect(try cluster().cluster.clickHousePassword == "p w")
        #expect(try cluster().shown("clickhouse-password") == "given")
        let both = refusal(["clickhouse-password": "s3cret"])
        #expect(both.contains("--clickhouse-password gives a password too") && !both.contains("s3cret"))
    }

    @Test func `A quorum that the replicas cannot reach is refused`() throws {
        func cluster(_ urls: String, quorum: String) throws -> Settings {
            try settings(
                flags: [
                    "data": "/d", "store": "cluster", "clickhouse-urls": urls, "clickhouse-quorum": quorum,
                    "postgresql": "host=db", "bucket-endpoint": "http://s3", "bucket": "logs",
                ])
        }
        let error = #expect(throws: CommandError.self) { try cluster("http://a,http://b", quorum: "3") }
        #expect(error?.code == .usage && error?.message.contains("names 2 replicas, and 3 must have") == true)
        #expect(try cluster("http://a,http://b", quorum: "2").cluster.clickHouseQuorum == 2)
    }

    @Test func `With too few descriptors, nothing is started`() throws {
        let error = #expect(throws: CommandError.self) { try OpenFiles.check(limit: 32, cores: 2) }
        #expect(error?.code == .failed && error?.message.contains("is 32, and the collector needs 104") == true)
        try OpenFiles.check(limit: 104, cores: 2)
        #expect(throws: CommandError.self) { try OpenFiles.check(limit: 104, cores: 3) }
    }

    @Test func `With less memory there is less in it at a time, and with too little nothing`() throws {
        let settings = CollectorServer.Settings()
        let plenty = MemoryLimit(source: .controlGroup, bytes: 4 << 30).fitting(settings)
        #expect(plenty.budget.maximumBytes == settings.budget.maximumBytes && plenty.logStreams == settings.logStreams)
        let half = MemoryLimit(source: .controlGroup, bytes: 512 << 20).fitting(settings)
        #expect(half.budget.maximumBytes == 128 << 20 && half.logStreams == 3)
        #expect(half.budget.maximumBodies == settings.budget.maximumBodies)
        // The largest request still fits, or the device that has it would wait for ever.
        let least = MemoryLimit(source: .controlGroup, bytes: 64 << 20).fitting(settings)
        #expect(least.budget.maximumBytes == settings.bodyBytes + settings.inflatedBytes && least.logStreams == 1)
        try MemoryLimit(source: .controlGroup, bytes: 128 << 20).check()
        let error = #expect(throws: CommandError.self) {
            try MemoryLimit(source: .addressSpace, bytes: 200 << 20).check()
        }
        #expect(error?.message.contains("ulimit -v") == true && error?.message.contains("200 MiB") == true)
    }

    @Test func `The least limit of the control groups holds`() throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("cgroup-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        try FileManager.default.createDirectory(
            at: root.appendingPathComponent("a/b/c"), withIntermediateDirectories: true)
        func write(_ text: String, _ path: String) throws {
            try Data(text.utf8).write(to: root.appendingPathComponent(path))
        }
        try write("max\n", "a/memory.max")
        try write("1000\n", "a/b/memory.max")
        try write("2000\n", "a/b/c/memory.max")
        #expect(MemoryLimit.controlGroupBytes(root: root.path, group: "0::/a/b/c\n") == 1000)
        #expect(MemoryLimit.controlGroupBytes(root: root.path, group: "1:name=x:/\n0::/a\n") == nil)
        #expect(MemoryLimit.controlGroupBytes(root: root.path, group: "0::/elsewhere\n") == nil)
        #expect(MemoryLimit.controlGroupBytes(root: root.path, group: nil) == nil)
    }

    /// The built program, under a shell's limits.
    @Test(arguments: [
        ("-n 32", "limit on open files is 32"),
        ("-v 300000", "limit on the address space (ulimit -v, LimitAS) is 292 MiB"),
    ])
    func `Under a limit that is too small, it says so and ends`(limit: String, says: String) async throws {
        let run = try await ProgramRun.of(
            [
                "-c", "ulimit \(limit) && exec \"$0\" serve --data data --listen 127.0.0.1:0",
                ProgramRun.ws1collectorPath,
            ],
            program: URL(fileURLWithPath: "/bin/sh"))
        #expect(run.status == 1 && run.errors.contains(says), "\(run.status): \(run.errors)")
        #expect(run.errors.split(separator: "\n").count == 1, "one line and no stack trace: \(run.errors)")
    }

    /// `validate` prints them all; only what may hold a secret is not shown as it is.
    @Test func `Every setting is shown as it would be used`() throws {
        let file = try ConfigurationFile.parse(
            "data: /d\nretention-sample-bytes: 7000000000\nnotice-webhook: https://hooks.example/s3cret\n",
            path: "c.yaml")
        let settings = try settings(flags: [:], environment: [:], file: file)
        let unset: Set = [
            "config", "tls-certificate", "tls-key", "client-ca", "device-ca-certificate", "device-ca-key",
            "clickhouse-urls", "postgresql", "bucket-endpoint", "bucket", "mqtt-broker",
        ]
        for setting in Settings.declarations.map(\.name) {
            #expect((settings.shown(setting) == nil) == unset.contains(setting), "\(setting)")
        }
        #expect(settings.shown("retention-sample-bytes") == "7000000000")
        #expect(
            settings.shown("log-application-bytes") == "200000000" && settings.shown("device-certificates") == "off")
        #expect(settings.shown("notice-webhook") == "at hooks.example")
        let secret = try self.settings(
            flags: ["clickhouse-password": "s3cret", "postgresql": "host=db password=s3cret"], environment: [:],
            file: file)
        #expect(secret.shown("clickhouse-password") == "given" && secret.shown("postgresql") == "given")
        let other = try ConfigurationFile.parse(
            "data: /d\nretention-sample-bytes: 7000000000\nnotice-webhook: https://hooks.example/other\n",
            path: "c.yaml")
        #expect(
            try self.settings(flags: [:], environment: [:], file: other).changes(from: settings).map(\.name) == [
                "notice-webhook"
            ])
    }

    @Test(arguments: Settings.declarations.filter { $0.places.contains(.variable) }.map(\.name))
    func `Every setting is read from its variable`(name: String) throws {
        let setting = try #require(Settings.declarations.first { $0.name == name })
        let path = try #require(Settings.table.first { $0.name == name }).path
        let layers = SettingLayers<Settings>(flags: [:], environment: [setting.variable: "value"])
        #expect(try layers[path]?.text() == "value")
        #expect(layers.refusal(path, "wrong").message.contains(setting.variable))
    }

    @Test(arguments: [
        ("data: a\nlissten: b\n", "(line 2): unknown setting `lissten`"), ("- a\n", "mapping"),
        ("data: [a]\n", "(line 1): `data`"),
        ("data: {", "c.yaml"),
        ("data:\n", "no single value"), ("listen: a\ndata: b\nlisten: c\n", "'listen'"),
    ])
    func `A file that is wrong is refused by key and line`(text: String, names: String) {
        let error = #expect(throws: CommandError.self) {
            try settings(file: try ConfigurationFile.parse(text, path: "c.yaml"))
        }
        #expect(error?.code == .usage)
        #expect(error?.message.contains(names) == true, "\(error?.message ?? "")")
    }

    @Test func `A file of another system's editor is read like any other file`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "collector-\(UUID()).yaml").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let text = "# made elsewhere\r\ndata: /data\r\nlisten: 0.0.0.0:1\r\n"
        let units = Data("\u{FEFF}\(text)".utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] })
        for bytes in [Data(text.utf8), Data("\u{FEFF}\(text)".utf8), units] {
            try bytes.write(to: URL(filePath: path))
            #expect(
                try ConfigurationFile.read(path).values == ["data": .text("/data"), "listen": .text("0.0.0.0:1")])
        }
        try Data([0x64, 0xFF, 0x0A]).write(to: URL(filePath: path))
        let error = #expect(throws: CommandError.self) { try ConfigurationFile.read(path) }
        #expect(error?.message.contains("not UTF-8") == true)
    }

    @Test func `An empty file sets nothing`() throws {
        #expect(try ConfigurationFile.parse("", path: "c.yaml").values.isEmpty)
        #expect(try ConfigurationFile.parse("# only a comment\n", path: "c.yaml").values.isEmpty)
    }

    @Test(arguments: [
        (["listen": "0.0.0.0:1"], "--allow-plaintext"), (["listen": "nowhere"], "nowhere"),
        (["listen": "1.2.3.4:99999"], "99999"),
        (["tls-certificate": "a"], "--tls-key"), (["tls-key": "a"], "--tls-certificate"),
        (["client-ca": "a"], "--client-ca"),
        (["device-certificates": "required"], "--device-ca-certificate"),
        (["device-certificates": "perhaps"], "perhaps"),
        (["device-ca-certificate": "a"], "--device-ca-key"), (["device-ca-key": "a"], "--device-ca-certificate"),
        (["device-ca-certificate": "a", "device-ca-key": "b"], "--tls-certificate"),
        (["device-certificate-days": "1096"], "device-certificate-days"),
        (["log-level": "loud"], "loud"), (["maximum-body-bytes": "1"], "maximum-body-bytes"),
        (["allow-plaintext": "perhaps"], "perhaps"),
        (["retention-sample-days": "0"], "retention-sample-days"),
        (["retention-event-bytes": "12"], "retention-event-bytes"),
    ])
    func `What does not fit is refused with advice on what to do`(flags: [String: String], names: String) {
        let error = #expect(throws: CommandError.self) {
            try settings(flags: flags.merging(["data": "/d"]) { $1 }, environment: [:], file: nil)
        }
        #expect(error?.code == .usage)
        #expect(error?.message.contains(names) == true, "\(error?.message ?? "")")
    }

    @Test func `Plaintext beyond this machine must be allowed explicitly`() throws {
        let flags: [String: String] = ["data": "/d", "listen": "0.0.0.0:1"]
        #expect(throws: CommandError.self) { try settings(flags: flags, environment: [:], file: nil) }
        #expect(
            try settings(flags: flags.merging(["allow-plaintext": "true"]) { $1 }, environment: [:], file: nil)
                .allowPlaintext)
        let tls = try settings(
            flags: flags.merging(["tls-certificate": "c", "tls-key": "k"]) { $1 }, environment: [:], file: nil)
        #expect(tls.tls == TLSFiles(certificate: "c", key: "k"))
    }

    @Test(arguments: [
        ("127.0.0.1:1", true), ("127.9.9.9:1", true), ("localhost:1", true), ("[::1]:1", true), ("0.0.0.0:1", false),
        ("[::]:1", false),
        ("127.0.0.1.example.com:1", false), ("192.168.0.1:1", false), ("127.0.0.256:1", false),
    ])
    func `Only loopback is loopback`(text: String, expected: Bool) throws {
        #expect(try #require(ListenAddress(text)).isLoopback == expected)
    }

    @Test func `A port whose program has just ended is free`() async throws {
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { $0.close() }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        let address = ListenAddress(host: "127.0.0.1", port: port)
        // The server closes first, so the system keeps its side of the connection for a minute.
        _ = try await BlockingCall.run { try RawConnection(port: port).receiveToEnd() }
        #expect(try await address.isInUse())
        try await server.close()
        #expect(try await !address.isInUse())
    }

    @Test(arguments: ["", ":1", "a", "a:b", "a:-1", "a:65536", "::1:8420"])
    func `What is not an address is none`(text: String) {
        #expect(ListenAddress(text) == nil)
    }
}
