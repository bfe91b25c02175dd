import LogStore
import Logging
import RecordQueue
import SampleModules
import Transmitter
import WireModel

/// Puts the parts of a running device together. It hears what happens, lets `DevicePolicy` decide, and performs that.
///
///     parts, callers ── DeviceEvents ──► DevicePolicy ── actions ──► supervisor ── calls ──► parts
///
/// Parts know the queue of events, and not the supervisor. Events are handled one after the other, so that of two
/// changes of the settings the later one holds everywhere. An event call and a log call take no part in this.
///
/// Three things run until the stop: `DeviceLoop` samples, `Transmitter` sends, and one timer, the wheel of
/// `DeviceJob`s, does the rest. Each loop of its own for a job would be a timer more. Jobs run beside the events, since
/// they wait for the collector. What is called while an event is handled must not report and wait for that: it would
/// wait for itself. Two rules follow: no part is asked here for an exchange with the collector, and transmitter,
/// uploads and requests for logs post.
actor DeviceSupervisor {
    struct Parts: Sendable {
        var loop: DeviceLoop
        var transmitter: Transmitter
        var delivery: DeliveryWatch
        var profiles: ProfileKeeper
        var commands: CommandRunner
        var wipes: WipeKeeper
        var leaving: LeaveKeeper
        var logs: LogKeeper
        var logRequests: LogRequests
        var messages: MessageDelivery
        var uploader: LogUploader
        var budgets: BudgetKeeper
        var traces: TraceSwitch
        /// `nil`: switched off.
        var logind: LogindWatch?
    }

    /// Budgets and figures are looked at so often.
    private static let figuresLook = Duration.seconds(60)

    nonisolated let core: SamplerCore
    nonisolated let events: DeviceEvents
    nonisolated let parts: Parts
    /// One change of settings at a time, so that the file and what is followed are the same.
    nonisolated let settingsLock = AsyncMutex()
    private var policy: DevicePolicy
    private let offlineFile: StateFile<OfflineWatch>
    private let doNotDisturbFile: StateFile<DoNotDisturbState>
    private var beaconInterval: Double?
    /// The first beacon was asked for.
    private var hasBegunBeacons = false
    private var isDisabled: Bool
    private var tracedModules: [String: String] = [:]
    /// The blocks that were reported to the program since this start; `nil`: nothing yet, and an earlier run reported
    /// something.
    private var reportedBlocks: ReportedBlocks?
    private let reportedBlocksFile: StateFile<ReportedBlocks>
    /// The beacon that reports that telemetry is switched off; `nil`: none was made.
    var reportedOff: ReportedOff?

    init(
        core: SamplerCore, events: DeviceEvents, parts: Parts, custom: [String: any CustomSampleModule],
        doNotDisturb: DoNotDisturbState, logLevel: LogLevelWish?, captures: [LogLevelWish]
    ) {
        self.core = core
        self.events = events
        self.parts = parts
        offlineFile = OfflineWatch.file(in: core.configuration.directory)
        doNotDisturbFile = DoNotDisturbState.file(in: core.configuration.directory)
        reportedBlocksFile = ReportedBlocks.file(in: core.configuration.directory)
        reportedBlocks = ReportedBlocks.wasReported(in: core.configuration.directory) ? nil : ReportedBlocks()
        // A damaged one only has it reported again.
        reportedOff = try? ReportedOff.file(in: core.configuration.directory).load()
        policy = DevicePolicy(
            local: core.configuration, runtime: core.runtime, profile: core.storedProfile?.profile, custom: custom,
            slowdown: parts.budgets.verdict.factor,
            // A damaged one only forgets since when nobody answered.
            offline: (try? offlineFile.load()) ?? OfflineWatch(), doNotDisturb: doNotDisturb, logLevel: logLevel,
            captures: captures)
        isDisabled = core.settings.telemetryDisabled
        core.setSlowdown(parts.budgets.verdict.wire)
    }

    var doNotDisturb: DoNotDisturbState { policy.doNotDisturb }

    var runtimeSettings: RuntimeSettings { policy.runtime }

    var doNotDisturbStatus: DeviceDNDStatus {
        DeviceDNDStatus(doNotDisturb, isAllowed: core.settings.doNotDisturbAllowed)
    }

    // MARK: Running

    /// Everything that samples, sends and asks, until its task is cancelled.
    nonisolated func run(clock: any RecordClock, sleeper: any Clock<Duration>) async {
        await withTaskGroup { group in
            group.addTask { await self.parts.loop.run() }
            group.addTask { await self.parts.transmitter.run() }
            group.addTask { await self.core.location.run() }
            group.addTask { await self.parts.messages.run() }
            group.addTask { await self.watchGeofences() }
            if let logind = self.parts.logind { group.addTask { await logind.run(sleeper: sleeper) } }
            group.addTask { await self.events.jobs.run(clock: clock, sleeper: sleeper) { await self.round(of: $0) } }
        }
        await parts.profiles.end()
    }

    /// Handles events until there are no more: until `DeviceEvents.finish`.
    func handleEvents() async {
        for await entry in events.entries {
            for action in policy.handle(entry.event, now: core.clock.now(), queueTime: core.queueTime) {
                await perform(action)
            }
            entry.handled?.resume(returning: true)
        }
    }

    /// One round of a job.
    /// - Returns: how long nothing is to be done, unless something wakes it.
    private nonisolated func round(of job: DeviceJob) async -> Duration {
        switch job {
        case .profile: return await parts.profiles.round()
        case .commands: return await parts.commands.round()
        case .logRequests:
            await parts.logs.store.crashesReported()
            return await parts.logRequests.round()
        case .uploads: return await parts.uploader.round()
        case .unenrollment: return await parts.leaving.round()
        case .compromise:
            if await core.beacons.compromise.examineIfDue() != nil {
                await events.report(.verdictChanged)
            } else {
                await reportBlocks()
            }
            return CompromiseMonitor.interval
        case .offlineTime:
            await events.report(.offlineTimeEnded)
            return await offlinePause
        case .doNotDisturb: return await reportDoNotDisturb()
        case .networkNotice:
            await events.report(.networkSettled)
            return await networkPause
        case .figures:
            await lookAtFigures()
            return Self.figuresLook
        }
    }

    private var offlinePause: Duration {
        policy.offlineTimeEnds.map { .microseconds(max(1000, $0 - core.queueTime)) } ?? .seconds(86_400)
    }

    private var networkPause: Duration {
        let now = core.clock.now().timeSinceBoot
        return policy.networkNoticeDue.map { .microseconds(Int64(clamping: $0 > now ? $0 - now : 1000)) }
            ?? .seconds(86_400)
    }

    /// Reports to metrics and budgets what was used, drops what a denial or the first profile left behind, and goes on
    /// with a wipe that met an error.
    private nonisolated func lookAtFigures() async {
        let awaited = core.awaitedDecisions
        do { try await core.consent.settle() } catch {
            core.logger.warning(
                "records without consent could not be dropped", metadata: ["reason": "\(error.message)"])
        }
        core.sealState()
        await core.decideEarlyEvents()
        if core.awaitedDecisions != awaited { await events.report(.gateChanged) }
        await parts.wipes.goOn()
        // A queue that cannot answer shows elsewhere.
        if let status = try? await core.queue.status() {
            core.metrics.update(queue: status)
            core.reportReplacedQueue(status)
        }
        let sent = parts.transmitter.status
        core.metrics.update(transmitter: sent, wallTime: core.clock.now().wallTime)
        let cost = core.cost()
        let usage = BudgetUsage(
            sentBytes: sent.sentBytes, writtenBytes: cost?.writtenBytes ?? 0,
            cpuMicroseconds: cost?.cpuTimeMicroseconds ?? 0)
        let (verdict, changed) = parts.budgets.advance(
            usage: usage, budgets: core.settings.budgets, now: core.clock.now())
        core.metrics.update(slowdown: verdict)
        guard changed else { return }
        core.setSlowdown(verdict.wire)
        await events.report(.budgetJudged(verdict))
    }

    // MARK: Performing

    private func perform(_ action: DeviceAction) async {
        switch action {
        case .follow(let trigger, let restartsBeacons):
            if restartsBeacons { beaconInterval = nil }
            await follow(firstBeacon: trigger)
        case .sendBeacon(let trigger):
            if case .record = core.gate.decide(.beacon) { await parts.loop.wantBeacon(trigger) }
        case .notify(let notice): core.notices.post(notice)
        case .keepOffline(let offline):
            do { try offlineFile.save(offline) } catch {
                core.logger.warning(
                    "the offline time could not be saved for the next start", metadata: ["reason": "\(error.message)"])
            }
            events.wake(.offlineTime)
        case .keepDoNotDisturb(let state):
            // It holds all the same: a full disk must not keep anybody from being left alone.
            do { try doNotDisturbFile.save(state) } catch {
                core.logger.error(
                    "do-not-disturb could not be saved for the next start", metadata: ["reason": "\(error.message)"])
            }
        case .reportDoNotDisturb: events.wake(.doNotDisturb)
        case .wake(let job): events.wake(job)
        case .openGate: core.changeGate { $0.isUnenrolled = false }
        case .refuseEarlyEvents(let settings):
            core.apply(settings)
            await core.decideEarlyEvents()
        case .fetchProfile(let onlyAfterFailure): await parts.profiles.lookAgain(onlyAfterFailure: onlyAfterFailure)
        case .recordUsage(let usage): await core.recordUsage(usage)
        case .applyNews(let news):
            parts.profiles.noticed(newest: news.newestProfileRevision)
            parts.commands.received(news.commands, enrollment: news.enrollmentID, serverTime: news.serverTime)
        case .followUpload(let upload): await parts.logRequests.changed(upload)
        case .recordCourse(let command, let course): parts.commands.heard(course, of: command)
        }
    }

    /// Brings all parts in line with the plan.
    private func follow(firstBeacon trigger: WireBeaconTrigger) async {
        // Before the plan: pins depend on the settings that are applied.
        core.apply(policy.settings)
        await core.beacons.compromise.follow(policy.settings.detection)
        await core.decideEarlyEvents()
        let plan = policy.plan(
            gate: core.gate, isConsentDenied: core.consent.consent == .denied, awaits: core.awaitedDecisions,
            pins: core.pins.inForce)
        core.setDoNotDisturb(plan.doNotDisturb)
        parts.traces.configure(policy.local.traceLevel)
        // What is captured are the sampler's own messages too.
        parts.traces.change(
            to: policy.calls.logLevel.flatMap(TraceLevel.init),
            least: (policy.captureLevel?.wire).flatMap(TraceLevel.init))
        await core.recordUsage()
        // Before the modules, so that none asks for what may not be read.
        core.geofences.follow(
            plan.settings.profileChecked ? plan.settings.geofences : nil,
            isWatching: plan.location.needs.contains(.geofences))
        await core.location.apply(plan.location)
        await parts.loop.apply(plan.samples, custom: policy.custom)
        if plan.beaconInterval != beaconInterval {
            beaconInterval = plan.beaconInterval
            if let beaconInterval {
                await parts.loop.startBeacons(frequency: beaconInterval, trigger: trigger)
            } else {
                await parts.loop.stopBeacons()
            }
        }
        if !plan.isStopped {
            if beaconInterval == nil, !hasBegunBeacons {
                // One at start goes without a schedule too (ws1).
                await parts.loop.wantBeacon(.start)
            } else {
                await parts.loop.noticeChange()
            }
            hasBegunBeacons = true
        }
        parts.logs.apply(plan.settings.logging, levels: plan.logLevels)
        await parts.transmitter.apply(plan.transmission)
        await reportSwitch(plan.settings.telemetryDisabled)
        await reportOff(plan.settings.telemetryDisabled)
        traceModules(plan.settings.unavailable)
        await reportPins()
        reportBlocks()
        for job in [DeviceJob.commands, .uploads, .offlineTime] { events.wake(job) }
    }

    /// Says that the profile asks to block the use of the program, or does not any more.
    private func reportBlocks() {
        let verdicts = core.verdicts
        let blocks = ReportedBlocks(reasons: verdicts.blocks)
        guard blocks != reportedBlocks else { return }
        // After a start the detectors have not looked yet.
        if verdicts.compromise == nil, blocks.reasons.isEmpty { return }
        reportedBlocks = blocks
        do throws(DataSamplerError) {
            try reportedBlocksFile.save(blocks)
        } catch {
            core.logger.warning(
                "what the program was told of blocking could not be saved for the next start",
                metadata: ["reason": "\(error.message)"])
        }
        guard !blocks.reasons.isEmpty else {
            core.notices.post(.unblocked, "the profile does not ask to block the use of the program any more")
            return
        }
        let reasons = blocks.text
        core.logger.warning(
            "the profile asks to block the use of the program", metadata: ["reasons": "\(reasons)"])
        core.notices.post(
            .blocked, "the profile asks to block the use of the program: \(reasons)", ["reasons": reasons])
    }

    /// Says once why a module that was asked for is not sampled (ws1: networkData that is masked).
    private func traceModules(_ unavailable: [String: String]) {
        for (name, reason) in unavailable.sorted(by: { $0.key < $1.key }) where tracedModules[name] != reason {
            core.logger.info("a module is not sampled", metadata: ["module": "\(name)", "reason": "\(reason)"])
        }
        tracedModules = unavailable
    }

    private func reportSwitch(_ isDisabled: Bool) async {
        guard isDisabled != self.isDisabled else { return }
        self.isDisabled = isDisabled
        core.logger.warning("telemetry switched on or off", metadata: ["disabled": "\(isDisabled)"])
        if isDisabled {
            core.notices.post(
                .telemetryDisabled,
                "telemetry is switched off: nothing is sampled or recorded, and only commands are answered")
        } else {
            core.notices.post(.telemetryEnabled, "telemetry is switched on again")
        }
        await parts.profiles.switched(disabled: isDisabled)
    }

    /// Says that the pins of the profile are not in force, or are again.
    private func reportPins() async {
        let changes = core.pins.drainChanges()
        for change in changes {
            core.notices.post(change.notice)
            if let text = change.finding?.text {
                core.logger.error("certificate pins of the profile are not in force", metadata: ["reason": "\(text)"])
            }
        }
    }
}

