import CLibMosquitto
import FoundationEssentials
import Glibc
import Synchronization

/// One connection to a broker, from its first packet to its end. It never connects again; ``MQTTClient`` makes the next
/// one.
///
/// A thread of its own moves the packets. It waits with poll(2): the library's own loop uses select(2), which fails in
/// a program with more than 1,024 open files. Safe to use from any task.
final class MQTTConnection: Sendable {
    struct Events: Sendable {
        /// Called on the connection's thread, in the order of arrival. The broker has its acknowledgement afterwards.
        /// Must not wait for this connection.
        var received: @Sendable (MQTTMessage) -> Void
        /// Called once, last.
        var ended: @Sendable (MQTTError) -> Void
    }

    /// What the broker said when it accepted the connection.
    struct Opened: Sendable {
        /// The largest packet that it takes; `nil`: it named none.
        var maximumPacketBytes: Int?
    }

    private struct State {
        /// `nil` once the connection has ended.
        var handle: OpaquePointer?
        var opening: CheckedContinuation<Result<Opened, MQTTError>, Never>?
        var opened: Result<Opened, MQTTError>?
        var waiting: [CInt: Waiting] = [:]
        /// The first reason is the true one; what follows from it says less.
        var failure: MQTTError?
        var isClosing = false
    }

    private struct Waiting {
        var request: MQTTError.Request
        var continuation: CheckedContinuation<Result<MQTTAcknowledgement, MQTTError>, Never>
    }

    private let settings: MQTTSettings
    private let library: LibMosquitto
    private let security: MQTTSecurityContext?
    private let events: Events
    private let wake: Int32
    private let state = Mutex(HandleState(State()))

    /// Lets a pointer of the library be part of the state, which only the lock's owner touches.
    private struct HandleState: @unchecked Sendable {  // The mutex guards the handle; the library locks inside.
        var value: State
        init(_ value: State) { self.value = value }
    }

    private var peer: String { settings.address.authority }

    /// - Throws: `configuration` for a will that cannot be published; `other` if the machine has no room.
    init(
        _ settings: MQTTSettings, library: LibMosquitto, security: MQTTSecurityContext?, events: Events
    ) throws(MQTTError) {
        self.settings = settings
        self.library = library
        self.security = security
        self.events = events
        wake = libmosquitto_wake_descriptor()
        guard wake >= 0 else {
            throw MQTTError(.other, "no file descriptor is free for the connection to the broker: raise ulimit -n")
        }
    }

    deinit { _ = Glibc.close(wake) }

    /// Connects, and waits until the broker accepted or refused.
    func open() async throws(MQTTError) -> Opened {
        let result: Result<Opened, MQTTError> = await withCheckedContinuation { continuation in
            state.withLock { $0.value.opening = continuation }
            let hasStarted = MQTTThread.start("ws1-mqtt") { self.run() }
            guard !hasStarted else { return }
            let why = MQTTError(.other, "no thread is free for the connection to the broker: raise ulimit -u")
            settleOpening(.failure(why))
            events.ended(why)
        }
        return try result.get()
    }

    /// Publishes a message, and waits for the broker's acknowledgement.
    func publish(_ message: MQTTMessage) async throws(MQTTError) -> MQTTAcknowledgement {
        try MQTTTopic.check(topic: message.topic)
        if let topic = message.responseTopic { try MQTTTopic.check(topic: topic) }
        var list = try MQTTProperties(library: library).list(of: message)
        defer { library.call.freeProperties(&list) }
        let properties = Properties(list: list)
        return try await acknowledged(.publish(message.topic)) { handle, identifier in
            Array(message.payload).withUnsafeBytes {
                self.library.call.publish(
                    handle, &identifier, message.topic, CInt(clamping: $0.count), $0.baseAddress, 1,
                    message.isRetained, properties.list)
            }
        }
    }

    /// Subscribes, and waits until the broker granted it.
    func subscribe(_ filter: String) async throws(MQTTError) {
        try MQTTTopic.check(filter: filter)
        _ = try await acknowledged(.subscribe(filter)) { handle, identifier in
            self.library.call.subscribe(handle, &identifier, filter, 1, 0, nil)
        }
    }

