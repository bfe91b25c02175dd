import DeviceTunables
import WireModel

/// Decides of each geofence whether the device is inside, from one position after the other. Pure.
///
///     (not known) ── decided: inside ──► inside      crossing: entered
///          └──────── decided: outside ─► outside
///     outside ────── decided: inside ──► inside      crossing: entered
///     inside ─────── decided: outside ─► outside     crossing: left
///
/// A position decides for the side on which it is:
///
/// - at once, if it is farther from the edge than ``Tunables/Geofences/sureFactor`` times its accuracy;
/// - together with those before it, if ``Tunables/Geofences/confirmations`` in succession were farther from the edge
///   than ``Tunables/Geofences/likelyFactor`` times their accuracy, on this side.
///
/// Nearer to the edge nothing is decided, and the state stays. So noise along an edge makes no crossings: between two
/// of them lie twice the likely distance, eight standard deviations. A position decides nothing about a geofence whose
/// radius is less than the position's accuracy, and one without an accuracy decides nothing at all.
///
/// A geofence is known by its id. If its area changes, its state stays until a position decides anew: a device that is
/// inside both areas has not left. A geofence that is removed is forgotten without a crossing.
struct GeofenceStateMachine: Sendable {
    /// A position with its accuracy; not kept.
    struct Position: Equatable, Sendable {
        /// Degrees, WGS 84.
        var latitude: Double
        var longitude: Double
        /// Meters at about 95 % confidence; `nil`: not known.
        var accuracy: Double?
        /// When it was determined, microseconds of the receiver's clock. Tells a position that is given twice.
        var time: Int64
    }

    struct Crossing: Equatable, Sendable {
        var fence: String
        var isInside: Bool
        /// How long the device was inside; `nil` of an entry.
        var inside: Duration?
    }

    private struct Watched: Sendable {
        var fence: WireGeofence
        var area: GeofenceArea
        /// `nil`: not known yet.
        var state: GeofenceStates.State?
        /// A position of this run agreed with the state.
        var isConfirmed = false
        /// Likely positions in succession for the side that is not the state's; negative for the outside.
        var streak = 0
    }

    private var fences: [Watched] = []
    private var last: Position?
    /// States of an earlier run, until a profile says of which geofences.
    private var found: [String: GeofenceStates.State]

    init(_ kept: GeofenceStates = GeofenceStates()) { found = kept.states }

    /// What is kept over restarts.
    var kept: GeofenceStates {
        var states = found
        for watched in fences { states[watched.fence.id] = watched.state }
        return GeofenceStates(states: states)
    }

    /// The geofences in the profile's order, with their states. Of a state that no position confirmed since the start,
    /// or since positions may be read again, the side is unknown.
    var report: [(fence: WireGeofence, state: GeofenceStates.State?, side: GeofenceSide)] {
        fences.map { watched in
            let side: GeofenceSide =
                watched.isConfirmed ? (watched.state.map { $0.isInside ? .inside : .outside } ?? .unknown) : .unknown
            return (watched.fence, watched.state, side)
        }
    }

    /// Follows another profile.
    /// - Parameter geofences: `nil` if there is no profile. The states stay until there is one.
    mutating func follow(_ geofences: [WireGeofence]?) {
        guard let geofences else {
            found = kept.states
            fences = []
            return
        }
        let former = Dictionary(fences.map { ($0.fence.id, $0) }) { first, _ in first }
        fences = geofences.compactMap { fence in
            if var known = former[fence.id] {
                if known.fence.hasSameArea(as: fence) {
                    known.fence = fence
                    return known
                }
                // The profile was checked; one that has no area is not watched.
                return (try? GeofenceArea(fence)).map { Watched(fence: fence, area: $0, state: known.state) }
            }
            return (try? GeofenceArea(fence)).map { Watched(fence: fence, area: $0, state: found[fence.id]) }
        }
        found = [:]
    }

    /// - Parameters:
    ///   - wallTime: by this device's clock, microseconds since 1970; for people.
    ///   - queueTime: of the queue's clock, microseconds, which nobody sets and which a restart does not change.
    /// - Returns: what was entered and left, in the profile's order.
    mutating func located(_ position: Position, wallTime: Int64, queueTime: Int64) -> [Crossing] {
        guard position != last else { return [] }
        last = position
        guard let stated = position.accuracy, stated.isFinite, stated >= 0 else { return [] }
        let accuracy = max(stated, Tunables.Geofences.leastAccuracy)
        let point = SpherePoint(latitude: position.latitude, longitude: position.longitude)
        let sure = Tunables.Geofences.sureFactor * accuracy
        let likely = Tunables.Geofences.likelyFactor * accuracy
        var crossings: [Crossing] = []
        for index in fences.indices where accuracy <= fences[index].area.radius {
            let depth = fences[index].area.depth(of: point, horizon: sure)
            let isInside = depth >= 0
            guard abs(depth) >= likely else {
                fences[index].streak = 0
                continue
            }
            if fences[index].state?.isInside == isInside {
                (fences[index].isConfirmed, fences[index].streak) = (true, 0)
                continue
            }
            let streak = fences[index].streak
            fences[index].streak = isInside ? max(streak, 0) + 1 : min(streak, 0) - 1
            guard abs(depth) >= sure || abs(fences[index].streak) >= Tunables.Geofences.confirmations else { continue }
            let former = fences[index].state
            fences[index].state = GeofenceStates.State(
                isInside: isInside, since: wallTime, sinceQueueTime: queueTime)
            (fences[index].isConfirmed, fences[index].streak) = (true, 0)
            guard isInside || former != nil else { continue }
            let microseconds = former.map {
                max(0, queueTime.subtractingReportingOverflow($0.sinceQueueTime).partialValue)
            }
            crossings.append(
                Crossing(
                    fence: fences[index].fence.id, isInside: isInside,
                    inside: isInside ? nil : microseconds.map { .microseconds($0) }))
        }
        return crossings
    }

    /// There is no position now. The states stay.
    mutating func lost() {
        for index in fences.indices { fences[index].streak = 0 }
    }

    /// Positions may not be read any more. The states stay, and count as unknown until a position confirms them.
    mutating func paused() {
        last = nil
        for index in fences.indices { (fences[index].isConfirmed, fences[index].streak) = (false, 0) }
    }

    /// A wipe: nothing is known any more. The geofences are still watched.
    mutating func erased() {
        paused()
        found = [:]
        for index in fences.indices { fences[index].state = nil }
    }
}

extension WireGeofence {
    fileprivate func hasSameArea(as other: WireGeofence) -> Bool {
        latitude == other.latitude && longitude == other.longitude && radiusMeters == other.radiusMeters
            && corners == other.corners
    }
}

/// `<data>/geofences.json`: of each geofence whether the device is inside, and since when. Holds no position.
///
/// Removed by a wipe, and when the profile has no geofences.
struct GeofenceStates: KeptState, Equatable {
    static let fileName = "geofences.json"

    struct State: Codable, Equatable, Sendable {
        var isInside: Bool
        /// By this device's clock, microseconds since 1970; for people.
        var since: Int64
        /// By the queue's clock, microseconds.
        var sinceQueueTime: Int64
    }

    /// By the geofence's id. Those whose side was never decided are missing.
    var states: [String: State] = [:]
}
