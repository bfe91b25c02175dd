import FoundationEssentials
import MosquittoTestKit
import Synchronization
import TestKit

@testable import MQTTClient

/// A client that runs, and what it was told.
final class ClientProbe: Sendable {
    struct Heard: Sendable {
        var messages: [MQTTMessage] = []
        var connections = 0
        var failures: [MQTTError] = []
    }

    let heard = Watched(Heard())
    let client: MQTTClient
    private let running: Mutex<Task<Void, Never>?>

    init(_ settings: MQTTSettings, subscriptions: [String] = [], waits: MQTTClient.Waits = .short) throws(MQTTError) {
        let heard = heard
        let made = try MQTTClient(
            subscriptions: subscriptions, waits: waits, roll: { 0.5 }, settings: { () throws(MQTTError) in settings },
            received: { message in heard.change { $0.messages.append(message) } },
            changed: { change in
                heard.change {
                    switch change {
                    case .connected: $0.connections += 1
                    case .disconnected(let why): $0.failures.append(why)
                    }
                }
            })
        client = made
        running = Mutex(Task { await made.run() })
    }

    deinit { running.withLock { $0 }?.cancel() }

    /// Disconnects in order.
    func stop() async {
        let task = running.withLock { $0.take() }
        task?.cancel()
        await task?.value
    }

    @discardableResult
    func publish(_ message: MQTTMessage) async throws(MQTTError) -> MQTTAcknowledgement {
        try await client.connected(within: .seconds(20)).publish(message)
    }

    /// The first connection.
    func connected() async throws {
        try await heard.until { $0.connections > 0 || !$0.failures.isEmpty }
        if heard.value.connections == 0 { throw heard.value.failures[0] }
    }

    /// Why the next connection fails, or the present one ended.
    func failure() async throws -> MQTTError {
        try await heard.until { !$0.failures.isEmpty }
        return heard.value.failures[0]
    }
}

extension MQTTClient.Waits {
    static var short: Self {
        var waits = Self()
        waits.first = .milliseconds(20)
        waits.longest = .milliseconds(100)
        return waits
    }
}

extension MosquittoBroker {
    func settings(_ clientID: String, user: String? = nil, password: String? = nil) throws -> MQTTSettings {
        var settings = MQTTSettings(
            address: try MQTTAddress("mqtt://127.0.0.1:\(port)/ws1", what: "address"), clientID: clientID)
        settings.user = user
        settings.password = password
        return settings
    }

    /// Over TLS, trusting the authority of the kit's certificates.
    func securedSettings(_ clientID: String, host: String = "localhost", pins: [Data] = []) throws -> MQTTSettings {
        var settings = MQTTSettings(
            address: try MQTTAddress("mqtts://\(host):\(port)/ws1", what: "address"), clientID: clientID)
        settings.security.authorityFile = try file("trusted.crt", ServerCertificates.authority)
        settings.security.trustsSystem = false
        settings.security.pins = pins
        return settings
    }
}

extension Data {
    init(hexadecimal text: String) {
        let digits = text.utf8.map { UInt8(String(UnicodeScalar($0)), radix: 16) ?? 0 }
        self.init(stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
    }
}
