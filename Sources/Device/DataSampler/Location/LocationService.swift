import Logging
import RecordQueue
import Synchronization
import Transmitter
import WireModel

/// Who wants the location. Decided by `DevicePolicy.plan`; empty while the location must not be read.
struct LocationDemand: Equatable, Sendable {
    enum Need: Hashable, Sendable {
        /// Module `gps`.
        case samples
        case beacons
        case geofences
    }

    var needs: Set<Need> = []
    /// How often the source is asked for those who follow `LocationService.observations`; `nil`: only when
    /// `LocationService.current` is called.
    var watchInterval: Duration?
}

/// Asks the source of the location, for all who want it.
///
///     module gps, beacons ── current() ──►                  ── locate() ──► LocationSource (gpsd, the host program)
///                                          LocationService
///     geofences ◄────────── observations()                  ◄── LocationObservation
///
/// The source is asked when a caller needs the location, and for `observations` on a timer. Callers within
/// ``reuseMicroseconds`` share an answer; no answer is used later than that, so an old position is never reported
/// again. While nobody wants the location, nothing is asked and no position is kept in memory.
actor LocationService {
    private struct Answer {
        var observation: LocationObservation
        var stamp: RecordStamp
    }

    static let reuseMicroseconds: UInt64 = 1_000_000
    /// The limit that the protocol's documentation promises.
    static let limit = Duration.seconds(5)
    /// Observers that are slower than the source miss the oldest answers.
    private static let keptObservations = 16

    private let source: (any LocationSource)?
    private let obstacleNow = Mutex<String?>(nil)
    private let clock: any RecordClock
    private let sleeper: any Clock<Duration>
    private let logger: Logger
    private var demand = LocationDemand()
    private var last: Answer?
    /// `locate` or `rest` was called and has not returned.
    private var isBusy = false
    private var isOverdue = false
    /// The source was asked since it last rested.
    private var isAwake = false
    private var call: Task<Void, Never>?
    private var timer: Task<Void, Never>?
    private var callNumber: UInt64 = 0
    private var callers: [CheckedContinuation<LocationObservation?, Never>] = []
    private var observers: [UInt64: AsyncStream<LocationObservation>.Continuation] = [:]
    private var lastObserver: UInt64 = 0
    private var loggedLoss: String?
    private let wake = AsyncEvent()

    /// - Parameter source: `nil` if this device has none.
    init(source: (any LocationSource)?, clock: any RecordClock, sleeper: any Clock<Duration>, logger: Logger) {
        self.source = source
        self.clock = clock
        self.sleeper = sleeper
        self.logger = logger
    }

    /// Whether there is a source at all.
    nonisolated var hasSource: Bool { source != nil }

    /// Why the last answer says that there is no receiver, or that it cannot be asked; `nil` if there is one, or
    /// nothing was asked yet.
    nonisolated var obstacle: String? { obstacleNow.withLock { $0 } }

    /// What status shows.
    var report: DataSamplerStatus.Location {
        var report = DataSamplerStatus.Location(source: source?.name, isWanted: !demand.needs.isEmpty)
        guard let last else { return report }
        report.time = last.stamp.wallTime
        switch last.observation {
        case .fix: report.hasFix = true
        case .lost(let loss): (report.hasFix, report.reason) = (false, loss.reason)
        }
        return report
    }

    /// Every answer from now on, until the caller's iteration ends: each fix, and each time without one. Any number of
    /// observers. When nobody may read the location any more, the observers hear of a loss once.
    func observations() -> AsyncStream<LocationObservation> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: LocationObservation.self, bufferingPolicy: .bufferingNewest(Self.keptObservations))
        lastObserver += 1
        let observer = lastObserver
        observers[observer] = continuation
        continuation.onTermination = { _ in Task { await self.forget(observer) } }
        return stream
    }

    private func forget(_ observer: UInt64) { observers[observer] = nil }

    /// Where the device is now. Asks the source, unless it answered within the last second.
    ///
    /// - Parameter need: of the caller.
    /// - Returns: `nil` if the need is not among those that may be met, or there is no source.
    func current(for need: LocationDemand.Need) async -> LocationObservation? {
        guard source != nil, demand.needs.contains(need) else { return nil }
        let now = clock.now().timeSinceBoot
        if let last, now >= last.stamp.timeSinceBoot, now - last.stamp.timeSinceBoot < Self.reuseMicroseconds {
            return last.observation
        }
        if isOverdue { return last?.observation }
        return await withCheckedContinuation { continuation in
            callers.append(continuation)
            ask()
        }
    }

    /// Changes who wants the location.
    func apply(_ demand: LocationDemand) {
        guard demand != self.demand else { return }
        let wasWanted = !self.demand.needs.isEmpty
        self.demand = demand
        if wasWanted, demand.needs.isEmpty {
            last = nil
            loggedLoss = nil
            answer(nil)
            call?.cancel()
            publish(.lost(LocationLoss("nobody may read the location now", hasReceiver: false)))
            letRest()
        }
        wake.signal()
    }

    /// Asks the source for the observers, until its task is cancelled. The source rests then.
    func run() async {
        while !Task.isCancelled {
            if demand.watchInterval != nil { _ = await current(for: .geofences) }
            await wake.wait(for: demand.watchInterval ?? .seconds(86_400), clock: sleeper)
        }
        apply(LocationDemand())
    }

    // MARK: Calls of the source

    private func ask() {
        guard let source, !isBusy, !callers.isEmpty else { return }
        (isBusy, isOverdue, isAwake) = (true, false, true)
        callNumber += 1
        let number = callNumber
        // Tasks of their own on purpose: a source that never returns must not hold up a sample, a beacon or a stop.
        call = Task {
            let observation = await source.locate()
            self.answered(observation, number)
        }
        timer = Task { [sleeper] in
            do { try await sleeper.sleep(for: Self.limit) } catch { return }
            self.expired(number)
        }
    }

    private func answered(_ observation: LocationObservation, _ number: UInt64) {
        guard number == callNumber else { return }
        timer?.cancel()
        let wasOverdue = isOverdue
        (isBusy, isOverdue, call, timer) = (false, false, nil, nil)
        guard !demand.needs.isEmpty else { return letRest() }
        // A late answer is that of a call that counts as lost.
        if !wasOverdue { keep(observation) }
        ask()
    }

    private func expired(_ number: UInt64) {
        guard number == callNumber, isBusy, !isOverdue else { return }
        isOverdue = true
        call?.cancel()
        keep(
            .lost(
                LocationLoss("\(source?.name ?? "the source") did not answer within \(Self.limit)", hasReceiver: false))
        )
    }

    private func letRest() {
        guard let source, isAwake, !isBusy else { return }
        (isBusy, isAwake) = (true, false)
        Task {
            await source.rest()
            self.rested()
        }
    }

    private func rested() {
        isBusy = false
        ask()
    }

    // MARK: Answers

    private func keep(_ given: LocationObservation) {
        var observation = given
        if case .fix(let fix) = given {
            observation =
                fix.checked.map { .fix($0) }
                ?? .lost(LocationLoss("the position is out of range", hasReceiver: true, satellites: fix.satellites))
        }
        last = Answer(observation: observation, stamp: clock.now())
        let obstacle: String? =
            if case .lost(let loss) = observation, !loss.hasReceiver { loss.reason } else { nil }
        obstacleNow.withLock { $0 = obstacle }
        trace(observation)
        answer(observation)
        publish(observation)
    }

    /// Logs changes between fix and loss, without the position.
    private func trace(_ observation: LocationObservation) {
        switch observation {
        case .fix:
            if loggedLoss != nil { logger.info("the location is known again") }
            loggedLoss = nil
        case .lost(let loss):
            guard loss.reason != loggedLoss else { return }
            loggedLoss = loss.reason
            logger.info("the location is not known", metadata: ["reason": "\(loss.reason)"])
        }
    }

    private func answer(_ observation: LocationObservation?) {
        let waiting = callers
        callers = []
        for caller in waiting { caller.resume(returning: observation) }
    }

    private func publish(_ observation: LocationObservation) {
        for observer in observers.values { observer.yield(observation) }
    }
}
