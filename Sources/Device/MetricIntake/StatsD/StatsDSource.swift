import Dispatch
import Glibc
import ListeningSockets
import Synchronization

/// StatsD over UDP or a Unix datagram socket.
///
///     programs ──► socket ──► thread: parser ──► StatsDTable ──► collect(), at each sample
///
/// A thread of its own does nothing but take packets, so that no writer waits for a sample, a full disk or a collector.
/// What comes faster than that the kernel drops; it counts those, and the count is a measurement. The socket is open
/// only while the module is sampled.
///
/// Against it: a thread for each source. Reading in the sampler's loop would save it, but then everything between two
/// samples would have to fit into the kernel's buffer, and a Unix socket makes writers wait when that is full.
package final class StatsDSource: MetricSource {
    package struct Configuration: Equatable, Sendable {
        package var address: StatsDAddress
        /// The most series of a sample.
        package var series: Int

        package init(address: StatsDAddress, series: Int) {
            self.address = address
            self.series = series
        }
    }

    private struct State {
        var table: StatsDTable
        var tally = MetricTally()
        /// The end of a pipe whose closing ends the thread; `nil`: there is none.
        var stop: Int32?
        /// Which thread may change the table.
        var turn: UInt64 = 0
        var isOn = false
        var failure: String?
        /// What is open, for questions; the thread closes it.
        var socket: ListeningSocket?
    }

    private static let packetBytes = 64 * 1024
    private static let bufferBytes: Int32 = 4 << 20
    /// Packets whose values are added together.
    private static let packetsAtOnce = 16

    private let configuration: Configuration
    private let state: Mutex<State>
    /// Serial: a socket is closed before the next one is opened.
    private let queue = DispatchQueue(label: "ws1.statsd")

    package init(_ configuration: Configuration) {
        self.configuration = configuration
        state = Mutex(State(table: StatsDTable(limit: configuration.series)))
    }

    deinit { end() }

    package var report: MetricSourceReport {
        state.withLock { state in
            var report = state.tally.report
            if let failure = state.failure { report.problem = failure }
            return report
        }
    }

    /// The UDP port; 0 while there is none.
    var port: UInt16 { state.withLock { $0.socket?.port ?? 0 } }

    /// For tests, which make its memory in the kernel small.
    var descriptor: Int32? { state.withLock { $0.socket?.descriptor } }

    package func begin() {
        state.withLock { state in
            guard !state.isOn else { return }
            state.isOn = true
            listen(&state)
        }
    }

    package func end() {
        state.withLock { state in
            guard state.isOn else { return }
            state.isOn = false
            stop(&state)
            state.turn += 1
            state.table.removeAll()
            state.tally.restart()
            state.failure = nil
        }
    }

    package func collect() async -> [MetricPoint] {
        state.withLock { state in
            // A socket whose path somebody removed would be silent for ever.
            if let socket = state.socket, !socket.isInPlace { stop(&state) }
            // What could not be opened is tried again.
            if state.isOn, state.stop == nil { listen(&state) }
            let points = state.table.take()
            return points
                + state.tally.finish(
                    series: points.count, limit: configuration.series, failure: state.failure, countsDrops: true)
        }
    }

    /// Has the thread end.
    private func stop(_ state: inout State) {
        if let stop = state.stop { close(stop) }
        (state.stop, state.socket) = (nil, nil)
    }

    private func listen(_ state: inout State) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            state.failure = "no pipe: \(String(cString: strerror(errno)))"
            return
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        state.stop = ends[1]
        state.turn += 1
        let (turn, stop, address) = (state.turn, ends[0], configuration.address)
        queue.async { [weak self] in
            defer { close(stop) }
            do throws(ListenFailure) {
                let socket = try ListeningSocket(address.place, .datagrams, bufferBytes: Self.bufferBytes)
                defer { socket.close() }
                self?.state.withLock { state in
                    if state.turn == turn { (state.failure, state.socket) = (nil, socket) }
                }
                Self.serve(socket, stop) { self?.take($0, turn) }
            } catch {
                self?.failed("StatsD cannot be received at \(address): \(error)", turn)
            }
        }
    }

    private func failed(_ message: String, _ turn: UInt64) {
        state.withLock { state in
            guard state.turn == turn else { return }
            state.failure = message
            stop(&state)
        }
    }

    private enum Input: Sendable {
        case update(StatsDUpdate)
        case invalid(String)
        case dropped(UInt64)
    }

    /// Takes packets until the pipe is closed.
    /// - Parameter take: what some packets had.
    private static func serve(_ socket: ListeningSocket, _ stop: Int32, _ take: ([Input]) -> Void) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: packetBytes, alignment: 16)
        defer { memory.deallocate() }
        var dropped: UInt32 = 0
        while true {
            var waiting = [
                pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: stop, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&waiting, 2, -1) > 0 else { continue }
            if waiting[1].revents != 0 { return }
            var inputs: [Input] = []
            for _ in 0..<packetsAtOnce {
                guard let count = socket.receive(into: memory) else { break }
                guard count <= memory.count else {
                    inputs.append(.invalid("a packet has more than \(packetBytes) bytes"))
                    continue
                }
                StatsDParser.parse(UnsafeRawBufferPointer(rebasing: memory[..<count])) { result in
                    switch result {
                    case .success(let update): inputs.append(.update(update))
                    case .failure(let objection):
                        inputs.append(.invalid("a line cannot be taken in: \(objection.text)"))
                    }
                }
            }
            let drops = socket.drops
            if drops != dropped { inputs.append(.dropped(UInt64(drops &- dropped))) }
            dropped = drops
            take(inputs)
        }
    }

    private func take(_ inputs: [Input], _ turn: UInt64) {
        state.withLock { state in
            guard state.turn == turn else { return }
            for input in inputs {
                switch input {
                case .update(let update): state.table.apply(update, &state.tally)
                case .invalid(let objection): state.tally.invalid(objection)
                case .dropped(let count): state.tally.dropped(count)
                }
            }
        }
    }
}
