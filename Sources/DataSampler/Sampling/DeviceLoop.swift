import Logging
import RecordQueue
import SampleModules
import Transmitter
import WireModel

/// The device's one timer: takes samples and makes beacons when they are due, and sleeps in between until the next of either.
actor DeviceLoop {
    /// What a module has yielded since the program started.
    struct ModuleReport: Sendable {
        var samples: UInt64 = 0
        /// Wall clock, microseconds since 1970; `nil`: none yet.
        var lastSample: Int64?
        /// Why the last reading gave none, or why it was not queued.
        var reason: String?
    }

    let core: SamplerCore
    private let sleeper: any Clock<Duration>
    private let beaconRecorded: @Sendable () -> Void
    private let wake = WakeSignal()
    private var schedule: SampleSchedule<SampleModuleName>
    private var modules: [SampleModuleName: any SampleModule]
    private(set) var reports: [SampleModuleName: ModuleReport] = [:]

    var beacons = BeaconScheduleStateMachine()
    /// The beacon to make next; at most one, as one is in flight at a time.
    var pendingBeacon: WireBeaconTrigger?
    var callers: [BeaconScheduleStateMachine.Caller: CheckedContinuation<Result<UInt64, DataSamplerError>, Never>] = [:]
    var lastCaller: BeaconScheduleStateMachine.Caller = 0
    private var ended = false

    /// - Parameter beaconRecorded: called after each beacon that is on disk; must not block.
    init(
        core: SamplerCore, modules: [SampleModuleName: any SampleModule], intervals: [SampleModuleName: SampleInterval],
        sleeper: any Clock<Duration>, beaconRecorded: @escaping @Sendable () -> Void
    ) {
        self.core = core
        self.modules = modules
        self.sleeper = sleeper
        self.beaconRecorded = beaconRecorded
        schedule = SampleSchedule(intervals: intervals, now: core.clock.now().timeSinceBoot)
        for name in modules.keys { reports[name] = ModuleReport() }
    }

    /// Runs until its task is cancelled; callers that wait for a beacon then get `notRunning`.
    func run() async {
        while !Task.isCancelled {
            while let trigger = pendingBeacon { await makeBeacon(trigger) }
            let now = core.clock.now()
            let step = schedule.step(now: now.timeSinceBoot)
            if step.due.contains(.analytics) { await core.observeEvents() }
            for name in step.due { sample(name, at: now) }
            perform(beacons.reached(now.timeSinceBoot))
            if pendingBeacon != nil { continue }
            let next = [step.wakeAt, beacons.nextDue].compactMap { $0 }.min()
            // Without anything scheduled only a signal wakes; a day is as good as for ever, and no clock overflows on it.
            let pause = next.map { $0 > now.timeSinceBoot ? $0 - now.timeSinceBoot : 0 } ?? 86_400_000_000
            await wake.wait(for: .microseconds(Int64(clamping: pause)), clock: sleeper)
        }
        ended = true
        for caller in callers.values { caller.resume(returning: .failure(Self.stopped)) }
        callers = [:]
    }

    private func sample(_ name: SampleModuleName, at stamp: RecordStamp) {
        let result = modules[name]?.sample(
            at: SampleTime(wallMicroseconds: stamp.wallTime, sinceBootMicroseconds: stamp.timeSinceBoot))
        switch result {
        case .sample(let sample):
            do throws(QueueError) {
                try core.queue.enqueue(core.record(.sample, sample.kind, module: sample.module, at: stamp, body: sample.body))
                reports[name]?.samples += 1
                reports[name]?.lastSample = stamp.wallTime
                reports[name]?.reason = nil
            } catch {
                // The queue has counted it under its reason; the next sample is tried all the same.
                note(name, "not queued: \(error.message)")
            }
        case .none(let reason)?: note(name, reason)
        case nil: break
        }
    }

    private func note(_ name: SampleModuleName, _ reason: String) {
        guard reports[name]?.reason != reason else { return }
        reports[name]?.reason = reason
        core.logger.warning("no sample", metadata: ["module": "\(name.rawValue)", "reason": "\(reason)"])
    }

    // MARK: Beacons

    static let stopped = DataSamplerError(.notRunning, "the data sampler has stopped")

    var hasEnded: Bool { ended }

    func perform(_ action: BeaconScheduleStateMachine.Action) {
        guard case .make(let trigger) = action else { return }
        pendingBeacon = trigger
        wake.signal()
    }

    private func makeBeacon(_ trigger: WireBeaconTrigger) async {
        pendingBeacon = nil
        let result: Result<UInt64, DataSamplerError>
        do throws(DataSamplerError) {
            let next = beacons.interval.map { UInt32(clamping: $0 / 1_000_000) } ?? 0
            result = .success(try await core.recordBeacon(trigger, nextBeaconSeconds: next))
            beaconRecorded()
        } catch {
            core.logger.error("no beacon", metadata: ["code": "\(error.code)", "reason": "\(error.message)"])
            result = .failure(error)
        }
        let (shared, next) = beacons.finished()
        for caller in shared { callers.removeValue(forKey: caller)?.resume(returning: result) }
        perform(next)
    }
}
