import FoundationEssentials
import Synchronization

/// A client of one broker that keeps itself connected: it connects, subscribes, and after the end of a connection waits
/// and connects again, until it is cancelled.
///
/// Waits have full jitter: a random share of a window that doubles from 1 s to 5 min. Whoever wants to send calls
/// ``connected(within:)``, which ends the wait: the caller has a backoff of its own. Only the wait after a takeover is
/// not ended so, because two clients with one id would throw each other out for ever.
///
/// Safe to use from any task. Messages are handed over as they come; nothing is kept for a connection that ended.
package final class MQTTClient: Sendable {
    package enum Change: Equatable, Sendable {
        /// Connected, and all subscriptions were granted.
        case connected
        case disconnected(MQTTError)
    }

    /// Of the connection that is open.
    package struct Connected: Sendable {
        let connection: MQTTConnection
        /// The largest packet that the broker takes, in bytes; `nil`: it named none.
        package let maximumPacketBytes: Int?

        /// Publishes a message, and waits for the broker's acknowledgement.
        /// - Throws: with the reason that the broker gave; `unresponsive` if it gave none in time.
        @discardableResult
        package func publish(_ message: MQTTMessage) async throws(MQTTError) -> MQTTAcknowledgement {
            try await connection.publish(message)
        }
    }

    package struct Waits: Sendable {
        package var first = Duration.seconds(1)
        package var longest = Duration.seconds(300)
        /// After another client took the session over. Half of it or more, at random.
        package var afterTakeover = Duration.seconds(120)
        /// A connection that the broker closes earlier counts as a failure to connect.
        package var brief = Duration.seconds(60)

        package init() {}
    }

    private enum Phase {
        case idle
        case connecting
        case connected(Connected)
        /// A caller may end the wait, unless another client has the session.
        case waiting(MQTTError)
        case ended
    }

    private struct State {
        var phase = Phase.idle
        var callers: [UInt64: CheckedContinuation<Result<Connected, MQTTError>, Never>] = [:]
        var nextCaller: UInt64 = 0
        /// Somebody wants to send, or the time of the wait is over.
        var isPauseOver = false
        var pause: CheckedContinuation<Void, Never>?
    }

    /// How one connection ended.
    private final class Ending: Sendable {
        private struct State {
            var why: MQTTError?
            var waiter: CheckedContinuation<MQTTError, Never>?
        }

        private let state = Mutex(State())

        func tell(_ why: MQTTError) {
            let waiter = state.withLock { state in
                state.why = why
                return state.waiter.take()
            }
            waiter?.resume(returning: why)
        }

        /// Only one task may wait.
        var why: MQTTError {
            get async {
                await withCheckedContinuation { continuation in
                    let why = state.withLock { state in
                        if state.why == nil { state.waiter = continuation }
                        return state.why
                    }
                    if let why { continuation.resume(returning: why) }
                }
            }
        }
    }

    private let settings: @Sendable () throws(MQTTError) -> MQTTSettings
    private let subscriptions: [String]
    private let waits: Waits
    private let roll: @Sendable () -> Double
    private let received: @Sendable (MQTTMessage) -> Void
    private let changed: @Sendable (Change) async -> Void
    private let libraryName: String
    private let state = Mutex(State())
    private let contexts = Mutex<Security?>(nil)

    /// The context of the newest connection, and what it was made from.
    private struct Security {
        var security: MQTTSecurity
        var address: MQTTAddress
        /// Digest of the files.
        var files: Data
        var context: MQTTSecurityContext
    }

    /// Opens the library, and checks the subscriptions. It connects when it runs.
    ///
    /// - Parameters:
    ///   - subscriptions: filters, subscribed to one after another with quality of service 1.
    ///   - settings: asked before each connection, so that another will, pin or password is used from then on.
    ///   - received: called on the connection's thread in the order of arrival. It must not block: keep-alives wait for
    ///     it.
    ///   - changed: heard in turn; the next connection waits for it.
    /// - Throws: `library`, `topic`.
    package init(
        subscriptions: [String], waits: Waits = Waits(),
        roll: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
        settings: @escaping @Sendable () throws(MQTTError) -> MQTTSettings,
        received: @escaping @Sendable (MQTTMessage) -> Void,
        changed: @escaping @Sendable (Change) async -> Void
    ) throws(MQTTError) {
        libraryName = LibMosquitto.library
        _ = try LibMosquitto.open(libraryName)
        for subscription in subscriptions { try MQTTTopic.check(filter: subscription) }
        self.subscriptions = subscriptions
        self.waits = waits
        self.roll = roll
        self.settings = settings
        self.received = received
        self.changed = changed
    }

    /// SHA-256 of the subject public key info that the broker showed on the newest connection; `nil` if there was none
    /// yet, or no TLS.
    package var serverKey: Data? { contexts.withLock { $0?.context.newest.key } }

    /// Whether a connection is open now.
    package var isConnected: Bool {
        state.withLock { if case .connected = $0.phase { true } else { false } }
    }

    /// Checks what needs no connection: the library, and the files of certificates.
    package static func check(_ settings: MQTTSettings) throws(MQTTError) {
        let library = try LibMosquitto.open()
        if settings.address.isTLS {
            _ = try MQTTSecurityContext(settings.security, for: settings.address, library: library)
        }
    }

    /// The open connection. If there is none, one is tried at once, and the call waits for what comes of it.
    /// - Throws: why there is none; `unresponsive` after `limit`.
    package func connected(within limit: Duration) async throws(MQTTError) -> Connected {
        let number = state.withLock { state in
            state.nextCaller += 1
            return state.nextCaller
        }
        let timer = Task {
            do { try await Task.sleep(for: limit) } catch { return }
            self.settle(
                number, .failure(MQTTError(.unresponsive, "the broker accepted no connection within \(limit)")))
        }
        defer { timer.cancel() }
        let result: Result<Connected, MQTTError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known = state.withLock { state -> Result<Connected, MQTTError>? in
                    switch state.phase {
                    case .connected(let connected): return .success(connected)
                    case .ended: return .failure(Self.ended)
                    case .waiting(let why) where why.code == .takenOver: return .failure(why)
                    case .idle, .connecting, .waiting:
                        state.callers[number] = continuation
                        return nil
                    }
                }
                if let known { return continuation.resume(returning: known) }
                endPause()
                if Task.isCancelled { settle(number, .failure(Self.cancelled)) }
            }
        } onCancel: {
            settle(number, .failure(Self.cancelled))
        }
        return try result.get()
    }

    /// Ends the open connection in order, and makes the next one under the settings of then.
    package func reconnect() {
        let connected = state.withLock { state -> Connected? in
            guard case .connected(let connected) = state.phase else { return nil }
            return connected
        }
        connected?.connection.close()
    }

    private static let ended = MQTTError(.cancelled, "the client of the broker has ended")
    private static let cancelled = MQTTError(.cancelled, "waiting for the broker was cancelled")

    private func settle(_ number: UInt64, _ result: Result<Connected, MQTTError>) {
        state.withLock { $0.callers.removeValue(forKey: number) }?.resume(returning: result)
    }

    private func enter(_ phase: Phase, telling result: Result<Connected, MQTTError>? = nil) {
        let callers = state.withLock { state in
            state.phase = phase
            if case .waiting = phase { state.isPauseOver = false }
            guard result != nil else { return [CheckedContinuation<Result<Connected, MQTTError>, Never>]() }
            defer { state.callers = [:] }
            return Array(state.callers.values)
        }
        if let result { for caller in callers { caller.resume(returning: result) } }
    }
}

