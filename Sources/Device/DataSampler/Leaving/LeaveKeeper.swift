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
    private let lastBeacon: @Sendable () async throws(DataSamplerError) -> Void
    private let tellCollector: @Sendable () async -> CollectorAnswer
    private let transmitNow: @Sendable () -> Void
    private var note: LeaveNote?
    /// A step awaits, and an actor admits other calls meanwhile. Two steps at once would record two last beacons.
    private let turnstile = AsyncMutex()

    /// - Parameters:
    ///   - lastBeacon: returns when the beacon is on synced disk.
    ///   - tellCollector: ends the enrollment at the collector and in the identity file.
    init(
        core: SamplerCore, lastBeacon: @escaping @Sendable () async throws(DataSamplerError) -> Void,
        tellCollector: @escaping @Sendable () async -> CollectorAnswer, transmitNow: @escaping @Sendable () -> Void
    ) {
        file = LeaveNote.file(in: core.configuration.directory)
        self.core = core
        self.lastBeacon = lastBeacon
        self.tellCollector = tellCollector
        self.transmitNow = transmitNow
    }

    var isLeaving: Bool { note != nil }

    /// Finds what an earlier run began. A damaged note still shows that somebody decided it. Then each step is
    /// repeated, which costs at most a second last beacon.
    func resume() throws(DataSamplerError) {
        var isDamaged = false
        note = try file.loadOrKeepAsDamaged { error in
            isDamaged = true
            core.notices.post(DataSamplerNotice(.fileSetAside, error.message, ["file": LeaveNote.fileName]))
        }
        if isDamaged { try keep(LeaveNote(noted: core.clock.now().wallTime)) }
        if note != nil { core.changeGate { $0.isLeaving = true } }
    }

    /// Decides it. From now on nothing else is recorded.
    func begin() throws(DataSamplerError) {
        guard note == nil else { return }
        let new = LeaveNote(noted: core.clock.now().wallTime)
        try file.save(new)
        note = new
        core.changeGate { $0.isLeaving = true }
    }

    /// Does everything that can be done now.
    func step() async throws(DataSamplerError) -> Progress {
        guard await turnstile.enter() else { return .waiting("the attempt was cancelled") }
        defer { turnstile.leave() }
        guard var note else { return .done }
        do {
            if !note.beaconRecorded {
                try await lastBeacon()
                note.beaconRecorded = true
                try keep(note)
            }
            if !note.epochEnded {
                let waiting = try await core.queue.status().streams[.status]?.waiting ?? 0
                guard waiting == 0 else {
                    transmitNow()
                    return .waiting("\(waiting) status records, the last beacon among them, are to be sent")
                }
                try await core.queue.endEpoch(.unenrolled)
                note.epochEnded = true
                try keep(note)
            }
            guard !core.queue.hasEpochToClose else {
                transmitNow()
                return .waiting("the collector is to be told how the epoch ended")
            }
        } catch let error as QueueError {
            throw DataSamplerError(error)
        } catch let error as DataSamplerError {
            throw error
        } catch {
            throw DataSamplerError(.queue, "\(error)", cause: error)
        }
        switch await tellCollector() {
        case .success, .empty, .notEnrolled: break
        case let answer: return .waiting("the collector could not be told: \(answer)")
        }
        try file.file.remove()
        self.note = nil
        core.changeGate { gate in
            gate.isLeaving = false
            gate.isUnenrolled = true
        }
        core.notices.post(
            DataSamplerNotice(.unenrolled, "this device was unenrolled; nothing is recorded or sent any more"))
        return .done
    }

    private func keep(_ note: LeaveNote) throws(DataSamplerError) {
        try file.save(note)
        self.note = note
    }
}

/// `<data>/leaving.json`: the progress of this device's unenrollment. The identity file shows when it is complete.
struct LeaveNote: Codable, Equatable, Sendable {
    static let fileName = "leaving.json"

    /// Wall clock in microseconds since 1970.
    var noted: Int64
    /// The last beacon is on disk.
    var beaconRecorded = false
    /// The rest is counted as `unenrolled`.
    var epochEnded = false

    static func file(in directory: String) -> StateFile<LeaveNote> { StateFile(directory: directory, name: fileName) }
}
