import Logging
import RecordQueue
import Synchronization
import WireModel

/// Watches the profile's geofences with the positions that the device may read, and keeps on which side of each the
/// device is. Safe from any thread.
///
/// Positions are not kept, and no privacy class changes them here: what leaves the device is only that a geofence was
/// entered or left. A crossing is put into the queue before the state is put on disk. So a kill between the two
/// repeats a crossing and loses none.
final class GeofenceKeeper: Sendable {
    /// What followed from an observation.
    struct Outcome: Equatable, Sendable {
        var crossings: [GeofenceStateMachine.Crossing] = []
        /// A compliance rule may be judged in another way now.
        var hasOtherSides = false
    }

    private struct State {
        var machine: GeofenceStateMachine
        /// Positions may be read.
        var isWatching = false
        /// What is on disk.
        var saved: GeofenceStates
    }

    private let file: StateFile<GeofenceStates>
    private let logger: Logger
    private let state: Mutex<State>

    /// - Parameters:
    ///   - fences: of the profile at hand; `nil` if there is none.
    ///   - seal: as of `DurableFile`.
    ///   - damaged: called for a damaged file, which is set aside. The states are then decided anew, and a geofence
    ///     that the device is in is entered once more.
    /// - Throws: `storage` if the file cannot be read or is of a newer version.
    init(
        directory: String, fences: [WireGeofence]?, seal: StateSeal? = nil, logger: Logger,
        damaged: (DataSamplerError) -> Void
    ) throws(DataSamplerError) {
        file = GeofenceStates.file(in: directory, seal: seal)
        self.logger = logger
        let kept = try file.loadOrKeepAsDamaged(damaged: damaged) ?? GeofenceStates()
        var machine = GeofenceStateMachine(kept)
        machine.follow(fences)
        state = Mutex(State(machine: machine, saved: kept))
    }

    /// Follows the settings in force.
    /// - Parameters:
    ///   - fences: `nil` if there is no profile.
    ///   - isWatching: positions may be read. Otherwise no side counts as known.
    func follow(_ fences: [WireGeofence]?, isWatching: Bool) {
        state.withLock { state in
            state.machine.follow(fences)
            state.isWatching = isWatching
            if !isWatching { state.machine.paused() }
        }
        save()
    }

    /// Times are as for `GeofenceStateMachine.located`.
    func observed(_ observation: LocationObservation, wallTime: Int64, queueTime: Int64) -> Outcome {
        state.withLock { state in
            // One that was on its way when reading was forbidden.
            guard state.isWatching else { return Outcome() }
            let former = state.machine.report.map(\.side)
            var outcome = Outcome()
            switch observation {
            case .fix(let fix):
                outcome.crossings = state.machine.located(
                    .init(
                        latitude: fix.latitude, longitude: fix.longitude, accuracy: fix.horizontalAccuracy,
                        time: fix.time), wallTime: wallTime, queueTime: queueTime)
            case .lost: state.machine.lost()
            }
            outcome.hasOtherSides = state.machine.report.map(\.side) != former
            return outcome
        }
    }

    /// Of each geofence the side that compliance rules see.
    var sides: [String: GeofenceSide] {
        let report = state.withLock { $0.machine.report }
        return Dictionary(report.map { ($0.fence.id, $0.side) }) { first, _ in first }
    }

    /// The geofences in the profile's order.
    var report: [DataSamplerStatus.Geofence] {
        state.withLock { $0.machine.report }.map { fence, state, side in
            DataSamplerStatus.Geofence(
                id: fence.id, name: fence.name.isEmpty ? nil : fence.name,
                state: (state.map { $0.isInside ? GeofenceSide.inside : .outside } ?? .unknown).rawValue,
                since: state?.since, isConfirmed: side != .unknown)
        }
    }

    /// Puts the states on disk if they changed. After a failure the next change tries again.
    func save() {
        do throws(DataSamplerError) {
            try state.withLock { state throws(DataSamplerError) in
                let kept = state.machine.kept
                guard kept != state.saved else { return }
                if kept.states.isEmpty { try file.file.remove() } else { try file.save(kept) }
                state.saved = kept
            }
        } catch {
            logger.warning(
                "the states of geofences could not be saved for the next start",
                metadata: ["reason": "\(error.message)"])
        }
    }

    /// A wipe: nothing is known of any geofence any more. A device that is in one enters it again.
    func erase() throws(DataSamplerError) {
        try state.withLock { state throws(DataSamplerError) in
            state.machine.erased()
            try file.file.remove()
            state.saved = GeofenceStates()
        }
    }
}

extension GeofenceStateMachine.Crossing {
    /// The event of the crossing. It has no position.
    var usage: UsageEvent { .geofence(isInside ? "geofence.enter" : "geofence.leave", id: fence, inside: inside) }

    var notice: DataSamplerNotice {
        isInside
            ? DataSamplerNotice(.geofenceEntered, "the device entered the geofence \(fence)", ["geofence": fence])
            : DataSamplerNotice(.geofenceLeft, "the device left the geofence \(fence)", ["geofence": fence])
    }
}

extension DeviceSupervisor {
    /// Follows the positions, until its task is cancelled.
    nonisolated func watchGeofences() async {
        let observations = await core.location.observations()
        // The source may have been asked before anybody listened.
        if let first = await core.location.current(for: .geofences) { await located(first) }
        for await observation in observations { await located(observation) }
    }

    /// Records and reports what follows from an observation.
    nonisolated func located(_ observation: LocationObservation) async {
        let outcome = core.geofences.observed(
            observation, wallTime: core.clock.now().wallTime, queueTime: core.queueTime)
        if !outcome.crossings.isEmpty {
            for crossing in outcome.crossings {
                await core.recordUsage(crossing.usage)
                core.notices.post(crossing.notice)
            }
            // A queue that cannot be written shows elsewhere.
            try? await core.queue.flush()
        }
        core.geofences.save()
        if outcome.hasOtherSides { await events.report(.verdictChanged) }
    }
}