/// `<data>/blocked.json`: why the program was last asked to block its use; no reasons if it was asked to block no more.
/// Missing if it was never asked to block.
///
/// Where the file exists, each start informs the program again of what holds: a run that was killed may have informed
/// nobody, and the cause may be gone since, such as by an update.
struct ReportedBlocks: KeptState, Equatable {
    static let fileName = "blocked.json"

    var reasons: [String] = []

    /// Whether an earlier run informed the program of anything. A damaged file says so, too.
    static func wasReported(in directory: String) -> Bool {
        do { return try file(in: directory).load() != nil } catch { return true }
    }

    /// The text in one line, short enough for a notice.
    var text: String {
        let first = reasons.prefix(8).map { String($0.prefix(200)) }.joined(separator: "; ")
        return reasons.count > 8 ? "\(first); and \(reasons.count - 8) more" : first
    }
}

/// The additions of a running data sampler to what its directory shows.
struct RunReport: Sendable {
    var transmitter: TransmitterStatus
    /// Log uploads that have not ended.
    var openUploads: [LogUpload]
    var modules: [DataSamplerStatus.Module]
    /// Seconds.
    var beaconInterval: Double?
    var profile: ProfileKeeper.Report
    var commands: CommandRunner.Report
    var wipe: WipeNote?
    var isDoNotDisturb: Bool
    var doNotDisturbStatus: DeviceDNDStatus
    var isSuspended: Bool
    var slowdown: Double
    var slowdownReason: String?
    /// `nil`: switched off.
    var logind: DataSamplerStatus.Logind?
    var location: DataSamplerStatus.Location
    /// `nil`: there is none.
    var intakes: [DataSamplerStatus.Intake]?
    /// Seconds.
    var offlineTimeExceeded: Int64?
}