    /// Disconnects in order, so that the broker publishes no will.
    func close() {
        state.withLock { state in
            state.value.isClosing = true
            guard let handle = state.value.handle else { return }
            _ = library.call.disconnect(handle, 0, nil)
        }
        wakeUp()
    }

    /// Ends the connection as if the network had broken.
    func abandon(_ why: MQTTError) {
        state.withLock {
            $0.value.failure = $0.value.failure ?? why
            $0.value.isClosing = true
        }
        settleOpening(.failure(why))
        wakeUp()
    }

    private struct Properties: @unchecked Sendable {  // The list is read only, and freed after the call.
        let list: OpaquePointer?
    }

    /// Sends a packet and waits for its acknowledgement. The lock is held from the sending to the entry in the table,
    /// so an acknowledgement cannot come before its entry.
    private func acknowledged(
        _ request: MQTTError.Request,
        _ send: @escaping @Sendable (OpaquePointer, inout CInt) -> CInt
    ) async throws(MQTTError) -> MQTTAcknowledgement {
        let identifier = Mutex<CInt?>(nil)
        let limit = settings.acknowledgementTimeout
        let timer = Task { [peer] in
            do { try await Task.sleep(for: limit) } catch { return }
            self.settle(
                identifier.withLock { $0 },
                .failure(
                    MQTTError(
                        .unresponsive,
                        "the broker \(peer) is unresponsive: no acknowledgement within \(limit). Check the network; "
                            + "the broker's administrator may have to restart it")))
        }
        defer { timer.cancel() }
        let result: Result<MQTTAcknowledgement, MQTTError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let refusal = state.withLock { state -> MQTTError? in
                    guard let handle = state.value.handle, case .success? = state.value.opened else {
                        return state.value.failure
                            ?? MQTTError(.connectionClosed, "there is no connection to the broker \(peer)")
                    }
                    var made: CInt = 0
                    let result = send(handle, &made)
                    let cause = errno
                    guard result == LibMosquittoNumber.success else {
                        return MQTTError(result: result, cause: cause, peer: peer, library: library)
                    }
                    identifier.withLock { $0 = made }
                    state.value.waiting[made] = Waiting(request: request, continuation: continuation)
                    return nil
                }
                if let refusal { return continuation.resume(returning: .failure(refusal)) }
                wakeUp()
                // A cancellation before the entry found none.
                if Task.isCancelled { settle(identifier.withLock { $0 }, .failure(cancelled)) }
            }
        } onCancel: {
            settle(identifier.withLock { $0 }, .failure(cancelled))
        }
        return try result.get()
    }

    private var cancelled: MQTTError {
        MQTTError(.cancelled, "what was asked of the broker \(peer) was cancelled")
    }

    private func settle(_ identifier: CInt?, _ result: Result<MQTTAcknowledgement, MQTTError>) {
        guard let identifier else { return }
        let waiting = state.withLock { $0.value.waiting.removeValue(forKey: identifier) }
        waiting?.continuation.resume(returning: result)
    }

    private func settleOpening(_ result: Result<Opened, MQTTError>) {
        let opening = state.withLock { state in
            defer { state.value.opening = nil }
            if state.value.opened == nil { state.value.opened = result }
            return state.value.opening
        }
        opening?.resume(returning: result)
    }

    private func failed(_ error: MQTTError) {
        state.withLock { $0.value.failure = $0.value.failure ?? error }
    }

    private func wakeUp() {
        var one: UInt64 = 1
        // Fails only if it is about to wake up anyway.
        _ = write(wake, &one, 8)
    }
}

// MARK: - The thread

extension MQTTConnection {
    /// How long a disconnect may take.
    private static let closeTime = Duration.seconds(3)
    /// Between two looks at the keep-alive.
    private static let longestWaitMilliseconds: Int32 = 5000

    private func run() {
        // The library calls back with this pointer, on this thread only.
        let object = Unmanaged.passUnretained(self).toOpaque()
        if let handle = library.call.create(settings.clientID, true, object) {
            security?.forget()
            move(handle)
            state.withLock { $0.value.handle = nil }
            library.call.destroy(handle)
        } else {
            failed(MQTTError(.other, "libmosquitto made no client: its id may be no UTF-8, or memory is short"))
        }
        let (failure, waiting) = state.withLock { state in
            defer { state.value.waiting = [:] }
            return (
                state.value.failure
                    ?? MQTTError(.connectionClosed, "the connection to the broker \(peer) was closed here"),
                state.value.waiting.values
            )
        }
        for entry in waiting { entry.continuation.resume(returning: .failure(failure)) }
        settleOpening(.failure(failure))
        events.ended(failure)
    }

