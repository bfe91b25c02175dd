import Logging
import RecordQueue
import SampleModules
import Transmitter
import WireModel

/// Takes samples and makes beacons when they are due, and sleeps in between until the next of either.
///
/// Samples and beacons share this timer. Custom modules run beside it, one call of each at a time, so that a slow one
/// delays nobody.
actor DeviceLoop {
    /// The yield of a module since the program started.
    struct ModuleReport: Sendable {
        var samples: UInt64 = 0
        /// Wall clock, microseconds since 1970; `nil`: none yet.
        var lastSample: Int64?
        /// Why the last reading gave none, or why it was not queued.
        var reason: String?
    }

    let core: SamplerCore
    private let sleeper: any Clock<Duration>
    private let makeModule: @Sendable (SampleModuleName) -> (any SampleModule)?
    private let transmitter: Transmitter
    let wake = AsyncEvent()
    private var schedule: SampleSchedule<SampledModule>
    private(set) var plan = SamplePlan()
    private var modules: [SampleModuleName: any SampleModule] = [:]
    private(set) var reports: [SampledModule: ModuleReport] = [:]
    var customModules: [String: any CustomSampleModule] = [:]
    var customRuns: [String: CustomRun] = [:]
    var lastCustomRun: UInt64 = 0
    /// A call of a custom module ended.
    let customEnd = AsyncEvent()
    /// The location was asked for, and has not been answered.
    var isLocating = false
    /// The newest sample of module `gps` has a fix, so a later loss is still to be told.
    var hasToldFix = false

    var beacons: BeaconScheduleStateMachine
    /// The last beacon was asked for.
    private var isEndingBeacons = false
    /// The beacon to make next; at most one, as one is in flight at a time.
    var pendingBeacon: WireBeaconTrigger?
    var callers: [BeaconScheduleStateMachine.Caller: CheckedContinuation<Result<UInt64, DataSamplerError>, Never>] = [:]
    var lastCaller: BeaconScheduleStateMachine.Caller = 0
    private(set) var hasEnded = false

    /// - Parameters:
    ///   - changeDelay: changes within it share one beacon.
    ///   - transmitter: learns at once of what was recorded.
    ///   - makeModule: a module to be sampled from now on; `nil` for one that this platform does not have.
    init(
        core: SamplerCore, transmitter: Transmitter, sleeper: any Clock<Duration>,
        changeDelay: Duration = .seconds(1),
        makeModule: @escaping @Sendable (SampleModuleName) -> (any SampleModule)?
    ) {
        self.core = core
        self.sleeper = sleeper
        beacons = BeaconScheduleStateMachine(changeDelay: changeDelay.wholeMicroseconds)
        self.makeModule = makeModule
        self.transmitter = transmitter
        schedule = SampleSchedule(intervals: [:], now: core.clock.now().timeSinceBoot)
    }

    /// Applies what is sampled and how often. New modules are due at once, unchanged ones as before, changed ones in
    /// the first slot of their new interval.
    func apply(_ plan: SamplePlan, custom: [String: any CustomSampleModule]) {
        follow(custom, in: plan)
        guard plan != self.plan else { return }
        self.plan = plan
        let sampled = Set(plan.intervals.keys)
        for module in sampled where reports[module] == nil { reports[module] = ModuleReport() }
        // A module that pauses begins its deltas anew: one over the pause would describe a time nobody asked about.
        for name in modules.keys where !sampled.contains(.builtIn(name)) { modules[name] = nil }
        for case .builtIn(let name) in sampled where modules[name] == nil { modules[name] = makeModule(name) }
        schedule.replace(intervals: plan.intervals, now: core.clock.now().timeSinceBoot)
        wake.signal()
    }

    /// Runs until its task is cancelled; callers that wait for a beacon then get `notRunning`.
    func run() async {
        while !Task.isCancelled {
            while let trigger = pendingBeacon { await makeBeacon(trigger) }
            let now = core.clock.now()
            let step = schedule.step(now: now.timeSinceBoot)
            if step.due.contains(.builtIn(.analytics)) { await core.observeEvents() }
            for module in step.due {
                switch module {
                case .builtIn(.gps): startLocating(at: now)
                case .builtIn(let name): await sample(name, at: now)
                case .custom(let name): startCustom(name, at: now)
                }
            }
            cancelOverdueCustom(now: now.timeSinceBoot)
            perform(beacons.reached(now.timeSinceBoot))
            if beacons.beginComparison(dueBy: now.timeSinceBoot), await core.isBeaconOutdated() {
                perform(beacons.wanted(.change))
            }
            if pendingBeacon != nil { continue }
            let next = [step.wakeAt, beacons.nextDue, nextCustomDeadline].compactMap { $0 }.min()
            // Without anything scheduled only a signal wakes; a day is as good as for ever, and no clock overflows on
            // it.
            let pause = next.map { $0 > now.timeSinceBoot ? $0 - now.timeSinceBoot : 0 } ?? 86_400_000_000
            await wake.wait(for: .microseconds(Int64(clamping: pause)), clock: sleeper)
        }
        hasEnded = true
        for case let module as any SwitchedSampleModule in customModules.values { module.end() }
        for run in customRuns.values { run.task.cancel() }
        for caller in callers.values { caller.resume(returning: .failure(Self.stopped)) }
        callers = [:]
    }

    /// Samples all modules besides the schedule. Custom modules that take longer than the limit are not waited for.
    func sampleNow(customLimit: Duration) async {
        let now = core.clock.now()
        for module in plan.intervals.keys.sorted() {
            switch module {
            case .builtIn(.gps): startLocating(at: now)
            case .builtIn(let name): await sample(name, at: now)
            case .custom(let name): startCustom(name, at: now)
            }
        }
        let deadline = now.timeSinceBoot + UInt64(customLimit.wholeMicroseconds)
        while !customRuns.isEmpty || isLocating {
            let time = core.clock.now().timeSinceBoot
            guard time < deadline, !Task.isCancelled else { return }
            await customEnd.wait(for: .microseconds(Int64(clamping: deadline - time)), clock: sleeper)
        }
    }

    private func sample(_ name: SampleModuleName, at stamp: RecordStamp) async {
        let begin = core.clock.now()
        let result = modules[name]?.sample(
            at: SampleTime(wallMicroseconds: stamp.wallTime, sinceBootMicroseconds: stamp.timeSinceBoot))
        if result != nil { measured(name.rawValue, since: begin) }
        switch result {
        case .sample(let sample): await keep(sample, of: .builtIn(name), at: stamp)
        case .none(let reason)?: record(.builtIn(name), reason)
        case nil: record(.builtIn(name), "this platform does not have it")
        }
    }

    /// Reports how long a sample took.
    func measured(_ module: String, since begin: RecordStamp) {
        let now = core.clock.now().timeSinceBoot
        core.metrics.sampled(
            module: module, .microseconds(Int64(clamping: now > begin.timeSinceBoot ? now - begin.timeSinceBoot : 0)))
    }

    /// - Returns: whether it was queued.
    @discardableResult func keep(_ sample: Sample, of module: SampledModule, at stamp: RecordStamp) async -> Bool {
        do throws(DataSamplerError) {
            try await core.record(sample, at: stamp)
            transmitter.recorded(module: sample.module)
            reports[module, default: ModuleReport()].samples += 1
            reports[module]?.lastSample = stamp.wallTime
            reports[module]?.reason = nil
            return true
        } catch {
            // It has been counted under its reason; the next sample is tried all the same.
            record(module, "not queued: \(error.message)")
            return false
        }
    }

    /// - Returns: whether it is news.
    @discardableResult func record(_ module: SampledModule, _ reason: String) -> Bool {
        guard reports[module]?.reason != reason else { return false }
        reports[module, default: ModuleReport()].reason = reason
        core.logger.warning("no sample", metadata: ["module": "\(module.name)", "reason": "\(reason)"])
        return true
    }

    // MARK: Beacons

    static let stopped = DataSamplerError(.notRunning, "the data sampler has stopped")

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
            transmitter.transmitNow()
        } catch {
            core.logger.error("no beacon", metadata: ["code": "\(error.code)", "reason": "\(error.message)"])
            result = .failure(error)
        }
        let (shared, next) = beacons.finished()
        for caller in shared { callers.removeValue(forKey: caller)?.resume(returning: result) }
        perform(next)
    }
}

