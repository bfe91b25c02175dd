import Crypto
import FoundationEssentials
import MQTTClient
import Synchronization
import Transmitter
import WireModel

/// The device's transport over a message broker: the exchanges of the wire protocol as messages of MQTT 5.
/// `Schemas/mqtt/PROTOCOL.md` describes them.
///
/// It connects with the first request, and stays connected, so that news reach the device at once. Safe to use from any
/// task.
/// `shutdown()` must be called once, last.
package final class MQTTTransport: Transport {
    private struct Exchange {
        var assembly: AnswerAssembly
        let steps: AsyncStream<AnswerAssembly.Step>.Continuation
    }

    private struct State {
        var security: MQTTSecurity
        /// Of the connection that is open or being made.
        var usedSecurity: MQTTSecurity?
        var exchanges: [Data: Exchange] = [:]
        /// Of the connection that is open or being made.
        var connection = ""
        /// What the newest state said; `nil`: none was published on this connection.
        var announced: String??
        var hasUnenrolled = false
        /// Less than the broker announced, because it refused a larger message.
        var partBytes = RequestMessages.greatestPartBytes
        var running: Task<Void, Never>?
        var isShutDown = false
    }

    private let settings: MQTTTransportSettings
    private let topics: DeviceTopics
    private let device: @Sendable () -> String?
    private let state: Mutex<State>
    private let client: MQTTClient
    private let link: Link
    /// Something is new at the collector, or may be. Many that come while nobody listens are one.
    package let news: AsyncStream<Void>

    /// What the client calls. It is made first, and knows the transport as soon as there is one.
    private final class Link: Sendable {
        let transport = Mutex<Weak>(Weak())

        struct Weak: Sendable {
            weak var value: MQTTTransport?
        }

        var value: MQTTTransport? { transport.withLock { $0.value } }
    }

    private let rings: AsyncStream<Void>.Continuation

    /// Opens the library.
    ///
    /// - Parameters:
    ///   - device: the device id once the device is enrolled, as it is now.
    ///   - waits: between two connections.
    /// - Throws: `configuration`, `library`.
    package init(
        _ settings: MQTTTransportSettings, waits: MQTTClient.Waits = MQTTClient.Waits(),
        device: @escaping @Sendable () -> String?
    ) throws(MQTTError) {
        try settings.check()
        self.settings = settings
        self.device = device
        let topics = try settings.topics
        self.topics = topics
        state = Mutex(State(security: settings.security))
        (news, rings) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        let link = Link()
        self.link = link
        client = try MQTTClient(
            subscriptions: [topics.answers, topics.news], waits: waits,
            settings: { () throws(MQTTError) in
                guard let transport = link.value else { throw MQTTError(.cancelled, "the transport has ended") }
                return try transport.nextConnection()
            },
            received: { link.value?.received($0) },
            changed: { await link.value?.changed($0) })
        link.transport.withLock { $0.value = self }
    }

    /// Connects, and stays connected until `shutdown()`. The first request does it by itself, when pins and authorities
    /// are known: the broker's password must not leave without them.
    package func start() {
        state.withLock { state in
            guard state.running == nil, !state.isShutDown else { return }
            state.running = Task { [client] in await client.run() }
        }
    }

    /// Says that the device stops, and disconnects. Requests still running end with an error.
    package func shutdown() async {
        let running = state.withLock { state in
            state.isShutDown = true
            return state.running
        }
        if client.isConnected { await announce("offline", reason: "stopped") }
        running?.cancel()
        await running?.value
        endExchanges(TransportError(.cancelled, "the transport over the broker was shut down"))
        rings.finish()
    }

    package var serverKey: Data? { client.serverKey }

    package func pin(to pins: [Data]) { changeSecurity { $0.pins = pins } }

    package func trust(_ authorities: [Data]) {
        changeSecurity { [settings] in $0.authorities = settings.security.authorities + authorities }
    }

    private func changeSecurity(_ change: (inout MQTTSecurity) -> Void) {
        guard settings.address.isTLS else { return }
        let isChanged = state.withLock { state in
            let former = state.security
            change(&state.security)
            return state.security != former && !state.isShutDown
        }
        if isChanged { client.reconnect() }
    }

    // MARK: - Exchanges

    package func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        start()
        let result = await withTaskGroup(of: Result<TransportResponse, TransportError>?.self) { group in
            group.addTask {
                do throws(TransportError) { return .success(try await self.exchange(request)) } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                do { try await Task.sleep(for: request.timeout) } catch { return nil }
                return .failure(
                    TransportError(
                        .timedOut,
                        "no answer to \(request.path) came over the broker \(self.peer) within \(request.timeout). "
                            + "Check that the collector is connected to the broker, and that the broker's ACL lets "
                            + "\(self.topics.name) publish to \(self.topics.requests) and read \(self.topics.answers)"))
            }
            var result: Result<TransportResponse, TransportError>?
            while result == nil, let next = await group.next() { result = next }
            group.cancelAll()
            return result ?? .failure(self.cancelled)
        }
        if case .success(let response) = result { await answered(request, response) }
        return try result.get()
    }

    private var peer: String { settings.address.authority }
    private var cancelled: TransportError { TransportError(.cancelled, "the request over \(peer) was cancelled") }

    private func exchange(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        let correlation = Data((0..<16).map { _ in UInt8.random(in: 0...255) })
        let (steps, continuation) = AsyncStream.makeStream(
            of: AnswerAssembly.Step.self, bufferingPolicy: .bufferingNewest(4))
        let (messages, connected) = try await prepared(request, correlation)
        // Before it is sent: the answer may come before the acknowledgement.
        state.withLock {
            $0.exchanges[correlation] = Exchange(assembly: AnswerAssembly(request, peer: peer), steps: continuation)
        }
        defer { state.withLock { _ = $0.exchanges.removeValue(forKey: correlation) } }
        guard try await publish(messages.first, over: connected) == .delivered else {
            throw TransportError(
                .connectionRefused,
                "no collector listens behind the broker \(peer) at \(settings.address.prefix): check the prefix, and "
                    + "that the collector is connected to the broker")
        }
        return try await finish(messages, steps, over: connected)
    }

    private func prepared(
        _ request: TransportRequest, _ correlation: Data
    ) async throws(TransportError) -> (RequestMessages, MQTTClient.Connected) {
        do throws(MQTTError) {
            let connected = try await client.connected(within: request.timeout)
            let announced = try RequestMessages.partBytes(maximumPacketBytes: connected.maximumPacketBytes, peer: peer)
            let messages = try RequestMessages(
                request, correlation: correlation, topics: topics,
                partBytes: min(announced, state.withLock { $0.partBytes }))
            return (messages, connected)
        } catch {
            throw TransportError(error)
        }
    }

    /// Sends the other parts when a collector asks for them, and waits for the answer.
    private func finish(
        _ messages: RequestMessages, _ steps: AsyncStream<AnswerAssembly.Step>, over connected: MQTTClient.Connected
    ) async throws(TransportError) -> TransportResponse {
        for await step in steps {
            switch step {
            case .wait: break
            case .answer:
                if let response = state.withLock({ $0.exchanges[messages.correlation]?.assembly.response }) {
                    return response
                }
            case .failed(let error): throw error
            case .goOn(let collector):
                for number in 2..<(messages.count + 1) {
                    // A final answer has come: the rest would be in vain.
                    guard !isAnswered(messages.correlation) else { break }
                    try await publish(messages.part(number, to: collector), over: connected)
                }
            }
        }
        throw cancelled
    }

    private func isAnswered(_ correlation: Data) -> Bool {
        state.withLock { ($0.exchanges[correlation]?.assembly.response.status ?? 1) != 0 }
    }

    @discardableResult
    private func publish(
        _ message: MQTTMessage, over connected: MQTTClient.Connected
    ) async throws(TransportError) -> MQTTAcknowledgement {
        do throws(MQTTError) { return try await connected.publish(message) } catch {
            if error.code == .packetTooLarge {
                // Not every broker announces its limit. The next request is cut smaller.
                state.withLock { $0.partBytes = max(RequestMessages.leastPartBytes, message.payload.count / 2) }
            }
            throw TransportError(error)
        }
    }

    private func endExchanges(_ error: TransportError) {
        let exchanges = state.withLock { state in
            defer { state.exchanges = [:] }
            return Array(state.exchanges.values)
        }
        for exchange in exchanges {
            exchange.steps.yield(.failed(error))
            exchange.steps.finish()
        }
    }

    // MARK: - What the client calls

    private func received(_ message: MQTTMessage) {
        if message.topic == topics.news {
            rings.yield()
            return
        }
        guard message.topic == topics.answers, let correlation = message.correlation else { return }
        state.withLock { state in
            // Nobody waits for it: it is late, or a repeat.
            guard let step = state.exchanges[correlation]?.assembly.take(message), step != .wait else { return }
            state.exchanges[correlation]?.steps.yield(step)
        }
    }

    private func nextConnection() throws(MQTTError) -> MQTTSettings {
        var next = try settings.clientSettings()
        let connection = Data((0..<8).map { _ in UInt8.random(in: 0...255) }).hexadecimal
        next.security = state.withLock { state in
            state.connection = connection
            state.announced = nil
            state.usedSecurity = state.security
            return state.security
        }
        next.will = stateMessage("offline", connection: connection, device: device(), reason: "lost")
        return next
    }

    private func changed(_ change: MQTTClient.Change) async {
        switch change {
        case .connected:
            // Other pins came while it connected.
            guard state.withLock({ $0.usedSecurity == $0.security }) else { return client.reconnect() }
            await announce("online")
            // What was new while it was away was told to nobody.
            rings.yield()
        case .disconnected(let why):
            endExchanges(TransportError(why))
        }
    }

    // MARK: - State

    private func answered(_ request: TransportRequest, _ response: TransportResponse) async {
        guard (200...299).contains(response.status) else { return }
        let path = request.path
        if path == WireNames.unenrollPath {
            state.withLock { $0.hasUnenrolled = true }
            await forget()
            return
        }
        let former = state.withLock { $0.announced }
        guard former != .some(device()) else { return }
        // It has got its id since. The enrollment is kept after its answer, so this is the next request.
        state.withLock { $0.hasUnenrolled = false }
        await announce("online")
        // What was new for the id before was told to nobody. Where the state could not be published, nothing is known.
        if former != nil { rings.yield() }
    }

    private func announce(_ word: String, reason: String? = nil) async {
        let device = device()
        let connection = state.withLock { state -> String? in
            if state.hasUnenrolled, device == nil { return nil }
            if word == "online" { state.announced = .some(device) }
            return state.connection
        }
        guard let connection else { return }
        await publishState(stateMessage(word, connection: connection, device: device, reason: reason))
    }

    /// Nobody shall think of a device that has left as offline.
    private func forget() async { await publishState(MQTTMessage(topic: topics.state, isRetained: true)) }

    /// A state is a hint, so one that the broker did not take is not repeated.
    private func publishState(_ message: MQTTMessage) async {
        do throws(MQTTError) {
            try await client.connected(within: .seconds(5)).publish(message)
        } catch {
            state.withLock { $0.announced = nil }
        }
    }

    private func stateMessage(
        _ word: String, connection: String, device: String?, reason: String?
    ) -> MQTTMessage {
        var message = MQTTMessage(topic: topics.state, payload: Data(word.utf8), isRetained: true)
        message.properties = [.init(":connection", connection)]
        if let device { message.properties.append(.init(":device", device)) }
        if let reason { message.properties.append(.init(":reason", reason)) }
        return message
    }
}

extension TransportError {
    init(_ error: MQTTError) {
        let code: Code =
            switch error.code {
            case .nameResolution: .nameResolution
            case .connectionRefused: .connectionRefused
            case .connectionClosed, .takenOver, .unavailable: .connectionClosed
            case .unresponsive: .timedOut
            case .tls: .tls
            case .pinMismatch: .pinMismatch
            case .cancelled: .cancelled
            case .library, .configuration, .badCredentials, .notAuthorized, .unspecified, .packetTooLarge, .topic,
                .notSupported, .other:
                .other
            }
        self.init(code, error.message)
    }
}
