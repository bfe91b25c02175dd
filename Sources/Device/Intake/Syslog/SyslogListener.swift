import Glibc
import ListeningSockets
import LogStore
import Synchronization
import TelemetryBasics

/// Receives at one address, on a thread of its own, so that no sender waits for the disk: each message goes into the
/// inbox, or is counted where that is full. Safe from any thread.
final class SyslogListener: Sendable {
    struct Limits: Sendable {
        /// Kept bytes of a message.
        var messageBytes = 32_768
        /// Connections at once. One more takes the place of the one that gave no message for longest, if that is as
        /// long as `messageMilliseconds`; otherwise it is closed as it comes.
        var connections = 64
        /// A message that has begun and not ended for so long ends there, with its connection.
        var messageMilliseconds: Int64 = 60_000
        /// A connection without a message for so long is closed. An hour, because a sender may lose the message that it
        /// writes into a connection that was just closed.
        var idleMilliseconds: Int64 = 3_600_000
    }

    /// Bytes of a connection that are read before others have their turn, and of a datagram.
    private static let pieceBytes = 64 << 10
    /// Milliseconds to wait where the process has no descriptor left.
    private static let pauseMilliseconds: Int32 = 100
    /// Milliseconds between two looks at the ages of connections.
    private static let lookMilliseconds: Int32 = 1_000
    /// Datagrams that are read before the thread looks whether it is to stop.
    private static let turnDatagrams = 256
    /// Connections that are accepted before those that are open have their turn: more than wait in the kernel, so that
    /// a stop takes all that came before it.
    private static let turnConnections = ListeningSocket.backlog + 1
    /// Datagrams, and pieces of each connection, that are read at a stop, because others may go on to send.
    private static let lastDatagrams = 10_000
    private static let lastPieces = 64

    private struct State {
        var isStopping = false
        var connections = 0
    }

    private let address: SyslogAddress
    private let limits: Limits
    private let inbox: SyslogInbox
    private let clock: IntakeClock
    private let socket: ListeningSocket
    /// A pipe: what is written into the second end wakes the thread, which ends.
    private let stopper: (read: Int32, write: Int32)
    private let state = Mutex(State())
    private let hasEnded = WakeUp()

    /// - Throws: ``IntakeFailure`` if the address cannot be had, or there is no room for a thread.
    init(
        _ address: SyslogAddress, _ inbox: SyslogInbox, clock: IntakeClock, limits: Limits = Limits()
    ) throws(IntakeFailure) {
        self.address = address
        self.inbox = inbox
        self.clock = clock
        self.limits = limits
        socket = try address.open()
        var ends: [Int32] = [-1, -1]
        let hasPipe = pipe(&ends) == 0
        stopper = (ends[0], ends[1])
        for end in ends where hasPipe { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        guard hasPipe, BackgroundThread.start("ws1-syslog", { self.run() }) else {
            for descriptor in ends where descriptor >= 0 { close(descriptor) }
            socket.close()
            throw IntakeFailure("syslog is not received at \(address.text): there is no room for a thread or a pipe")
        }
    }

    var connections: Int { state.withLock { $0.connections } }

    /// The port that the system chose; `nil` for a path.
    var port: UInt16? { socket.port }

    /// For tests, which make its memory in the kernel small.
    var descriptor: Int32 { socket.descriptor }

    /// Whether programs find it: nobody took its path away.
    var isInPlace: Bool { socket.isInPlace }

    /// Takes what is there, and ends. Once it returns, nothing more comes into the inbox.
    func stop() {
        let isFirst = state.withLock { state in
            defer { state.isStopping = true }
            return !state.isStopping
        }
        guard isFirst else { return }
        _ = write(stopper.write, "x", 1)
        while !hasEnded.wait(milliseconds: 60_000) {}
    }

    // MARK: - The thread

    private struct Connection {
        var framer: SyslogFramer
        /// Milliseconds since boot at which the last message ended, or the first one may have begun.
        var last: Int64
    }

    private func run() {
        var connections: [Int32: Connection] = [:]
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceBytes, alignment: 16)
        var dropped: UInt32 = 0
        while true {
            var polls = ([stopper.read, socket.descriptor] + connections.keys).map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            _ = poll(&polls, nfds_t(polls.count), connections.isEmpty ? -1 : Self.lookMilliseconds)
            let isStopping = polls[0].revents != 0
            if polls[1].revents != 0 || isStopping {
                switch address.kind {
                case .connections: accept(&connections, buffer)
                case .datagrams: receive(isStopping ? Self.lastDatagrams : Self.turnDatagrams, &dropped, buffer)
                }
            }
            // At a stop all that is there is read, and else a piece of each, so that each has its turn.
            let readable =
                isStopping ? Array(connections.keys) : polls.dropFirst(2).filter { $0.revents != 0 }.map(\.fd)
            for connection in readable {
                for _ in 0..<(isStopping ? Self.lastPieces : 1) {
                    guard read(connection, &connections, buffer) else { break }
                }
            }
            endOld(&connections)
            state.withLock { $0.connections = connections.count }
            if isStopping { break }
        }
        for connection in connections.keys { end(connection, &connections) }
        socket.close()
        for descriptor in [stopper.read, stopper.write] { close(descriptor) }
        buffer.deallocate()
        hasEnded.wake()
    }

