import ArgumentParser
import CollectorClient
import FoundationEssentials
import HTTPConnection
import LogStore
import TelemetryBasics
import WireModel

/// Which collector, as whom, and which device.
struct CollectorOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Logs at this collector: http[s]://HOST[:PORT]. (WS1_COLLECTOR)", valueName: "url"))
    var collector: String?

    @Option(help: ArgumentHelp("The device at the collector whose logs they are. (WS1_DEVICE)", valueName: "id"))
    var device: String?

    @Option(
        help: ArgumentHelp(
            "A file with your access token for the collector; a token itself is no flag, since others see those. (WS1_TOKEN_FILE, WS1_TOKEN)",
            valueName: "file"))
    var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "The collector's certificate authorities, PEM; default those of the system. (WS1_CA)", valueName: "file"))
    var ca: String?

    @Option(
        help: ArgumentHelp(
            "An HTTP proxy on the way to the collector: http://HOST[:PORT]. (WS1_PROXY)", valueName: "url"))
    var proxy: String?

    @Flag(
        help: """
            Speak plain http:// to a collector on another machine too. Everybody on the way can then read your access token and the logs. \
            (WS1_ALLOW_PLAINTEXT)
            """)
    var allowPlaintext = false

    private static var environment: [String: String] { ProcessInfo.processInfo.environment }

    /// - Parameter data: `--data`.
    func place(data: String?) throws(LogCommandError) -> LogPlace {
        let flags = [
            ("--collector", collector), ("--device", device), ("--token-file", tokenFile), ("--ca", ca),
            ("--proxy", proxy),
            ("--allow-plaintext", allowPlaintext ? "true" : nil),
        ]
        return try LogPlace(data: data, remote: flags.filter { $0.1 != nil }.map(\.0), environment: Self.environment)
    }

    private static func flag(_ variable: String, _ environment: [String: String]) throws(LogCommandError) -> Bool {
        switch environment[variable]?.lowercased() {
        case nil, "", "false", "no", "0": return false
        case "true", "yes", "1": return true
        case .some(let text): throw LogCommandError(.usage, "\(variable) is '\(text)'; it must be true or false")
        }
    }

    /// - Throws: `.usage` for what is missing or cannot be.
    func access() throws(LogCommandError) -> CollectorAccess {
        let environment = Self.environment
        func value(_ flag: String?, _ variable: String) -> String? {
            flag ?? environment[variable].flatMap { $0.isEmpty ? nil : $0 }
        }
        guard let url = value(collector, "WS1_COLLECTOR") else {
            throw LogCommandError(
                .usage, "which collector? Give --collector http[s]://HOST[:PORT], or set WS1_COLLECTOR")
        }
        guard let name = value(device, "WS1_DEVICE") else {
            throw LogCommandError(
                .usage,
                "which device? Give --device ID, or set WS1_DEVICE; the collector's console and GET /api/v1/devices list them"
            )
        }
        guard let device = DeviceID(name) else {
            throw LogCommandError(.usage, "--device \(name) is no device's id (a UUID)")
        }
        let token = try AccessToken(file: tokenFile, environment: environment)
        let isPlaintextAllowed = try Self.flag("WS1_ALLOW_PLAINTEXT", environment) || allowPlaintext
        do throws(ConnectionSettingsError) {
            var settings = ConnectionSettings(collector: try EndpointURL(collector: url))
            settings.certificateAuthorityFile = value(ca, "WS1_CA")
            if let proxy = value(proxy, "WS1_PROXY") { settings.proxy = try EndpointURL(proxy: proxy) }
            settings.allowsPlaintext = isPlaintextAllowed
            try settings.check()
            return CollectorAccess(device: device, token: token, settings: settings)
        } catch { throw LogCommandError(.usage, error.message, cause: error) }
    }
}