    private func move(_ handle: OpaquePointer) {
        guard prepare(handle) else { return }
        let result = library.call.connect(
            handle, settings.address.host, CInt(settings.address.port),
            CInt(clamping: settings.keepAlive.components.seconds), nil, nil)
        let cause = errno
        guard result == LibMosquittoNumber.success else { return lost(result, cause) }
        state.withLock { $0.value.handle = handle }
        let deadline = ContinuousClock.now + settings.connectTimeout
        var closing: ContinuousClock.Instant?
        while true {
            let (isOpen, isAbandoned, isClosing) = state.withLock {
                ($0.value.opened != nil, $0.value.failure != nil, $0.value.isClosing)
            }
            if isAbandoned { return }
            // A network that is gone does not keep a stop waiting.
            if isClosing, closing == nil { closing = .now + Self.closeTime }
            if let closing, ContinuousClock.now >= closing { return }
            if !isOpen, ContinuousClock.now >= deadline {
                return failed(
                    MQTTError(
                        .unresponsive,
                        "the broker \(peer) is unresponsive: it accepted no connection within "
                            + "\(settings.connectTimeout). Check host and port; its administrator may have to "
                            + "restart it"
                    ))
            }
            guard pass(handle, waitMilliseconds: isOpen && !isClosing ? Self.longestWaitMilliseconds : 100) else {
                return
            }
        }
    }

    /// Waits for something to do, and does it.
    /// - Returns: `false` if the connection has ended.
    private func pass(_ handle: OpaquePointer, waitMilliseconds: Int32) -> Bool {
        let socket = library.call.socket(handle)
        guard socket >= 0 else { return false }
        let reads = Int16(POLLIN)
        var polled = [
            pollfd(fd: socket, events: library.call.wantWrite(handle) ? reads | Int16(POLLOUT) : reads, revents: 0),
            pollfd(fd: wake, events: reads, revents: 0),
        ]
        let count = poll(&polled, nfds_t(polled.count), waitMilliseconds)
        guard count >= 0 || errno == EINTR else {
            failed(MQTTError(.other, "waiting for the broker \(peer) failed: \(String(cString: strerror(errno)))"))
            return false
        }
        if polled[1].revents != 0 {
            var drained: UInt64 = 0
            _ = read(wake, &drained, 8)
        }
        var result = LibMosquittoNumber.success
        if polled[0].revents != 0 { result = library.call.loopRead(handle, 1) }
        if result == LibMosquittoNumber.success, library.call.wantWrite(handle) {
            result = library.call.loopWrite(handle, 1)
        }
        if result == LibMosquittoNumber.success, library.call.socket(handle) >= 0 {
            result = library.call.loopMisc(handle)
        }
        let cause = errno
        guard result != LibMosquittoNumber.success else { return true }
        lost(result, cause)
        return false
    }

    private func lost(_ result: CInt, _ cause: CInt) {
        // The handshake's verdict says more than "TLS failed".
        if let refusal = security?.newest.refusal { return failed(refusal) }
        failed(MQTTError(result: result, cause: cause, peer: peer, library: library))
    }

