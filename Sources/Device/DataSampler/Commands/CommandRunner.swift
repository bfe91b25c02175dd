import DeviceTunables
import FoundationEssentials
import Logging
import RecordQueue
import Synchronization
import Transmitter
import WireModel

/// Runs the collector's commands one after the other. Each is recorded on disk before it runs and answered when it has
/// ended.
///
/// The shell around `CommandLedgerStateMachine`. If the ledger cannot be written nothing is run, and it tries again a
/// minute later.
actor CommandRunner {
    /// The part for a status.
    struct Report: Equatable, Sendable {
        var entries: [CommandLedgerStateMachine.Entry] = []
        var levelChange: CommandLedgerStateMachine.LevelChange?
        /// Why the ledger could not be written.
        var failure: String?
    }

    /// Returns when the ledger is on synced disk.
    typealias Save = @Sendable (CommandLedger) throws(DataSamplerError) -> Void

    private let save: Save
    private let core: SamplerCore
    private let actions: any CommandActions
    private let events: DeviceEvents
    private let logger: Logger
    /// Commands that are not in the ledger yet. The collector repeats those beyond the limit.
    private let arrived = Mutex<[(commands: [WireCommand], enrollment: Data, serverTime: Int64)]>([])
    /// Reports of commands that continue by themselves.
    private let courses = Mutex<[(command: Data, course: CommandCourse)]>([])
    private let news: Mutex<NewsPoll>
    private var ledger: CommandLedger
    private var failure: String?
    private var hasBegun = false

    /// - Parameters:
    ///   - save: stores the ledger.
    ///   - ledger: the stored ledger.
    init(
        save: @escaping Save, ledger: CommandLedger, core: SamplerCore, actions: any CommandActions,
        events: DeviceEvents, logger: Logger
    ) {
        self.save = save
        self.ledger = ledger
        self.core = core
        self.actions = actions
        self.events = events
        self.logger = logger
        news = Mutex(NewsPoll(now: core.clock.now().timeSinceBoot))
    }

    var report: Report {
        Report(entries: ledger.machine.entries, levelChange: ledger.machine.levelChange, failure: failure)
    }

    /// Accepts the commands in an answer. Safe from any thread; never blocks.
    nonisolated func received(_ commands: [WireCommand], enrollment: Data, serverTime: Int64) {
        let now = core.clock.now().timeSinceBoot
        news.withLock { $0.heard(at: now) }
        guard !commands.isEmpty else { return }
        arrived.withLock { arrived in
            guard arrived.count < 16 else { return }
            arrived.append((commands, enrollment, serverTime))
        }
        events.wake(.commands)
    }

    /// The collector said that something is new, so it is asked at once. Safe from any thread; never blocks.
    nonisolated func rang() {
        news.withLock { $0.rang() }
        events.wake(.commands)
    }

    /// Records the progress of a command that continues by itself. Safe from any thread; never blocks.
    nonisolated func heard(_ course: CommandCourse, of command: Data) {
        courses.withLock { courses in
            // Only the last report counts, except for an end.
            courses.removeAll { $0.command == command && !$0.course.isEnd }
            if !courses.contains(where: { $0.command == command }) { courses.append((command, course)) }
        }
        events.wake(.commands)
    }

    /// One round: what can be done now. What is being carried out when the program ends is carried out again by the
    /// next start.
    /// - Returns: how long nothing is to be done, unless something wakes it.
    func round() async -> Duration {
        if !hasBegun {
            hasBegun = true
            await actions.changeLogLevel(level)
            ledger.machine.restarted()
        }
        do throws(DataSamplerError) {
            try await step()
            failure = nil
        } catch {
            if failure != error.message { logger.error("commands waiting", metadata: ["reason": "\(error.message)"]) }
            failure = error.message
            return Tunables.Commands.lookAgain
        }
        await pollIfSilent()
        return pause
    }

    /// Does everything that can be done now. A failure ends it between two steps, and the disk says where to continue.
    func step() async throws(DataSamplerError) {
        // Only commands that continue by themselves are running now. Others that were interrupted start again.
        ledger.machine.stepFailed()
        try acceptArrived()
        while !Task.isCancelled {
            let now = core.queueTime
            if ledger.machine.levelReturned(now: now) {
                await actions.changeLogLevel(nil)
                try save(ledger)
            }
            let expired = ledger.machine.expire(now: now)
            if !expired.isEmpty { try save(ledger) }
            for entry in expired where entry.isLong == true { await actions.cancel(command: entry.id) }
            try await reportStates()
            // The result must be reported. Otherwise the wipe's note would stop all records for ever.
            if let wipe = await actions.wipeUnderWay(), !ledger.machine.isOpen(wipe) {
                try await actions.wipeWasReported()
            }
            guard let entry = ledger.machine.nextToRun(now: core.queueTime) else { return }
            ledger.machine.began(entry.id)
            try save(ledger)
            try await reportStates()
            if let (state, detail) = await perform(entry) {
                // Cancelled by a stop, it is carried out again by the next start, at once.
                if state == .notNow, Task.isCancelled { return }
                let evidence = state == .done ? await actions.wipeEvidence(command: entry.id) : nil
                ledger.machine.ended(
                    entry.id, state, evidence?.remark ?? detail, certificate: evidence?.certificate,
                    now: core.queueTime)
                try save(ledger)
                report(entry, state, evidence?.remark ?? detail)
            } else {
                ledger.machine.goesOn(entry.id)
                try save(ledger)
            }
            try acceptArrived()
        }
    }

    private func report(
        _ entry: CommandLedgerStateMachine.Entry, _ state: CommandLedgerStateMachine.State, _ detail: String
    ) {
        let action = Self.name(entry)
        logger.info("command ended", metadata: ["action": "\(action)", "state": "\(state.rawValue)"])
        guard state.isFinal else { return }
        core.notices.post(
            .commandEnded, "command \(action): \(state.rawValue)\(detail.isEmpty ? "" : ", \(detail)")",
            ["action": action, "state": state.rawValue])
    }

    private func acceptArrived() throws(DataSamplerError) {
        let news = arrived.withLock { arrived in
            defer { arrived = [] }
            return arrived
        }
        var changed = false
        for (commands, enrollment, serverTime) in news {
            changed =
                ledger.machine.received(commands, enrollment: enrollment, serverTime: serverTime, now: core.queueTime)
                || changed
        }
        if actions.claimErasedMessages() { changed = ledger.machine.messagesErased() || changed }
        let heard = courses.withLock { courses in
            defer { courses = [] }
            return courses
        }
        for (command, course) in heard {
            guard let entry = ledger.machine.entries.first(where: { $0.id == command }), entry.isLong == true,
                !entry.state.isFinal
            else { continue }
            switch course {
            case .progressed(let progress, let why):
                changed = ledger.machine.progressed(command, progress, waitsFor: why) || changed
            case .ended(.notNow, let detail):
                ledger.machine.putOff(command, detail, now: core.queueTime)
                report(entry, .notNow, detail)
                changed = true
            case .ended(let state, let detail):
                ledger.machine.ended(command, state, detail, now: core.queueTime)
                report(entry, state, detail)
                changed = true
            }
        }
        if changed { try save(ledger) }
    }

    // MARK: Carrying out

    /// - Returns: how it ended; `nil` if it continues by itself.
    private func perform(_ entry: CommandLedgerStateMachine.Entry) async -> (CommandLedgerStateMachine.State, String)? {
        // It was decoded before it was stored.
        guard let command = try? WireCommand.decode(entry.command) else {
            return (.failed, "it cannot be read any more")
        }
        if core.gate.isTelemetryDisabled, command.action?.asksForData == true {
            return (.failed, "telemetry is switched off on this device: it tells nothing until that is lifted")
        }
        do throws(DataSamplerError) {
            switch command.action {
            case .sendBeacon: try await actions.sendBeacon()
            case .queryDeviceInformation: break
            case .reloadProfile:
                switch await actions.reloadProfile() {
                case .applied(let revision): return (.done, "profile revision \(revision) is applied")
                case .unchanged(let revision): return (.done, "profile revision \(revision) is the newest")
                case .refused(let why): return (.failed, why)
                case .failed(let why): return (.notNow, why)
                }
            case .changeLogLevel(let change):
                ledger.machine.levelChanged(change, by: entry.id, now: core.queueTime)
                await actions.changeLogLevel(level)
            case .cancel(let cancel):
                let answer = ledger.machine.cancelled(cancel.commandID)
                await actions.changeLogLevel(level)
                await actions.cancel(command: cancel.commandID)
                return answer
            case .wipe(let wipe):
                try await actions.wipe(command: entry.id, reason: wipe.reason, endsEnrollment: false)
            case .enterpriseWipe(let wipe):
                try await actions.wipe(command: entry.id, reason: wipe.reason, endsEnrollment: true)
            case .requestLogs(let request):
                try await actions.requestLogs(command: entry.id, request)
                return nil
            case .message(let message):
                guard actions.deliver(command: entry.id, message) else { return (.unsupported, Self.takesNoMessages) }
                return nil
            case nil: return (.unsupported, "this version does not know the command")
            }
            return (.done, "")
        } catch {
            switch error.code {
            // These obstacles may disappear. The command stays until it expires.
            case .queueFull, .storage, .wipePending, .queue: return (.notNow, error.message)
            default: return (.failed, error.message)
            }
        }
    }

    private static let takesNoMessages =
        "the program on this device takes no messages: ws1agent needs a noticeHook, another program receiveMessage"

    private var level: LogLevelWish? { ledger.machine.logLevel }

    // MARK: Reporting

    private func reportStates() async throws(DataSamplerError) {
        let entries = ledger.machine.unreported
        guard !entries.isEmpty else { return }
        for entry in entries {
            var result = WireCommandResult()
            result.commandID = entry.id
            result.state = entry.state.wire
            result.detail = String(entry.detail.prefix(1000))
            result.progress = entry.progress ?? 0
            result.wipeCertificate = entry.certificate ?? ""
            if entry.state == .done, case .queryDeviceInformation? = (try? WireCommand.decode(entry.command))?.action {
                result.deviceInformation = await actions.deviceInformation()
            }
            try await core.record(result, durability: entry.state.isFinal ? .durable : .ordinary)
            ledger.machine.reported(entry.id, entry.state, now: core.queueTime)
        }
        try save(ledger)
        if entries.contains(where: \.state.isFinal) { events.post(.commandAnswered) }
        actions.transmitNow()
    }

    // MARK: Asking

    /// Asks for news if the collector rang, or if none came for the time that `NewsPoll` defines.
    func pollIfSilent() async {
        let (now, interval) = (core.clock.now().timeSinceBoot, pollInterval)
        guard news.withLock({ $0.pause(interval: interval, now: now) }) == 0 else { return }
        let gate = core.gate
        let circumstances = NewsPoll.Circumstances(
            // If the identity cannot be read nothing is known here; `status` reports why.
            isEnrolled: (try? core.identity.load()) != nil, isLeaving: gate.isLeaving || gate.isUnenrolled,
            isTelemetryDisabled: gate.isTelemetryDisabled, isOffline: core.conditions.current().network == .offline)
        if news.withLock({ $0.reached(now, interval: interval, circumstances) }) { await actions.askForNews() }
    }

    private var pollInterval: UInt64 {
        let settings = core.settings
        return NewsPoll.interval(
            beaconInterval: settings.beaconInterval, transmitInterval: settings.transmitInterval,
            slowdown: core.slowdown)
    }

    private var pause: Duration {
        let (now, interval) = (core.clock.now().timeSinceBoot, pollInterval)
        let polling = Int64(clamping: news.withLock { $0.pause(interval: interval, now: now) })
        let due = ledger.machine.wakeAt.map { $0 - core.queueTime } ?? polling
        return .microseconds(max(1000, min(polling, due)))
    }

    /// The command's action in kebab-case.
    static func name(_ entry: CommandLedgerStateMachine.Entry) -> String {
        (try? WireCommand.decode(entry.command))?.action?.kind ?? "unknown"
    }
}

