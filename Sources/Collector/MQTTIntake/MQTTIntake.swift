import Collector
import CoreMetrics
import HTTPTypes
import HummingbirdCore
import Logging
import MQTTClient
import NIOCore
import RecordStore
import Registry
import Synchronization
import WireModel

/// Receives devices' requests from a message broker and answers them as the HTTP server does.
///
/// A request message becomes a call of the same route, with the same middleware, limits and refusals
/// (`DeviceExchange`). Its answer goes to the device's own topic. `Schemas/mqtt/PROTOCOL.md` describes topics and
/// properties.
///
/// Memory is bounded: by the number of requests that are worked on, and by the bytes of parts that wait to be read.
/// What comes beyond is refused as busy, and beyond twice as much is dropped; its device repeats it after its time
/// limit. Nothing is acknowledged to a device but by an answer, so a message that is lost costs a repeat.
package final class MQTTIntake: Sendable {
    package struct Settings: Equatable, Sendable {
        /// The most requests that are worked on at once. Further ones are answered 429.
        package var maximumRequests = 512
        /// The most bytes of parts that wait to be read, of all requests together. Further ones are answered 503.
        package var partBytes = 64 * 1024 * 1024

        package init() {}
    }

    private struct Partial {
        var correlation: [UInt8]
        var inbox: PartInbox
        var deadline: Int64
    }

    private struct State {
        /// Requests that are worked on.
        var underWay = 0
        /// The request in parts that is under way, by the sender's name.
        var partials: [String: Partial] = [:]
    }

    typealias Work = @Sendable () async -> Void

    private let exchange: DeviceExchange
    private let broker: any Broker
    private let topics: IntakeTopics
    private let settings: Settings
    private let metrics: IntakeMetrics
    private let memory: PartMemory
    private let news: NewsPublisher
    private let watch: BrokerWatch
    private let now: @Sendable () -> Int64
    private let uptime: @Sendable () -> Int64
    private let logger: Logger
    private let state = Mutex(State())
    /// What is known of devices' connections to the broker.
    package let devices: BrokerDevices

    /// - Parameters:
    ///   - metadata: devices hear of its changes.
    ///   - metrics: receives the families `ws1_mqtt_…`.
    ///   - uptime: microseconds; nobody can set it.
    package init(
        exchange: DeviceExchange, metadata: MetadataService, notices: NoticeService, broker: any Broker,
        topics: IntakeTopics, peer: String, settings: Settings = Settings(), devices: BrokerDevices = BrokerDevices(),
        metrics: any MetricsFactory, logger: Logger,
        uptime: @escaping @Sendable () -> Int64 = Uptime.microseconds
    ) {
        (self.exchange, self.broker, self.topics, self.settings) = (exchange, broker, topics, settings)
        (self.devices, self.logger, self.uptime) = (devices, logger, uptime)
        self.metrics = IntakeMetrics(metrics)
        memory = PartMemory(limit: settings.partBytes)
        watch = BrokerWatch(peer: peer, notices: notices, logger: logger)
        let clock = metadata.clock
        now = { clock.now() }
        let news = NewsPublisher(
            broker: broker, topics: topics, devices: devices, metadata: metadata, metrics: self.metrics, logger: logger)
        self.news = news
        metadata.observers.add { [weak news] change in news?.changed(change) }
    }

    /// Serves devices until the task is cancelled. Requests that are under way then are cut off, and their devices
    /// repeat them.
    package func run(on clock: some Clock<Duration> = ContinuousClock()) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.news.run() }
            group.addTask { await self.broker.run() }
            group.addTask {
                while !Task.isCancelled {
                    await self.look()
                    try? await clock.sleep(for: .seconds(1))
                }
            }
            await withDiscardingTaskGroup { requests in
                while let event = await broker.next() {
                    if let work = take(event) { requests.addTask { await work() } }
                }
                requests.cancelAll()
            }
            group.cancelAll()
        }
        metrics.connected(false)
    }

    /// Ends requests in parts whose time is up, and looks after the connection.
    func look() async {
        let now = uptime()
        let late = state.withLock { state in
            let late = state.partials.filter { $0.value.deadline <= now }
            for name in late.keys { state.partials[name] = nil }
            return late.values.map(\.inbox)
        }
        for inbox in late { inbox.fail(Problem.partsBroken("its time limit was over before all parts came")) }
        for _ in 0..<broker.takeDropped() { metrics.ignored(.overload) }
        metrics.waiting(memory.bytes)
        let counts = devices.counts
        metrics.devices(online: counts.online, offline: counts.offline)
        await watch.look(at: now)
    }

    /// - Returns: what is to be done for the event, without delaying the next one; `nil`: nothing more.
    func take(_ event: BrokerEvent) -> Work? {
        switch event {
        case .connected:
            metrics.connected(true)
            watch.connected()
            news.connected(true)
            return nil
        case .disconnected(let reason):
            metrics.connected(false)
            watch.disconnected(reason, at: uptime())
            news.connected(false)
            return nil
        case .message(let message): return take(message)
        }
    }

    private func take(_ message: MQTTMessage) -> Work? {
        guard let (kind, name) = topics.parse(message.topic) else { return ignored(.topic) }
        metrics.came(kind)
        if kind == .state { return devices.heard(message, of: name, at: now()) ? nil : ignored(.malformed) }
        switch RequestEnvelope.address(of: message, name: name, in: topics, at: uptime()) {
        case .failure(let error): return ignored(error.reason)
        case .success(let address):
            return kind == .request ? request(message, address) : part(message, address)
        }
    }

    private func ignored(_ reason: IgnoredReason) -> Work? {
        metrics.ignored(reason)
        return nil
    }

    // MARK: Requests

    private func request(_ message: MQTTMessage, _ address: ReturnAddress) -> Work? {
        guard underWay < settings.maximumRequests else {
            return refusal(.brokerBusy(limit: settings.maximumRequests), address)
        }
        let envelope: RequestEnvelope
        do throws(Problem) { envelope = try RequestEnvelope(message, address) } catch {
            return refusal(error, address)
        }
        let body = ByteBuffer(bytes: message.payload)
        guard let parts = envelope.parts else {
            return counted { await self.answer(envelope, RequestBody(buffer: body)) }
        }
        return begin(envelope, parts, body)
    }

    /// Begins a request in parts. A new one of the same sender replaces the former.
    private func begin(_ envelope: RequestEnvelope, _ parts: RequestEnvelope.Parts, _ first: ByteBuffer) -> Work? {
        let (address, name) = (envelope.address, envelope.address.name)
        let inbox = PartInbox(
            PartSequence(count: parts.count, length: parts.length, digest: parts.digest), memory: memory
        ) { [self] in
            await publish([AnswerMessages.goOn(address, collector: topics.collector, at: uptime())], address)
        }
        let partial = Partial(correlation: Array(address.correlation), inbox: inbox, deadline: address.deadline)
        let (isRepeat, former) = state.withLock { state -> (Bool, PartInbox?) in
            let former = state.partials[name]
            guard former?.correlation != partial.correlation else { return (true, nil) }
            state.partials[name] = partial
            return (false, former?.inbox)
        }
        // QoS 1 may deliver a message twice.
        guard !isRepeat else { return nil }
        former?.fail(Problem.partsBroken("the device has begun another request"))
        inbox.put(1, of: parts.count, first)
        return counted {
            await self.answer(envelope, RequestBody(asyncSequence: inbox.body))
            inbox.fail(CancellationError())
            self.state.withLock { state in
                if state.partials[name]?.inbox === inbox { state.partials[name] = nil }
            }
        }
    }

    private func part(_ message: MQTTMessage, _ address: ReturnAddress) -> Work? {
        guard let (number, count) = message[":part"].flatMap(RequestEnvelope.part) else { return ignored(.malformed) }
        let correlation = Array(address.correlation)
        let partial = state.withLock { $0.partials[address.name] }
        guard let partial, partial.correlation == correlation else {
            return refusal(
                .partsBroken(
                    "the collector does not know it; it may have been refused, replaced, or begun before a restart"),
                address)
        }
        partial.inbox.put(number, of: count, ByteBuffer(bytes: message.payload))
        return nil
    }

    /// Counts work while it lasts.
    private func counted(_ work: @escaping Work) -> Work {
        count(1)
        return {
            await work()
            self.count(-1)
        }
    }

    private func count(_ change: Int) {
        let underWay = state.withLock { state in
            state.underWay += change
            return state.underWay
        }
        metrics.underWay(underWay)
    }

    private var underWay: Int { state.withLock { $0.underWay } }

    /// Refuses a request before any route has it. A flood of what is refused is dropped, so it uses no more memory.
    private func refusal(_ problem: Problem, _ address: ReturnAddress) -> Work? {
        guard underWay < 2 * settings.maximumRequests else { return ignored(.overload) }
        return counted {
            let answer = await self.exchange.refuse(problem, RequestEnvelope.unknownHead, from: Self.peer(address))
            await self.publish(answer, address)
        }
    }

    private func answer(_ envelope: RequestEnvelope, _ body: RequestBody) async {
        let answer = await exchange.answer(envelope.head, body: body, from: Self.peer(envelope.address))
        if let device = answer.device { devices.proved(envelope.address.name, device.id) }
        await publish(answer, envelope.address)
    }

    /// The sender as limits and log lines have it: its name at the broker, whose access list admits it under no other.
    private static func peer(_ address: ReturnAddress) -> String { "mqtt:\(address.name)" }

    // MARK: Answers

    private func publish(_ answer: DeviceExchange.Answer, _ address: ReturnAddress) async {
        let limit = AnswerMessages.partBytes(maximumPacketBytes: await broker.maximumPacketBytes)
        await publish(AnswerMessages.of(answer, to: address, partBytes: limit, at: uptime()), address)
    }

    private func publish(_ messages: [MQTTMessage], _ address: ReturnAddress) async {
        guard uptime() < address.deadline else {
            metrics.answer(.late)
            return
        }
        do {
            for message in messages { try await broker.publish(message) }
            metrics.answer(.published)
        } catch {
            // The device repeats its request after its time limit.
            metrics.answer(.failed)
            logger.debug("answer not published", metadata: ["error": "\(error)", "mqtt.name": "\(address.name)"])
        }
    }
}

extension Problem {
    static func brokerBusy(limit: Int) -> Problem {
        Problem(
            status: 429, code: .busy, title: "Too many requests",
            detail: "The collector works on \(limit) requests from the broker, which is the limit. Wait.",
            retryable: true, retryAfterMs: 2000, limit: limit)
    }
}
