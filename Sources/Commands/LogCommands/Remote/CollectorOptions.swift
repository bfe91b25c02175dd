import CollectorClient
import CommandKit
import FoundationEssentials
import HTTPConnection
import TelemetryBasics
import WireModel

extension CollectorOptions {
    /// Asks like ``ask(_:)``, for what only a single device can do.
    /// - Throws: `.usage` also if no device is given.
    func askDevice<Value>(_ body: (CollectorClient, DeviceID) async throws -> Value) async throws -> Value {
        try SettingLayers<LogSettings>(flags: given).require(\.device)
        return try await ask { client, device in
            guard let device else { throw CommandError(.usage, "give --device ID") }
            return try await body(client, device)
        }
    }

    /// Runs `body` with a client of the collector, and the device whose logs are meant; `nil` for all.
    /// - Throws: `.usage` for a setting that is missing or wrong, and what `body` throws.
    func ask<Value>(_ body: (CollectorClient, DeviceID?) async throws -> Value) async throws -> Value {
        let layers = try SettingLayers<LogSettings>(flags: given)
        try layers.require(\.collector)
        let settings = try layers.read()
        let device = DeviceID(settings.device ?? "")
        if settings.device != nil, device == nil {
            throw layers.refusal(\.device, "it must be a device's id (a UUID)")
        }
        let token = try AccessToken(file: given["token-file"], environment: ProcessInfo.processInfo.environment)
        var connection: ConnectionSettings
        do throws(ConnectionSettingsError) {
            connection = ConnectionSettings(collector: try EndpointURL(collector: settings.collector ?? ""))
            connection.certificateAuthorityFile = settings.certificateAuthorityFile
            if let proxy = settings.proxy { connection.proxy = try EndpointURL(proxy: proxy) }
            try connection.applyProxy(from: ProxyEnvironment(layers.environment))
            connection.allowsPlaintext = settings.allowsPlaintext
            try connection.check()
        } catch { throw CommandError(.usage, error.message, cause: error) }
        return try await CollectorClient.with(connection, token: token.secret, organization: settings.organization) {
            try await body($0, device)
        }
    }
}

/// A person's access token for a collector. It is sent there and shown nowhere.
struct AccessToken: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    static let maximumBytes = 4096

    let secret: String

    /// Reads the token from the given file; without one from `WS1_TOKEN`, or else from the file that `WS1_TOKEN_FILE`
    /// names.
    init(file: String?, environment: [String: String]) throws(CommandError) {
        func given(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        if file == nil, let text = given("WS1_TOKEN") {
            try self.init(text, from: "WS1_TOKEN")
            return
        }
        guard let path = file ?? given("WS1_TOKEN_FILE") else {
            throw CommandError(
                .usage,
                "the collector needs your access token: give --token-file FILE, or set WS1_TOKEN_FILE or WS1_TOKEN")
        }
        guard let content = try? Files<FileError>.read(path, maximumBytes: Self.maximumBytes + 1),
            content.count <= Self.maximumBytes
        else {
            throw CommandError(
                .usage,
                "\(path) cannot be read, or has more than \(Self.maximumBytes) bytes: check --token-file")
        }
        try self.init(String(decoding: PlainText.normalized(content), as: UTF8.self), from: path)
    }

    private init(_ text: String, from source: String) throws(CommandError) {
        let words = text.split(whereSeparator: \.isWhitespace)
        // Other characters would break the header that carries the token.
        guard words.count == 1, let word = words.first, word.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw CommandError(.usage, "\(source) holds no access token: expected one word of ASCII")
        }
        secret = String(word)
    }

    var description: String { "(access token)" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}
