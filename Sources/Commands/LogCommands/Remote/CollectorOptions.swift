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