extension FilterOptions {
    /// The same filter as the collector takes it.
    func query(_ device: DeviceID, now: Int64 = SystemClock.wallMicroseconds()) throws -> LogQuery {
        guard !ring else {
            throw LogCommandError(
                .usage,
                "--ring is for logs of this machine: a collector has those lines where a request brought them (ws1log request --ring), and shows them"
            )
        }
        return try LogQuery(device, type: type.rawValue, lines: filter(now: now))
    }
}

/// A command for the logs of this machine, or for those that a device sent to a collector.
protocol PlacedCommand: AsyncParsableCommand {
    var store: StoreOptions { get }
    var collector: CollectorOptions { get }

    func runLocally() throws
    func runRemotely() async throws
}

extension PlacedCommand {
    func run() async throws {
        switch try collector.place(data: store.data) {
        case .store: try runLocally()
        case .collector: try await runRemotely()
        }
    }
}

/// What is needed to ask a collector about a device.
struct CollectorAccess: Sendable {
    var device: DeviceID
    var token: AccessToken
    var settings: ConnectionSettings

    /// Runs `body` with a client of the collector and the device it is asked about.
    func ask<Value>(_ body: (CollectorClient, DeviceID) async throws -> Value) async throws -> Value {
        try await CollectorClient.with(settings, token: token.secret) { try await body($0, device) }
    }
}

/// Whose logs a command is about: a store of this machine, or a device's at a collector. Pure.
enum LogPlace: Equatable {
    case store
    case collector

    /// Flags beat the environment; where only that says something, a store is nearer than a collector: an agent's
    /// environment has both.
    /// - Parameters:
    ///   - data: `--data`.
    ///   - remote: flags that only make sense for a collector, by name.
    init(data: String?, remote: [String], environment: [String: String]) throws(LogCommandError) {
        func isSet(_ name: String) -> Bool { environment[name].map { !$0.isEmpty } ?? false }
        if data != nil, let flag = remote.first {
            throw LogCommandError(
                .usage, "--data means logs of this machine, \(flag) those at a collector: give one of them")
        }
        if data != nil {
            self = .store
        } else if !remote.isEmpty {
            self = .collector
        } else if isSet("WS1_DATA") {
            self = .store
        } else {
            guard isSet("WS1_COLLECTOR") else {
                throw LogCommandError(
                    .usage,
                    "which logs? Give --data DIR for those of this machine (or set WS1_DATA), or --collector URL --device ID"
                )
            }
            self = .collector
        }
    }
}

/// What a collector knows a person by. It is sent, and shown nowhere.
struct AccessToken: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    static let maximumBytes = 4096

    let secret: String

    /// From the file that is named, else from the environment: `WS1_TOKEN` itself, or `WS1_TOKEN_FILE`.
    init(file: String?, environment: [String: String]) throws(LogCommandError) {
        func given(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        if file == nil, let text = given("WS1_TOKEN") {
            try self.init(text, from: "WS1_TOKEN")
            return
        }
        guard let path = file ?? given("WS1_TOKEN_FILE") else {
            throw LogCommandError(
                .usage,
                "a collector asks who you are: give --token-file FILE with your access token in it, or set WS1_TOKEN_FILE or WS1_TOKEN"
            )
        }
        guard let content = try? Files<FileError>.read(path, maximumBytes: Self.maximumBytes + 1),
            content.count <= Self.maximumBytes
        else {
            throw LogCommandError(
                .usage,
                "\(path) cannot be read, or is no file of at most \(Self.maximumBytes) bytes: check --token-file")
        }
        try self.init(String(decoding: content, as: UTF8.self), from: path)
    }

    private init(_ text: String, from source: String) throws(LogCommandError) {
        let words = text.split(whereSeparator: \.isWhitespace)
        // What could not stand in a header would break it.
        guard words.count == 1, let word = words.first, word.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw LogCommandError(.usage, "\(source) holds no access token: expected one word of ASCII")
        }
        secret = String(word)
    }

    var description: String { "(access token)" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}