    /// - Returns: `false` if the settings cannot be used.
    private func prepare(_ handle: OpaquePointer) -> Bool {
        let call = library.call
        _ = call.intOption(handle, LibMosquittoNumber.optionProtocolVersion, LibMosquittoNumber.version5)
        _ = call.intOption(handle, LibMosquittoNumber.optionReceiveMaximum, CInt(settings.receiveMaximum))
        _ = call.intOption(handle, LibMosquittoNumber.optionNoDelay, 1)
        _ = call.threadedSet(handle, true)
        if let user = settings.user { _ = call.credentialsSet(handle, user, settings.password) }
        if let security {
            _ = call.intOption(handle, LibMosquittoNumber.optionTLSDefaults, 0)
            _ = call.voidOption(handle, LibMosquittoNumber.optionTLSContext, security.pointer)
        }
        call.onConnect(handle) { _, object, reason, _, list in
            MQTTConnection.of(object)?.accepted(reason, list)
        }
        call.onDisconnect(handle) { _, object, reason, _ in MQTTConnection.of(object)?.disconnected(reason) }
        call.onPublish(handle) { _, object, identifier, reason, _ in
            MQTTConnection.of(object)?.published(identifier, reason)
        }
        call.onSubscribe(handle) { _, object, identifier, count, granted, _ in
            MQTTConnection.of(object)?.subscribed(identifier, count > 0 ? granted[0] : 128)
        }
        call.onMessage(handle) { _, object, message, list in
            guard let connection = MQTTConnection.of(object) else { return }
            connection.events.received(
                MQTTProperties(library: connection.library).message(message.pointee, list))
        }
        guard let will = settings.will else { return true }
        do throws(MQTTError) {
            try MQTTTopic.check(topic: will.topic)
            var list = try MQTTProperties(library: library).list(of: will)
            let result = Array(will.payload).withUnsafeBytes {
                call.willSet(
                    handle, will.topic, CInt(clamping: $0.count), $0.baseAddress, 1, will.isRetained, list)
            }
            guard result == LibMosquittoNumber.success else {
                library.call.freeProperties(&list)
                throw MQTTError(result: result, cause: 0, peer: peer, library: library)
            }
            return true
        } catch {
            failed(error)
            return false
        }
    }

    private static func of(_ object: UnsafeMutableRawPointer?) -> MQTTConnection? {
        object.map { Unmanaged<MQTTConnection>.fromOpaque($0).takeUnretainedValue() }
    }

    private func accepted(_ reason: CInt, _ list: OpaquePointer?) {
        guard reason == 0 else {
            return failed(
                MQTTError(reason: reason, of: .connect, peer: peer, clientID: settings.clientID))
        }
        let maximum = MQTTProperties(library: library).integer(list, PropertyNumber.maximumPacket)
        settleOpening(.success(Opened(maximumPacketBytes: maximum.map { Int(clamping: $0) })))
    }

    private func disconnected(_ reason: CInt) {
        // The library's own results are below; reason codes of the broker are from 128.
        guard reason >= 128 else { return }
        failed(MQTTError(reason: reason, of: .none, peer: peer, clientID: settings.clientID))
    }

    private func published(_ identifier: CInt, _ reason: CInt) {
        settleAcknowledged(identifier, reason)
    }

    private func subscribed(_ identifier: CInt, _ granted: CInt) {
        settleAcknowledged(identifier, granted)
    }

    private func settleAcknowledged(_ identifier: CInt, _ reason: CInt) {
        guard let waiting = state.withLock({ $0.value.waiting.removeValue(forKey: identifier) }) else { return }
        guard reason < 128 else {
            return waiting.continuation.resume(
                returning: .failure(
                    MQTTError(reason: reason, of: waiting.request, peer: peer, clientID: settings.clientID)))
        }
        waiting.continuation.resume(returning: .success(reason == 16 ? .noSubscribers : .delivered))
    }
}

/// What the broker acknowledged.
package enum MQTTAcknowledgement: Equatable, Sendable {
    /// The broker has it. Whether somebody gets it is another matter: it may be full, or an ACL may stop it there.
    case delivered
    /// 16: the broker has it, and nobody has subscribed to it.
    case noSubscribers
}

/// Starts the thread of a connection.
private enum MQTTThread {
    private final class Work: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(_ name: String, _ body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    /// - Returns: `false` if the system has no room for another thread.
    static func start(_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, 512 << 10)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let work = Unmanaged.passRetained(Work(name, body))
        var thread = pthread_t()
        // The new thread blocks all signals, because signals belong to the program's own threads.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        let result = pthread_create(&thread, &attributes, run, work.toOpaque())
        pthread_sigmask(SIG_SETMASK, &before, nil)
        if result != 0 { work.release() }
        return result == 0
    }

    private static let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { work in
        let work = Unmanaged<Work>.fromOpaque(work!).takeRetainedValue()
        libmosquitto_name_thread(work.name)
        work.body()
        return nil
    }
}
