import Encryption
import Logging
import RecordQueue
import TelemetryBasics
import Transmitter
import WireModel

/// Ends the enrollment of this device. A crash or an unreachable collector only delays it.
///
///     decision stored ─► last beacon ─► status sent ─► epoch ended ─► epochs closed ─► collector informed ──┐
///                        └────────── left out if the collector cannot be informed ─────────┘                │
///                           file removed ◄── rest of the enrollment erased ◄── credential erased ◄──────────┘
///
/// The decision is on synced disk before the first step. The file says which step comes next, and every step may be
/// repeated. So the next start goes on where a crash came. The credential is erased before the rest, so the rest of the
/// procedure needs no collector.
///
/// The collector cannot be informed if it rejects the device, because it was revoked or deleted, or if the time of a
/// wipe is over. Then what waits is counted as `unenrolled` on this side only.
actor LeaveKeeper {
    enum Progress: Equatable, Sendable {
        case done
        /// The collector must still accept something; call again.
        case waiting(String)
    }

    /// Erases what others keep of the enrollment: profile, requests for logs and uploads. May be repeated.
    typealias EraseParts = @Sendable () async throws(DataSamplerError) -> Void

    private let file: StateFile<LeaveNote>
    private let core: SamplerCore
    private let transmitter: Transmitter
    private let events: DeviceEvents
    private let sleeper: any Clock<Duration>
    private let eraseParts: EraseParts
    private var note: LeaveNote?
    /// A step awaits, and an actor admits other calls meanwhile. Two steps at once would record two last beacons.
    private let mutex = AsyncMutex()
    private var attempts = 0

    init(
        core: SamplerCore, transmitter: Transmitter, events: DeviceEvents, sleeper: any Clock<Duration>,
        eraseParts: @escaping EraseParts
    ) {
        file = LeaveNote.file(in: core.configuration.directory)
        self.core = core
        self.transmitter = transmitter
        self.events = events
        self.sleeper = sleeper
        self.eraseParts = eraseParts
    }

    /// Finds what an earlier run began. A damaged file still shows that somebody decided it. Then each step is
    /// repeated, which costs at most a second last beacon.
    func resume() throws(DataSamplerError) {
        var isDamaged = false
        note = try file.loadOrKeepAsDamaged { error in
            isDamaged = true
            core.notices.postSetAside(LeaveNote.fileName)(error)
        }
        if isDamaged { try keep(LeaveNote(recorded: core.clock.now().wallTime)) }
        if note != nil { core.changeGate { $0.isLeaving = true } }
    }

    /// The pause before the next attempt. The rest of an unenrollment is mostly two answers of the collector; one that
    /// does not answer is asked less and less often.
    static func pause(after attempts: Int) -> Duration { .seconds(min(60, 1 << min(attempts, 6))) }

    /// Goes on with what has begun.
    /// - Returns: how long nothing is to be done, unless something wakes it.
    func round() async -> Duration {
        guard note != nil, await tryStep() != .done else { return .seconds(86_400) }
        attempts += 1
        return Self.pause(after: attempts - 1)
    }

    /// Decides it: stores the decision on synced disk. From now on only the last beacon is recorded, whatever happens.
    /// The caller reports the changed gate, so that nothing enrolls any more, and then wakes the job.
    ///
    /// - Parameter deadline: for a wipe that ends the enrollment, on the queue's clock: then the credential is erased
    ///   although the collector was not informed. `nil`: it stays until the collector was informed.
    func begin(by deadline: Int64? = nil) async throws(DataSamplerError) {
        guard await mutex.enter() else {
            throw DataSamplerError(.wipePending, "the attempt was cancelled: try again")
        }
        defer { mutex.leave() }
        // A wipe erased what an unenrollment under way had recorded, so that one begins again.
        if note == nil || (deadline != nil && note?.deadline == nil) {
            try keep(LeaveNote(recorded: core.clock.now().wallTime, deadline: deadline))
            attempts = 0
        }
        core.changeGate { $0.isLeaving = true }
    }

    /// Goes on with what has begun, for a bounded time.
    /// - Returns: whether it is over; `false`: it goes on by itself.
    func finish(within limit: Duration) async -> Bool {
        await events.report(.gateChanged)
        events.wake(.unenrollment)
        let deadline = core.clock.now().timeSinceBoot + limit.wholeMicroseconds
        while await tryStep() != .done {
            guard core.clock.now().timeSinceBoot < deadline, !Task.isCancelled else { return false }
            // The transmitter says nothing when a stream has run empty; a few looks are cheap, this once.
            try? await sleeper.sleep(for: .milliseconds(200))
        }
        return true
    }

    private func tryStep() async -> Progress {
        do throws(DataSamplerError) {
            return try await step()
        } catch {
            core.logger.error("unenrolling is not complete yet", metadata: ["reason": "\(error.message)"])
            return .waiting(error.message)
        }
    }

    /// Does everything that can be done now.
    private func step() async throws(DataSamplerError) -> Progress {
        guard await mutex.enter() else { return .waiting("the attempt was cancelled") }
        defer { mutex.leave() }
        guard var note else { return .done }
        if let deadline = note.deadline, deadline > core.queueTime + LeaveNote.greatestWait {
            // The queue's clock began anew with a new file.
            note.deadline = core.queueTime + LeaveNote.greatestWait
            try keep(note)
        }
        let obstacle = obstacle(to: note)
        do {
            if obstacle == nil, !note.beaconRecorded {
                _ = try await core.recordBeacon(.unenroll, nextBeaconSeconds: 0)
                note.beaconRecorded = true
                try keep(note)
            }
            if !note.epochEnded {
                let waiting = try await core.queue.status().streams[.status]?.waiting ?? 0
                guard waiting == 0 || obstacle != nil else {
                    transmitter.transmitNow()
                    return .waiting(
                        "\(CountText.of(waiting, "status record")), including the last beacon, must be sent first")
                }
                try await core.queue.endEpoch(.unenrolled)
                note.epochEnded = true
                try keep(note)
            }
            guard !core.queue.hasEpochToClose || obstacle != nil else {
                transmitter.transmitNow()
                return .waiting("the collector must first be told how the epoch ended")
            }
        } catch let error as QueueError {
            throw DataSamplerError(error)
        } catch let error as DataSamplerError {
            throw error
        } catch {
            throw DataSamplerError(.queue, "\(error)", cause: error)
        }
        if let obstacle {
            core.logger.warning("the last records are not sent", metadata: ["reason": "\(obstacle)"])
        }
        switch await transmitter.unenroll(isForced: obstacle != nil) {
        case .success, .empty, .notEnrolled: break
        case let answer: return .waiting("the collector could not be told: \(answer)")
        }
        try await core.eraseEnrollment(parts: eraseParts)
        // A wipe destroyed the keys before; the result may have been sealed with new ones.
        if note.deadline != nil {
            try core.destroyKeys()
            core.keys.renew()
        }
        try file.file.remove()
        self.note = nil
        core.changeGate { gate in
            gate.isLeaving = false
            gate.isUnenrolled = true
        }
        core.notices.post(.unenrolled, "this device was unenrolled; nothing is recorded or sent any more")
        await events.report(.gateChanged)
        return .done
    }

    /// Why records cannot reach the collector any more; `nil`: they can, sooner or later.
    private func obstacle(to note: LeaveNote) -> String? {
        if (try? core.identity.load()) == nil { return "the credential is erased" }
        if let refusal = transmitter.status.refusal { return "the collector refuses this device: \(refusal)" }
        guard let deadline = note.deadline, deadline <= core.queueTime else { return nil }
        return "the collector was not reached within 24 h of the wipe"
    }

    private func keep(_ note: LeaveNote) throws(DataSamplerError) {
        try file.save(note)
        self.note = note
    }
}

/// `<data>/leaving.json`: the progress of this device's unenrollment. The identity file shows when it is complete.
struct LeaveNote: KeptState, Equatable {
    static let fileName = "leaving.json"
    /// The longest time that the result of a wipe that ends the enrollment waits for the collector: 24 h, in
    /// microseconds.
    static let greatestWait: Int64 = 86_400 * 1_000_000

    /// Wall clock in microseconds since 1970.
    var recorded: Int64
    /// The last beacon is on disk.
    var beaconRecorded = false
    /// The rest is counted as `unenrolled`.
    var epochEnded = false
    /// When the credential is erased although nobody could be informed, on the queue's clock; `nil`: never.
    var deadline: Int64?
}
