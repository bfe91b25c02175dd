import Logging
import RecordQueue
import Transmitter
import WireModel

/// Unenrolls this device. A crash or an unreachable collector only delays it.
///
/// The steps: store the note on synced disk; stop recording; record and send the last beacon; count the rest as
/// `unenrolled` and close the epoch; tell the collector; write it into the identity file; remove the note.
actor LeaveKeeper {
    enum Progress: Equatable, Sendable {
        case done
        /// The collector must still accept something; call again.
        case waiting(String)
    }

    private let file: StateFile<LeaveNote>
    private let core: SamplerCore
    private let transmitter: Transmitter
    private let events: DeviceEvents
    private let sleeper: any Clock<Duration>
    private var note: LeaveNote?
    /// A step awaits, and an actor admits other calls meanwhile. Two steps at once would record two last beacons.
    private let turnstile = AsyncMutex()
    private var attempts = 0

    init(core: SamplerCore, transmitter: Transmitter, events: DeviceEvents, sleeper: any Clock<Duration>) {
        file = LeaveNote.file(in: core.configuration.directory)
        self.core = core
        self.transmitter = transmitter
        self.events = events
        self.sleeper = sleeper
    }

    /// Finds what an earlier run began. A damaged note still shows that somebody decided it. Then each step is
    /// repeated, which costs at most a second last beacon.
    func resume() throws(DataSamplerError) {
        var isDamaged = false
        note = try file.loadOrKeepAsDamaged { error in
            isDamaged = true
            core.notices.postSetAside(LeaveNote.fileName)(error)
        }
        if isDamaged { try keep(LeaveNote(noted: core.clock.now().wallTime)) }
        if note != nil { core.changeGate { $0.isLeaving = true } }
    }

    /// What is left of an unenrollment is mostly two answers of the collector away; one that does not answer is asked
    /// less and less often.
    static func pause(after attempts: Int) -> Duration { .seconds(min(60, 1 << min(attempts, 6))) }

    /// Goes on with what has begun.
    /// - Returns: how long nothing is to be done, unless something wakes it.
    func round() async -> Duration {
        guard note != nil, await tryStep() != .done else { return .seconds(86_400) }
        attempts += 1
        return Self.pause(after: attempts - 1)
    }

    /// Unenrolls this device; from now on nothing else is recorded, whatever happens.
    /// - Returns: whether it is over; `false`: it was not within the limit, and goes on by itself.
    func unenroll(within limit: Duration) async throws(DataSamplerError) -> Bool {
        guard (try? core.identity.load()) != nil else {
            throw DataSamplerError(.notAllowed, "this device is not enrolled: there is nothing to end")
        }
        if note == nil {
            let new = LeaveNote(noted: core.clock.now().wallTime)
            try file.save(new)
            note = new
        }
        core.changeGate { $0.isLeaving = true }
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
        guard await turnstile.enter() else { return .waiting("the attempt was cancelled") }
        defer { turnstile.leave() }
        guard var note else { return .done }
        do {
            if !note.beaconRecorded {
                _ = try await core.recordBeacon(.unenroll, nextBeaconSeconds: 0)
                note.beaconRecorded = true
                try keep(note)
            }
            if !note.epochEnded {
                let waiting = try await core.queue.status().streams[.status]?.waiting ?? 0
                guard waiting == 0 else {
                    transmitter.transmitNow()
                    return .waiting("\(waiting) status records, including the last beacon, must be sent first")
                }
                try await core.queue.endEpoch(.unenrolled)
                note.epochEnded = true
                try keep(note)
            }
            guard !core.queue.hasEpochToClose else {
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
        switch await transmitter.unenroll() {
        case .success, .empty, .notEnrolled: break
        case let answer: return .waiting("the collector could not be told: \(answer)")
        }
        // Nothing of this device is left in the queue, so it belongs to whoever enrolls next.
        do throws(QueueError) { try await core.queue.rebind(to: nil) } catch { throw DataSamplerError(error) }
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

    private func keep(_ note: LeaveNote) throws(DataSamplerError) {
        try file.save(note)
        self.note = note
    }
}

/// `<data>/leaving.json`: the progress of this device's unenrollment. The identity file shows when it is complete.
struct LeaveNote: KeptState, Equatable {
    static let fileName = "leaving.json"

    /// Wall clock in microseconds since 1970.
    var noted: Int64
    /// The last beacon is on disk.
    var beaconRecorded = false
    /// The rest is counted as `unenrolled`.
    var epochEnded = false
}