// MARK: - Connecting again

extension MQTTClient {
    /// Keeps the client connected until the task is cancelled. It disconnects in order then. Called once.
    package func run() async {
        var failures = 0
        var brief = 0
        while !Task.isCancelled {
            enter(.connecting)
            let began = ContinuousClock.now
            let (ended, wasConnected) = await connectOnce()
            if Task.isCancelled { break }
            let wasBrief = ContinuousClock.now - began < waits.brief
            brief = wasConnected && wasBrief && ended.code == .connectionClosed ? brief + 1 : 0
            failures = wasConnected && !wasBrief ? 1 : failures + 1
            let why = brief < Self.briefInRow ? ended : takenOver(ended)
            enter(.waiting(why), telling: .failure(why))
            await changed(.disconnected(why))
            await pause(after: why, failures: failures)
        }
        enter(.ended, telling: .failure(Self.ended))
    }

    /// Mosquitto 2.0 closes the connection of the first of two clients with one id and does not say why.
    private func takenOver(_ ended: MQTTError) -> MQTTError {
        MQTTError(
            .takenOver,
            "\(ended.message), \(Self.briefInRow) times in a row soon after it had accepted this client. Most "
                + "probably another client connects with the same client id. Each needs its own: check mqttUser and "
                + "mqttName for a copied configuration")
    }

