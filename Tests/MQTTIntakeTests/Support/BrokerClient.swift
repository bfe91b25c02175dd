import Foundation
import MQTTClient
import TestKit
import Testing

/// A device at a real broker, with what it heard.
final class BrokerClient: Sendable {
    let messages: MessagingDevice
    let heard = Watched<[MQTTMessage]>([])
    private let client: MQTTClient

    /// - Parameter topics: beside its own answers and news.
    init(
        _ messages: MessagingDevice, subscribing topics: [String] = [],
        settings: @escaping @Sendable () throws(MQTTError) -> MQTTSettings
    ) throws {
        self.messages = messages
        let heard = heard
        var waits = MQTTClient.Waits()
        (waits.first, waits.longest) = (.milliseconds(20), .milliseconds(200))
        client = try MQTTClient(
            subscriptions: [messages.answers, messages.news] + topics, waits: waits, settings: settings,
            received: { message in heard.change { $0.append(message) } }, changed: { _ in })
    }

    /// Stays connected while the test runs.
    func run(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let client = client
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            let result: Result<Void, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            group.cancelAll()
            try await group.waitForAll()
            try result.get()
        }
    }

    @discardableResult
    func publish(_ message: MQTTMessage) async throws -> MQTTAcknowledgement {
        try await client.connected(within: .seconds(20)).publish(message)
    }

    /// Sends a request as soon as a collector is there, and waits for its answer.
    func ask(_ message: MQTTMessage) async throws -> MQTTMessage {
        while try await publish(message) != .delivered {}
        return try await answer(to: message, isGoOn: false)
    }

    func answer(to request: MQTTMessage, isGoOn: Bool) async throws -> MQTTMessage {
        let correlation = request.correlation
        let fits: @Sendable (MQTTMessage) -> Bool = { message in
            message.correlation == correlation && message[":status"].map { ($0 == "100") == isGoOn } ?? false
        }
        try await heard.until { $0.contains(where: fits) }
        return try #require(heard.value.first(where: fits))
    }
}
