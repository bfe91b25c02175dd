import Logging
import RecordQueue
import SampleModules
import Transmitter
import WireModel

/// What runs out by itself.
extension DeviceController {
    private static var leavingMicroseconds: UInt64 { 10_000_000 }
    /// Budgets and figures are looked at so often.
    private static var figuresLook: Int64 { 60_000_000 }
    /// What is left of an unenrollment is mostly two answers of the collector away; one that does not answer is asked
    /// less and less often.
    static func leavingPause(after attempts: Int) -> Int64 { min(60, 1 << min(attempts, 6)) * 1_000_000 }

    /// Until its task is cancelled.
    func run() async {
        var leaveAt: Int64 = 0
        var leaveAttempts = 0
        var figuresAt: Int64 = 0
        while !Task.isCancelled {
            let now = core.queueTime
            if let seconds = offline.overdue(allowedSeconds: core.settings.offlineTimeAllowed, now: now) {
                keepOffline()
                core.notices.post(
                    DataSamplerNotice(
                        .offlineTimeExceeded, "the collector was out of reach for \(seconds) s, longer than is allowed",
                        ["seconds": "\(seconds)"]))
            }
            if core.pins.hasChanges { await pinsChanged() }
            let isLeaving = await parts?.leaving.isLeaving ?? false
            if isLeaving, leaveAt <= now {
                _ = await leave()
                leaveAt = core.queueTime + Self.leavingPause(after: leaveAttempts)
                leaveAttempts += 1
            }
            if figuresAt <= now {
                await lookAtFigures()
                figuresAt = now + Self.figuresLook
            }
            let due = [offline.dueAt(allowedSeconds: core.settings.offlineTimeAllowed), isLeaving ? leaveAt : nil]
                .compactMap { $0 }.min()
            let pause = max(1000, min(figuresAt, due ?? figuresAt) - core.queueTime)
            await wake.wait(for: .microseconds(pause), clock: sleeper)
        }
    }

    /// Tells metrics and budgets what was used, drops what a denial or the first profile left behind, and slows down
    /// where a budget asks for it.
    private func lookAtFigures() async {
        guard let parts else { return }
        let held = holds
        do { try await core.consent.settle() } catch {
            core.logger.warning(
                "what waits could not be dropped for want of consent", metadata: ["reason": "\(error.message)"])
        }
        await core.decideEarlyEvents()
        if holds != held { await tellTransmitter() }
        await goOnWithWipe(parts.wipes)
        // A queue that cannot answer shows elsewhere.
        if let status = try? await core.queue.status() {
            core.metrics.update(queue: status)
            core.tellReplacedQueue(status)
        }
        let sent = parts.transmitter.status
        core.metrics.update(transmitter: sent, wallTime: core.clock.now().wallTime)
        let cost = core.cost()
        let usage = BudgetUsage(
            sentBytes: sent.sentBytes, writtenBytes: cost?.writtenBytes ?? 0,
            cpuMicroseconds: cost?.cpuTimeMicroseconds ?? 0)
        let (verdict, changed) = budgets.advance(usage: usage, budgets: core.settings.budgets, now: core.clock.now())
        core.metrics.update(slowdown: verdict)
        guard changed else { return }
        core.notices.post(DataSamplerNotice(.slowdown, verdict.description, ["factor": "\(verdict.factor)"]))
        await setSlowdown(verdict)
    }

    /// One that has begun and met an error. Whose outcome is to be told its command's runner ends.
    private func goOnWithWipe(_ wipes: WipeKeeper) async {
        guard let pending = await wipes.pending else { return }
        do throws(DataSamplerError) {
            try await wipes.erase()
            if pending.command == nil { try await wipeWasReported() }
        } catch {
            core.logger.error("the wipe waits", metadata: ["reason": "\(error.message)"])
        }
    }