extension DeviceSupervisor {
    func report() async -> RunReport {
        let plan = await parts.loop.plan
        let reports = await parts.loop.reports
        let modules = plan.intervals.sorted { $0.key < $1.key }.map { module, interval in
            let report = reports[module] ?? DeviceLoop.ModuleReport()
            var isCustom = false
            if case .custom = module { isCustom = true }
            return DataSamplerStatus.Module(
                name: module.name, isCustom: isCustom, sampleInterval: Double(interval.microseconds) / 1_000_000,
                samples: report.samples, lastSample: report.lastSample, reason: report.reason)
        }
        let verdict = parts.budgets.verdict
        return RunReport(
            transmitter: parts.transmitter.status,
            openUploads: await parts.uploader.uploads.filter { !$0.phase.isFinal }, modules: modules,
            beaconInterval: await parts.loop.beacons.interval.map { Double($0) / 1_000_000 },
            profile: await parts.profiles.report, commands: await parts.commands.report,
            wipe: await parts.wipes.pending, isDoNotDisturb: policy.isDoNotDisturb(core.settings),
            doNotDisturbStatus: doNotDisturbStatus, isSuspended: policy.isSuspended, slowdown: policy.slowdown,
            slowdownReason: verdict.reason == nil ? nil : verdict.description, logind: parts.logind?.report,
            location: await core.location.report, intakes: parts.logs.intakeReports,
            offlineTimeExceeded: policy.offlineTimeExceeded(queueTime: core.queueTime))
    }
}