    private func add(_ text: [UInt8], leftOutBytes: Int) {
        inbox.add(SyslogInbox.Message(text: text, leftOutBytes: leftOutBytes, arrival: clock.wallMicroseconds()))
    }

    // MARK: - Datagrams

    private func receive(_ maximum: Int, _ dropped: inout UInt32, _ buffer: UnsafeMutableRawBufferPointer) {
        for _ in 0..<maximum {
            guard let bytes = socket.receive(into: buffer) else { break }
            let kept = min(bytes, buffer.count, limits.messageBytes)
            if kept > 0 { add(Array(buffer[..<kept]), leftOutBytes: bytes - kept) }
        }
        let drops = socket.drops
        if drops != dropped { inbox.count(SyslogInbox.Losses(inKernel: UInt64(drops &- dropped))) }
        dropped = drops
    }

    // MARK: - Connections

    private func accept(_ connections: inout [Int32: Connection], _ buffer: UnsafeMutableRawBufferPointer) {
        for _ in 0..<Self.turnConnections {
            let connection = Glibc.accept(socket.descriptor, nil, nil)
            guard connection >= 0 else {
                // Without a descriptor the next one waits, and the thread shall not spin.
                if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) { _ = poll(nil, 0, Self.pauseMilliseconds) }
                return
            }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            _ = fcntl(connection, F_SETFL, O_NONBLOCK)
            if connections.count >= limits.connections {
                // Programs that connect, send a line and leave take nobody's place: their line is read, then their end.
                for connection in Array(connections.keys) {
                    for _ in 0..<2 { guard read(connection, &connections, buffer) else { break } }
                }
            }
            let now = clock.bootMilliseconds()
            if connections.count >= limits.connections,
                let quietest = connections.min(by: { $0.value.last < $1.value.last }),
                now - quietest.value.last >= limits.messageMilliseconds
            {
                end(quietest.key, &connections)
            }
            guard connections.count < limits.connections else {
                close(connection)
                inbox.count(SyslogInbox.Losses(connections: 1))
                continue
            }
            connections[connection] = Connection(framer: SyslogFramer(limit: limits.messageBytes), last: now)
        }
    }

    /// - Returns: whether there may be more.
    private func read(
        _ connection: Int32, _ connections: inout [Int32: Connection], _ buffer: UnsafeMutableRawBufferPointer
    ) -> Bool {
        guard var known = connections[connection] else { return false }
        let count = retryingOnInterrupt { Glibc.read(connection, buffer.baseAddress!, buffer.count) }
        guard count > 0 else {
            if count == 0 || errno != EAGAIN { end(connection, &connections) }
            return false
        }
        let wasOpen = known.framer.isOpen
        var hasEnded = false
        known.framer.add(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { frame in
            hasEnded = true
            add(frame.text, leftOutBytes: frame.leftOutBytes)
        }
        if hasEnded || !wasOpen { known.last = clock.bootMilliseconds() }
        connections[connection] = known
        return true
    }

    private func endOld(_ connections: inout [Int32: Connection]) {
        let now = clock.bootMilliseconds()
        for (connection, known) in connections {
            let allowed = known.framer.isOpen ? limits.messageMilliseconds : limits.idleMilliseconds
            if now - known.last >= allowed { end(connection, &connections) }
        }
    }

    /// What was not ended is stored as it is, because it does not come again.
    private func end(_ connection: Int32, _ connections: inout [Int32: Connection]) {
        guard var known = connections.removeValue(forKey: connection) else { return }
        known.framer.finish { add($0.text, leftOutBytes: $0.leftOutBytes) }
        close(connection)
    }
}
