import ArgumentParser
import CollectorClient
import CommandKit
import FoundationEssentials

/// Where the logs of a command are: in a store on this machine, or at a collector.
struct LogSettings: ProgramSettings {
    var data = StandardDirectory.agent
    var deviceKey: String?
    var collector: String?
    var device: String?
    var organization: String?
    var tokenFile: String?
    var certificateAuthorityFile: String?
    var proxy: String?
    var allowsPlaintext = false

    private static let places: SettingPlaces = [.flag, .variable]

    static let table: [Setting<LogSettings>] = [
        Setting(
            "data", \.data, .text,
            "The agent's data directory, which holds its logs in the directory logs, or a log store itself (WS1_DATA)",
            value: "dir", in: places),
        Setting(
            "device-key", \.deviceKey, .text("file:PATH or systemd:NAME"),
            """
            Where the device key of encrypted logs is, as the agent has it. It is needed only where no agent runs \
            (WS1_DEVICE_KEY)
            """,
            value: "source", in: places,
            fallback: "device.key in the data directory, or the credential ws1-device-key"),
        Setting(
            "collector", \.collector, .text("http[s]://HOST[:PORT]"), "The collector that has the logs (WS1_COLLECTOR)",
            value: "url", in: places),
        Setting(
            "device", \.device, .text,
            """
            The id of the device that sent the logs (WS1_DEVICE). GET /api/v1/devices lists the ids
            """,
            value: "id", in: places, fallback: "all devices"),
        Setting(
            "organization", \.organization, .text,
            "The organization whose logs are meant, for a token of all organizations (WS1_ORGANIZATION)", value: "name",
            in: places, fallback: "all that the token sees"),
        Setting(
            "token-file", \.tokenFile, .text,
            """
            A file with your access token for the collector (WS1_TOKEN_FILE, or the token itself in WS1_TOKEN). The \
            token is no flag, because others see flags
            """,
            value: "file", in: places),
        Setting(
            "ca", \.certificateAuthorityFile, .text,
            "PEM file of certificate authorities to trust beside those of the system (WS1_CA)",
            value: "file", in: places, fallback: "none"),
        Setting(
            "proxy", \.proxy, .text("http://HOST[:PORT]"), "An HTTP proxy on the way to the collector (WS1_PROXY)",
            value: "url", in: places, fallback: "that of the environment"),
        Setting(
            "allow-plaintext", \.allowsPlaintext, .flag,
            """
            Speak plain http:// to a collector on another machine too. Everybody on the way can then read your access \
            token and the logs (WS1_ALLOW_PLAINTEXT)
            """,
            in: places),
    ]
}

enum StoreFlags: FlagSet {
    static let flags = LogSettings.declarations.filter { ["data", "device-key"].contains($0.name) }
}

enum CollectorFlags: FlagSet {
    static let flags = LogSettings.declarations.filter { !["data", "device-key"].contains($0.name) }
}

typealias StoreOptions = SettingFlags<StoreFlags>
typealias CollectorOptions = SettingFlags<CollectorFlags>

/// The logs that a command is about: those of a store on this machine, or those of a device at a collector.
enum LogPlace: Equatable {
    case store
    case collector

    init(_ store: StoreOptions, _ collector: CollectorOptions) throws(CommandError) {
        try self.init(
            data: store.given["data"],
            remote: CollectorFlags.flags.filter { collector.given[$0.name] != nil }.map(\.flag),
            environment: ProcessInfo.processInfo.environment)
    }

    /// Flags beat the environment. The environment of an agent names both a store and a collector: then the store wins.
    /// Where nothing names either, the logs of this machine's agent are meant.
    /// - Parameters:
    ///   - data: `--data`.
    ///   - remote: the given flags that make sense only for a collector.
    init(data: String?, remote: [String], environment: [String: String]) throws(CommandError) {
        func isSet(_ name: String) -> Bool { environment[name].map { !$0.isEmpty } ?? false }
        if data != nil, let flag = remote.first {
            throw CommandError(
                .usage, "--data means logs of this machine, \(flag) logs at a collector: give one of them")
        }
        if remote.isEmpty, data != nil || isSet("WS1_DATA") || !isSet("WS1_COLLECTOR") {
            self = .store
        } else {
            self = .collector
        }
    }
}

/// A command for the logs of this machine, or for those that devices sent to a collector.
protocol PlacedCommand: AsyncParsableCommand {
    var application: ApplicationOptions { get }
    var chunkOptions: ChunkOptions { get }
    var store: StoreOptions { get }
    var collector: CollectorOptions { get }

    func runLocally() async throws
    func runRemotely() async throws
}

extension PlacedCommand {
    /// Runs `body` with a client of the collector and what the flags name there.
    func ask<Value>(_ body: (CollectorClient, LogScope) async throws -> Value) async throws -> Value {
        let scope = LogScope(application: application.identifier, ids: chunkOptions.ids)
        return try await collector.ask { client, device in
            var scope = scope
            scope.device = device
            return try await body(client, scope)
        }
    }

    func run() async throws {
        switch try LogPlace(store, collector) {
        case .store:
            guard chunkOptions.text == nil else {
                throw CommandError(.usage, "--ids names chunks of a collector: give --collector, or leave it out")
            }
            try await runLocally()
        case .collector: try await runRemotely()
        }
    }
}
