import RecordQueue
import Synchronization
import Transmitter
import WireModel

/// Does jobs again and again, each when it is due, on one timer. Safe from any thread.
///
/// A job that runs long delays no other, and never runs twice at a time.
final class DeadlineWheel<Job: Hashable & CaseIterable & Sendable>: Sendable {
    private let deadlines = Mutex(Deadlines<Job>())
    private let signal = AsyncEvent()

    /// Does the job at once, or once more where it is being done now.
    func wake(_ job: Job) {
        deadlines.withLock { $0.woken(job) }
        signal.signal()
    }

    /// Runs until its task is cancelled; what is being done is cancelled with it and waited for. All jobs are due at
    /// first.
    ///
    /// - Parameter round: does what can be done of a job now, and returns how long nothing is to be done.
    func run(
        clock: any RecordClock, sleeper: any Clock<Duration>, round: @escaping @Sendable (Job) async -> Duration
    ) async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let now = clock.now().timeSinceBoot
                for job in deadlines.withLock({ $0.removeDue(at: now) }) {
                    group.addTask {
                        let pause = await round(job)
                        self.deadlines.withLock { $0.ended(job, pause: pause, now: clock.now().timeSinceBoot) }
                        self.signal.signal()
                    }
                }
                await signal.wait(for: deadlines.withLock { $0.pause(at: now) }, clock: sleeper)
            }
        }
    }
}

/// When each job is due. Pure; times are microseconds since boot.
struct Deadlines<Job: Hashable & CaseIterable & Sendable>: Sendable {
    private enum State: Sendable {
        /// -> running
        case waiting(until: UInt64)
        /// -> waiting, again
        case running
        /// It is being done, and was woken meanwhile. -> waiting
        case again
    }

    /// Longer than any job waits.
    private static var greatestPause: UInt64 { 86_400_000_000 }

    private var states = Dictionary(uniqueKeysWithValues: Job.allCases.map { ($0, State.waiting(until: 0)) })

    /// Returns the jobs that are due, which count as running from now on.
    mutating func removeDue(at now: UInt64) -> [Job] {
        let due = Job.allCases.filter { job in
            if case .waiting(let until) = states[job], until <= now { true } else { false }
        }
        for job in due { states[job] = .running }
        return due
    }

    mutating func woken(_ job: Job) {
        switch states[job] {
        case .waiting, nil: states[job] = .waiting(until: 0)
        case .running, .again: states[job] = .again
        }
    }

    mutating func ended(_ job: Job, pause: Duration, now: UInt64) {
        if case .again = states[job] {
            states[job] = .waiting(until: 0)
        } else {
            states[job] = .waiting(until: now &+ pause.wholeMicroseconds)
        }
    }

    /// How long nothing is due.
    func pause(at now: UInt64) -> Duration {
        let next = states.values.compactMap { if case .waiting(let until) = $0 { until } else { nil } }.min()
        let pause = next.map { $0 > now ? $0 - now : 0 } ?? Self.greatestPause
        return .microseconds(Int64(clamping: min(pause, Self.greatestPause)))
    }
}
