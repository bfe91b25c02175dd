import FoundationEssentials
import Logging
import MQTTClient
import RecordStore
import Registry
import Synchronization
import WireModel

/// Tells connected devices that there is something for them, so that a command reaches one at once without polling.
///
/// News are a doorbell: the device asks over its usual request. Several changes that come together are one. Where the
/// broker cannot be reached, news wait for the connection; a device that connects asks by itself.
final class NewsPublisher: Sendable {
    enum Word: String, Sendable {
        case commands, profile
    }

    private struct Waiting {
        var devices: [DeviceID: Set<Word>] = [:]
        var organizations: Set<String> = []
        /// What could not be published. It is tried again with the next connection.
        var missed: [DeviceID: Set<Word>] = [:]
        var isConnected = false
        /// Counts the connections.
        var connection = 0

        var isEmpty: Bool { devices.isEmpty && organizations.isEmpty }
    }

    /// News of more devices are left out: they ask at their intervals.
    static let maximumDevices = 100_000
    private static let expirySeconds: UInt32 = 60

    private let broker: any Broker
    private let topics: IntakeTopics
    private let devices: BrokerDevices
    private let metadata: MetadataService
    private let metrics: IntakeMetrics
    private let logger: Logger
    private let waiting = Mutex(Waiting())
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    init(
        broker: any Broker, topics: IntakeTopics, devices: BrokerDevices, metadata: MetadataService,
        metrics: IntakeMetrics, logger: Logger
    ) {
        (self.broker, self.topics, self.devices, self.metadata) = (broker, topics, devices, metadata)
        (self.metrics, self.logger) = (metrics, logger)
        (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Remembers what has changed. Returns at once.
    func changed(_ news: RegistryNews) {
        // With unknown changes every device might be concerned. They ask at their intervals: to ring at all of them at
        // once would bring the whole fleet in the same second.
        guard case .changes(let changes) = news else { return }
        let isNew = waiting.withLock { waiting in
            let before = waiting.isEmpty
            for change in changes {
                switch change {
                case .commands(let device), .device(let device):
                    guard waiting.devices[device] != nil || waiting.devices.count < Self.maximumDevices else { break }
                    waiting.devices[device, default: []].insert(.commands)
                case .profile(let organization): waiting.organizations.insert(organization)
                case .observation, .deviceJobs: break
                }
            }
            return before && !waiting.isEmpty && waiting.isConnected
        }
        if isNew { signal.yield() }
    }

    func connected(_ isConnected: Bool) {
        waiting.withLock { waiting in
            waiting.isConnected = isConnected
            guard isConnected else { return }
            waiting.connection += 1
            waiting.devices.merge(waiting.missed) { $0.union($1) }
            waiting.missed = [:]
        }
        if isConnected { signal.yield() }
    }

    /// Publishes news until the task is cancelled.
    func run() async {
        for await _ in signals {
            while let (changed, organizations, connection) = take() {
                var words = changed
                for organization in organizations {
                    for device in await onlineDevices(of: organization) { words[device, default: []].insert(.profile) }
                }
                for (device, words) in words {
                    for name in devices.names(of: device) {
                        for word in words where await !publish(word, to: name) {
                            missed(word, of: device, on: connection)
                        }
                    }
                    guard !Task.isCancelled else { return }
                }
            }
        }
    }

    private func take() -> (devices: [DeviceID: Set<Word>], organizations: Set<String>, connection: Int)? {
        waiting.withLock { waiting in
            guard waiting.isConnected, !waiting.isEmpty else { return nil }
            defer { (waiting.devices, waiting.organizations) = ([:], []) }
            return (waiting.devices, waiting.organizations, waiting.connection)
        }
    }

    private func onlineDevices(of organization: String) async -> [DeviceID] {
        var found: [DeviceID] = []
        for device in devices.onlineDevices {
            do throws(StoreError) {
                if try await metadata.device(device, organization: organization) != nil { found.append(device) }
            } catch {
                logger.warning("devices not told of their profile", metadata: ["store.error": "\(error)"])
                return found
            }
        }
        return found
    }

    /// - Parameter connection: the one on which the message could not be published.
    private func missed(_ word: Word, of device: DeviceID, on connection: Int) {
        let isNext = waiting.withLock { waiting in
            if waiting.isConnected, waiting.connection != connection {
                waiting.devices[device, default: []].insert(word)
                return true
            }
            guard waiting.missed[device] != nil || waiting.missed.count < Self.maximumDevices else { return false }
            waiting.missed[device, default: []].insert(word)
            return false
        }
        if isNext { signal.yield() }
    }

    /// - Returns: whether the broker has the message.
    private func publish(_ word: Word, to name: String) async -> Bool {
        var message = MQTTMessage(topic: topics.news(of: name), payload: Data(word.rawValue.utf8))
        message.expirySeconds = Self.expirySeconds
        do {
            try await broker.publish(message)
            metrics.news(.published)
            return true
        } catch {
            metrics.news(.failed)
            return false
        }
    }
}