extension WireCommand.OneOf_Action {
    /// Whether it asks what a device does not report while telemetry is switched off.
    fileprivate var asksForData: Bool {
        switch self {
        case .sendBeacon, .queryDeviceInformation, .requestLogs: true
        case .changeLogLevel, .reloadProfile, .cancel, .wipe, .enterpriseWipe, .message: false
        }
    }
}

/// The actions of commands on the device. This is the port between the runner, which keeps the ledger, and the sampler.
///
/// Each action may be repeated safely.
protocol CommandActions: Sendable {
    func sendBeacon() async throws(DataSamplerError)
    func deviceInformation() async -> WireDeviceInformation
    func reloadProfile() async -> ProfileKeeper.Outcome
    /// - Parameter level: `nil` returns to the profile's level.
    func changeLogLevel(_ level: LogLevelWish?) async
    /// Starts collecting and uploading logs, or finds that it has started. `CommandRunner.heard` receives the progress.
    func requestLogs(command: Data, _ request: WireRequestLogs) async throws(DataSamplerError)
    /// Begins to give a message to the host program, or finds that it has begun. `CommandRunner.heard` receives the
    /// end.
    /// - Returns: `false` if the host program takes no messages.
    func deliver(command: Data, _ message: WireDeliverMessage) -> Bool
    /// Whether messages that wait were erased since the last call.
    func claimErasedMessages() -> Bool
    /// Ends what continues by itself, a request for logs or a message. Does nothing for other commands and ended ones.
    func cancel(command: Data) async
    /// Returns when everything is erased. The result may then be recorded; other records stay stopped until
    /// `wipeWasReported`, or for good if the enrollment ends.
    func wipe(command: Data, reason: String, endsEnrollment: Bool) async throws(DataSamplerError)
    /// The evidence of a wipe that has erased everything and is not reported yet; `nil` if the command is none.
    func wipeEvidence(command: Data) async -> WipeEvidence?
    /// The command of an unfinished wipe that is recorded on disk; `nil` for none.
    func wipeUnderWay() async -> Data?
    func wipeWasReported() async throws(DataSamplerError)
    /// Asks the collector for news if no batch is sent whose answer would bring them. They arrive like other news.
    func askForNews() async
    /// A record was made that should be sent soon.
    func transmitNow()
}