    private static let briefInRow = 3

    /// One connection, from its first packet to its end.
    private func connectOnce() async -> (MQTTError, wasConnected: Bool) {
        let ending = Ending()
        let connection: MQTTConnection
        do throws(MQTTError) { connection = try makeConnection(ending) } catch { return (error, false) }
        do throws(MQTTError) {
            let opened = try await open(connection)
            for subscription in subscriptions { try await connection.subscribe(subscription) }
            let connected = Connected(connection: connection, maximumPacketBytes: opened.maximumPacketBytes)
            enter(.connected(connected), telling: .success(connected))
        } catch {
            connection.abandon(error)
            // A cancelled one may still be about to reach the broker, which can take minutes. Nobody waits for that.
            if !Task.isCancelled { _ = await ending.why }
            return (error, false)
        }
        await changed(.connected)
        let why = await withTaskCancellationHandler {
            await ending.why
        } onCancel: {
            connection.close()
        }
        return (why, true)
    }

    private func open(_ connection: MQTTConnection) async throws(MQTTError) -> MQTTConnection.Opened {
        let result: Result<MQTTConnection.Opened, MQTTError> = await withTaskCancellationHandler {
            do throws(MQTTError) { return .success(try await connection.open()) } catch { return .failure(error) }
        } onCancel: {
            connection.abandon(Self.cancelled)
        }
        return try result.get()
    }

    private func makeConnection(_ ending: Ending) throws(MQTTError) -> MQTTConnection {
        let settings = try settings()
        let library = try LibMosquitto.open(libraryName)
        return try MQTTConnection(
            settings, library: library, security: try context(for: settings, library),
            events: MQTTConnection.Events(received: received) { ending.tell($0) })
    }

    /// The context of the settings; the one before, if they are the same.
    private func context(
        for settings: MQTTSettings, _ library: LibMosquitto
    ) throws(MQTTError) -> MQTTSecurityContext? {
        guard settings.address.isTLS else { return nil }
        // libmosquitto 2.0.12 and later keeps a reference for ever when TCP fails, so a context for each connection
        // would use up the memory of a device whose broker is away.
        let files = MQTTSecurityContext.digest(ofFilesOf: settings.security)
        if let known = contexts.withLock({ $0 }), known.security == settings.security,
            known.address == settings.address, known.files == files
        {
            return known.context
        }
        let made = try MQTTSecurityContext(settings.security, for: settings.address, library: library)
        contexts.withLock {
            $0 = Security(security: settings.security, address: settings.address, files: files, context: made)
        }
        return made
    }

    private func pause(after why: MQTTError, failures: Int) async {
        let isTakenOver = why.code == .takenOver
        let doublings = min(failures - 1, 16)
        let wait =
            isTakenOver
            ? waits.afterTakeover * (0.5 + roll() / 2) : min(waits.longest, waits.first * (1 << doublings)) * roll()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await Task.sleep(for: wait)
                self.endPause()
            }
            await untilPauseIsOver()
            group.cancelAll()
        }
    }

    private func untilPauseIsOver() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.isPauseOver || Task.isCancelled { return true }
                    state.pause = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            endPause()
        }
    }

    private func endPause() {
        let pause = state.withLock { state in
            state.isPauseOver = true
            return state.pause.take()
        }
        pause?.resume()
    }
}