extension DeviceLoop {
    /// One call of a custom module that has not returned.
    struct CustomRun: Sendable {
        var number: UInt64
        var task: Task<Void, Never>
        /// Microseconds since boot.
        var deadline: UInt64
        var isOverdue = false
    }

    /// The limit that the protocol's documentation promises.
    static var customLimitMicroseconds: UInt64 { 30_000_000 }

    /// Tells the modules that want to know whether they are sampled.
    private func follow(_ custom: [String: any CustomSampleModule], in plan: SamplePlan) {
        guard !hasEnded else { return }
        for (name, former) in customModules {
            guard let former = former as? any SwitchedSampleModule else { continue }
            if (custom[name] as? any SwitchedSampleModule) !== former { former.end() }
        }
        customModules = custom
        for case let (name, module as any SwitchedSampleModule) in custom {
            if plan.intervals[.custom(name)] == nil { module.end() } else { module.begin() }
        }
    }

    var nextCustomDeadline: UInt64? { customRuns.values.filter { !$0.isOverdue }.map(\.deadline).min() }

    /// Calls the module beside the loop. A task of its own on purpose: one that never returns, cancelled or not, must
    /// not hold a stop up.
    func startCustom(_ name: String, at stamp: RecordStamp) {
        guard let module = customModules[name] else { return }
        guard customRuns[name] == nil else { return failed(name, "its previous call has not returned yet") }
        lastCustomRun += 1
        let number = lastCustomRun
        let task = Task {
            let result: Result<[SampleMeasurement], any Error>
            do { result = .success(try await module.sample()) } catch { result = .failure(error) }
            await self.customEnded(name, number, result, at: stamp)
        }
        customRuns[name] = CustomRun(
            number: number, task: task, deadline: stamp.timeSinceBoot + Self.customLimitMicroseconds)
    }