    /// - Returns: whether it is over.
    func unenroll() async throws(DataSamplerError) -> Bool {
        guard let parts else { throw DeviceLoop.stopped }
        guard (try? core.identity.load()) != nil else {
            throw DataSamplerError(.notAllowed, "this device is not enrolled: there is nothing to end")
        }
        try await parts.leaving.begin()
        await gateChanged()
        let deadline = core.clock.now().timeSinceBoot + Self.leavingMicroseconds
        while await leave() != .done {
            guard core.clock.now().timeSinceBoot < deadline, !Task.isCancelled else { return false }
            // The transmitter says nothing when a stream has run empty; a few looks are cheap, this once.
            try? await sleeper.sleep(for: .milliseconds(200))
        }
        return true
    }

    /// One step of an unenrollment, with what it changes.
    func leave() async -> LeaveKeeper.Progress {
        guard let parts else { return .waiting("the data sampler has not started yet") }
        do throws(DataSamplerError) {
            let progress = try await parts.leaving.step()
            if progress == .done { await gateChanged() }
            return progress
        } catch {
            core.logger.error("unenrolling waits", metadata: ["reason": "\(error.message)"])
            return .waiting(error.message)
        }
    }
}

/// What a running data sampler adds to what its directory tells.
struct RunReport: Sendable {
    var transmitter: TransmitterStatus
    var modules: [DataSamplerStatus.Module]
    /// Seconds.
    var beaconInterval: Double?
    var profile: ProfileKeeper.Report
    var commands: CommandRunner.Report
    var wipe: WipeNote?
    var isDoNotDisturb: Bool
    var isSuspended: Bool
    var slowdown: Double
    var slowdownReason: String?
}

extension DeviceController {
    func report() async throws(DataSamplerError) -> RunReport {
        guard let parts else { throw DeviceLoop.stopped }
        let plan = await parts.loop.plan
        let reports = await parts.loop.reports
        let modules = plan.intervals.sorted { $0.key < $1.key }.map { module, interval in
            let report = reports[module] ?? DeviceLoop.ModuleReport()
            var isCustom = false
            if case .custom = module { isCustom = true }
            return DataSamplerStatus.Module(
                name: module.name, isCustom: isCustom, sampleInterval: Double(interval.microseconds) / 1_000_000,
                samples: report.samples,
                lastSample: report.lastSample, reason: report.reason)
        }
        return RunReport(
            transmitter: parts.transmitter.status, modules: modules,
            beaconInterval: await parts.loop.beacons.interval.map { Double($0) / 1_000_000 },
            profile: await parts.profiles.report,
            commands: await parts.commands.report, wipe: await parts.wipes.pending, isDoNotDisturb: isDoNotDisturb,
            isSuspended: isSuspended,
            slowdown: slowdown, slowdownReason: budgets.verdict.reason == nil ? nil : budgets.verdict.description)
    }
}

/// Tells once that the collector was out of reach for longer than is allowed (ws1). Pure; times are microseconds of the
/// queue clock, so that neither a wall clock set by somebody nor a restart changes what is counted.
struct OfflineWatch: Codable, Equatable, Sendable {
    static let fileName = "offline.json"

    /// Since when the collector is out of reach; `nil`: it answers.
    private(set) var since: Int64?
    private(set) var wasTold = false

    static func file(in directory: String) -> StateFile<OfflineWatch> {
        StateFile(directory: directory, name: fileName)
    }

    /// - Returns: whether something changed that is to be kept.
    mutating func reached() -> Bool {
        guard since != nil else { return false }
        self = OfflineWatch()
        return true
    }

    /// - Returns: whether something changed that is to be kept.
    mutating func unreachable(since: Int64) -> Bool {
        guard self.since == nil else { return false }
        self.since = since
        return true
    }

    /// When it is to be told; `nil`: nothing is allowed to run out, or it was told.
    func dueAt(allowedSeconds: Double?) -> Int64? {
        guard let allowedSeconds, let since, !wasTold else { return nil }
        return since + Int64(allowedSeconds * 1_000_000)
    }

    /// - Returns: the seconds without the collector, once, when they are more than is allowed.
    mutating func overdue(allowedSeconds: Double?, now: Int64) -> Int64? {
        guard let due = dueAt(allowedSeconds: allowedSeconds), due <= now, let since else { return nil }
        wasTold = true
        return (now - since) / 1_000_000
    }
}
