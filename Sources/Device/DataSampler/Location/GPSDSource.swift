import Dispatch
import Glibc
import Synchronization

/// The location from gpsd, by its JSON protocol. Safe from any thread; calls wait for each other.
///
/// It connects at the first question and asks gpsd to run its receivers without reporting (`?WATCH={"enable":true}`).
/// From then on each question is one `?POLL;` and one answer, so that gpsd wakes this process only when the location is
/// wanted. `rest` ends the connection, and gpsd then lets the receivers go. After a failure it is not asked again at
/// once: 1 s after the first, then doubled up to a minute.
final class GPSDSource: LocationSource {
    /// Older fixes count as lost. Receivers determine a position every second, slow ones every ten.
    static let staleMicroseconds: Int64 = 10_000_000
    /// Lines read for one answer; gpsd sends a few.
    private static let maximumLines = 64

    private struct State: ~Copyable {
        var connection: GPSDConnection?
        var clock = ReceiverClock()
        var failures = 0
        var failure = ""
        /// Microseconds since boot.
        var notBefore: UInt64 = 0
    }

    let name: String
    private let address: GPSDAddress
    private let state = Mutex(State())
    /// Has its own thread while it works; the global queues share theirs with tasks.
    private let queue = DispatchQueue(label: "ws1.gpsd")
    private let now: @Sendable () -> UInt64
    private let patience: UInt64
    private let repeatAfter: UInt64

    /// - Parameters:
    ///   - patience: microseconds that one question may last. Below the limit of `LocationService`.
    ///   - repeatAfter: microseconds after which a receiver is asked again that does not run yet.
    ///   - now: microseconds since boot.
    init(
        _ address: GPSDAddress, patience: UInt64 = 4_000_000, repeatAfter: UInt64 = 500_000,
        now: @escaping @Sendable () -> UInt64
    ) {
        self.address = address
        self.patience = patience
        self.repeatAfter = repeatAfter
        self.now = now
        name = "gpsd at \(address)"
    }

    func locate() async -> LocationObservation {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: self.locateBlocking()) }
        }
    }

    func rest() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.state.withLock { state in
                    state.connection = nil
                    state.clock = ReceiverClock()
                }
                continuation.resume()
            }
        }
    }

    private func locateBlocking() -> LocationObservation {
        // Nobody else waits for the lock: the queue is serial.
        state.withLock { state in
            let begin = now()
            if state.connection == nil, begin < state.notBefore {
                return .lost(LocationLoss(state.failure, hasReceiver: false))
            }
            do throws(GPSDConnection.Failure) {
                let observation = try ask(&state, until: begin + patience)
                state.failures = 0
                return observation
            } catch {
                state.connection = nil
                state.clock = ReceiverClock()
                state.notBefore = now() + 1_000_000 << UInt64(min(state.failures, 6))
                state.failures += 1
                state.failure = error.reason
                return .lost(LocationLoss(error.reason, hasReceiver: false))
            }
        }
    }

    private func ask(
        _ state: inout State, until deadline: UInt64
    ) throws(GPSDConnection.Failure) -> LocationObservation {
        let isNew = state.connection == nil
        var connection: GPSDConnection
        if let kept = state.connection.take() { connection = kept } else { connection = try GPSDConnection(address) }
        if isNew {
            try connection.send("?WATCH={\"enable\":true};\n")
            guard case .version? = try next(&connection, deadline, where: { _ in true }) else {
                throw GPSDConnection.Failure(reason: "what answers at \(address) is not gpsd: correct the setting gpsd")
            }
        }
        while true {
            try connection.send("?POLL;\n")
            let answer = try next(&connection, deadline) { message in
                switch message {
                case .poll, .error: true
                case .version, .other: false
                }
            }
            let observation: LocationObservation
            var isSettled = true
            switch answer {
            case .poll(let poll): (observation, isSettled) = judge(poll, &state.clock)
            case .error(let text):
                throw GPSDConnection.Failure(reason: "gpsd at \(address) refuses to be asked: \(text)")
            default: throw GPSDConnection.Failure(reason: "gpsd at \(address) did not answer in time")
            }
            // A receiver that was just started says nothing for a moment, and a time must have advanced once.
            let rest = deadline.subtractingReportingOverflow(now())
            let isLate = rest.overflow || rest.partialValue < 2 * repeatAfter
            guard !isSettled, !isLate else {
                state.connection = consume connection
                return observation
            }
            usleep(UInt32(clamping: repeatAfter))
        }
    }

    /// - Returns: the observation, and whether asking again at once would tell nothing else.
    private func judge(
        _ poll: GPSDPoll, _ clock: inout ReceiverClock
    ) -> (LocationObservation, isSettled: Bool) {
        func lost(_ reason: String, hasReceiver: Bool = true, _ satellites: LocationFix.Satellites? = nil)
            -> LocationObservation
        {
            .lost(LocationLoss(reason, hasReceiver: hasReceiver, satellites: satellites))
        }
        guard let report = poll.best else {
            return (
                lost(
                    "\(name) has no receiver that sends: connect one, and see gpsd's own messages", hasReceiver: false),
                false
            )
        }
        let satellites = poll.satellites(of: report.device)
        guard report.mode >= 2 else {
            return (lost("the receiver has no fix", satellites), report.mode == 1)
        }
        guard let fix = report.fix(satellites) else {
            return (lost("the receiver has a fix without a time or a possible position", satellites), false)
        }
        guard let age = clock.age(of: fix.time, now: now()) else {
            return (lost("the receiver's time has not advanced yet", satellites), false)
        }
        guard age <= Self.staleMicroseconds else {
            return (lost("the receiver is silent since \(age / 1_000_000) s: its last fix is old"), true)
        }
        return (.fix(fix), true)
    }

    private func next(
        _ connection: inout GPSDConnection, _ deadline: UInt64, where isWanted: (GPSDMessage) -> Bool
    ) throws(GPSDConnection.Failure) -> GPSDMessage? {
        for _ in 0..<Self.maximumLines {
            let line = try connection.line {
                let now = self.now()
                return now < deadline ? Int32(clamping: (deadline - now + 999) / 1000) : 0
            }
            guard let line else { return nil }
            let message = GPSDMessage(line)
            if isWanted(message) { return message }
        }
        throw GPSDConnection.Failure(reason: "gpsd sent more than \(Self.maximumLines) lines for one answer")
    }
}