    func cancelOverdueCustom(now: UInt64) {
        for (name, run) in customRuns where !run.isOverdue && run.deadline <= now {
            customRuns[name]?.isOverdue = true
            run.task.cancel()
            failed(name, "it took longer than 30 s and was cancelled")
        }
    }

    private func customEnded(
        _ name: String, _ number: UInt64, _ result: Result<[SampleMeasurement], any Error>, at stamp: RecordStamp
    ) async {
        guard let run = customRuns[name], run.number == number else { return }
        defer { customEnd.signal() }
        customRuns[name] = nil
        measured(name, since: stamp)
        guard !run.isOverdue, !hasEnded else { return }
        switch result {
        case .success(let measurements) where measurements.isEmpty: record(.custom(name), "it gave no measurements")
        case .success(let measurements):
            do throws(DataSamplerError) {
                for sample in try samples(name, measurements) {
                    let sample = Sample(kind: .sampleCustom, module: name, body: sample.body)
                    await keep(sample, of: .custom(name), at: stamp)
                }
            } catch {
                failed(name, error.message)
            }
        case .failure(let error): failed(name, "it failed: \(error)")
        }
    }

    /// One sample. Those of a source of metrics may be several, because it may have more series than a record holds.
    private func samples(
        _ name: String, _ measurements: [SampleMeasurement]
    ) throws(DataSamplerError) -> [CustomSample] {
        guard customModules[name] is MetricSourceModule else {
            return [try CustomSample(module: name, measurements: measurements)]
        }
        return try CustomSample.parts(module: name, measurements: measurements)
    }

    private func failed(_ name: String, _ reason: String) {
        guard record(.custom(name), reason) else { return }
        core.notices.post(.moduleFailed, "custom module \(name): \(reason)", ["module": name])
    }

    /// Makes a beacon, or shares the one in flight where that holds all that is to be reported. Returns its number once
    /// it is on synced disk.
    func sendBeacon(_ trigger: WireBeaconTrigger) async throws(DataSamplerError) -> UInt64 {
        guard !hasEnded else { throw Self.stopped }
        lastCaller += 1
        let caller = lastCaller
        let result = await withCheckedContinuation { continuation in
            callers[caller] = continuation
            perform(beacons.asked(by: caller, trigger: trigger))
        }
        return try result.get()
    }

    /// Something a beacon reports has changed: one goes at once, to whoever listens. Its failure is logged where it
    /// happens.
    func reportChange() async { _ = try? await sendChange() }

    /// Something that beacons contain may have changed. If it has, a beacon reports it within a second, with other
    /// changes.
    func noticeChange() {
        guard !isEndingBeacons else { return }
        beacons.noticedChange(now: core.clock.now().timeSinceBoot)
        wake.signal()
    }

    /// Makes a beacon that nobody waits for.
    func wantBeacon(_ trigger: WireBeaconTrigger) { perform(beacons.wanted(trigger)) }

    /// Makes a beacon about a change, and returns its number once it is on synced disk.
    @discardableResult func sendChange() async throws(DataSamplerError) -> UInt64 {
        beacons.changed()
        return try await sendBeacon(.change)
    }

    /// Starts a schedule or replaces the one there is; the first beacon goes at once.
    func startBeacons(frequency: Double, trigger: WireBeaconTrigger) {
        // The one in flight reports the former schedule.
        beacons.changed()
        perform(beacons.scheduleStarted(frequency: frequency, now: core.clock.now().timeSinceBoot, trigger: trigger))
    }

    /// Where there is a schedule, a last beacon says that none follows. Returns when it is on synced disk.
    func endBeacons() async {
        isEndingBeacons = true
        guard beacons.interval != nil else { return }
        stopBeacons()
        // A failure is logged where it happens, and the stop continues without it.
        _ = try? await sendBeacon(.stop)
    }

    /// Idempotent.
    func stopBeacons() {
        guard beacons.interval != nil else { return }
        beacons.changed()
        beacons.scheduleStopped()
    }
}
