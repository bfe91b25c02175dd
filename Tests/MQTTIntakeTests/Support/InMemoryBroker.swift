import Foundation
import MQTTClient
import Synchronization
import TestKit

@testable import MQTTIntake

/// A broker without a network: tests give messages to the collector, and see what it publishes.
final class InMemoryBroker: Broker {
    private struct Refused: Error {}

    private let events = EventQueue()
    private let packetLimit: Int?
    private let isDown = Mutex(false)
    /// What the collector published, in order.
    let published = Watched<[MQTTMessage]>([])
    /// How many messages it refused.
    let failures = Watched(0)

    init(packetLimit: Int? = nil) { self.packetLimit = packetLimit }

    func give(_ message: MQTTMessage) { events.put(.message(message)) }

    /// Refuses messages, before the collector knows that the connection is lost.
    func fail() { isDown.withLock { $0 = true } }

    func lose(_ reason: String) {
        fail()
        events.put(.disconnected(reason: reason))
    }

    func comeBack() {
        isDown.withLock { $0 = false }
        events.put(.connected)
    }

    func run() async {
        events.put(.connected)
        // Nothing comes, so it ends when the task is cancelled.
        let (never, continuation) = AsyncStream<Void>.makeStream()
        for await _ in never {}
        continuation.finish()
        events.end()
    }

    func next() async -> BrokerEvent? { await events.next() }

    var maximumPacketBytes: Int? { packetLimit }

    func takeDropped() -> Int { events.takeDropped() }

    func publish(_ message: MQTTMessage) async throws {
        guard !isDown.withLock({ $0 }) else {
            failures.change { $0 += 1 }
            throw Refused()
        }
        published.change { $0.append(message) }
    }
}
