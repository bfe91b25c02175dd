import Synchronization
import WireModel

/// The report of one batch about its device: that it was there, and its newest beacon and identity.
package struct DeviceObservation: Equatable, Sendable {
    /// The collector's clock, microseconds since 1970.
    package var at: Int64
    package var beacon: WireBeacon?
    package var identity: WireSystemIdentity?
    /// The device's beacon interval; 0 for none, `nil` if not reported.
    package var expectedBeaconSeconds: UInt32?
    /// The profile revision that it applies; `nil` if not reported.
    package var profileRevision: UInt64?
    /// Whether its newest beacon is test data; `nil` if not reported.
    package var test: Bool?
    /// Time of its newest record by its own clock; `nil` if unknown, or if it has others that it has not sent.
    package var newestRecordTime: Int64?

    /// When the beacon came; `at` until a later observation without a beacon is merged in.
    private(set) var beaconAt: Int64
    /// The verdicts of compliance and of compromise that the beacons so far reported.
    package private(set) var verdicts: DeviceVerdicts?
    /// The change of the push token that the beacons so far reported. The beacon itself is kept without it.
    private(set) var pushToken = PushTokenChange.unsaid

    enum PushTokenChange: Equatable, Sendable {
        /// Not in the beacon: the known token stays.
        case unsaid
        case token(String)
        /// Reported as none: the known token is forgotten.
        case cleared

        var isSaid: Bool { self != .unsaid }

        var token: String? {
            guard case .token(let token) = self else { return nil }
            return token
        }
    }

    /// - Parameter made: when the device made the beacon, by its clocks; `nil` if that is not known.
    package init(
        at: Int64, beacon: WireBeacon? = nil, made: RecordStamp? = nil, identity: WireSystemIdentity? = nil,
        expectedBeaconSeconds: UInt32? = nil,
        profileRevision: UInt64? = nil, test: Bool? = nil, newestRecordTime: Int64? = nil
    ) {
        self.at = at
        beaconAt = at
        self.identity = identity
        self.expectedBeaconSeconds = expectedBeaconSeconds
        self.profileRevision = profileRevision
        self.test = test
        self.newestRecordTime = newestRecordTime
        self.beacon = beacon
        guard let beacon else { return }
        verdicts = DeviceVerdicts(
            of: beacon, at: at, made: made ?? RecordStamp(wallTime: at, bootID: nil, timeSinceBoot: 0))
        guard beacon.hasPushToken else { return }
        switch beacon.pushToken.state {
        case .token(let token): pushToken = token.isEmpty ? .cleared : .token(token)
        case .cleared: pushToken = .cleared
        case nil: break
        }
        self.beacon?.clearPushToken()
    }

    /// Merges a later observation. What it does not report stays.
    package mutating func merge(_ later: DeviceObservation) {
        at = max(at, later.at)
        if let beacon = later.beacon { (self.beacon, beaconAt) = (beacon, later.beaconAt) }
        identity = later.identity ?? identity
        expectedBeaconSeconds = later.expectedBeaconSeconds ?? expectedBeaconSeconds
        profileRevision = later.profileRevision ?? profileRevision
        test = later.test ?? test
        if let reported = later.verdicts, reported.replaces(verdicts) { verdicts = reported }
        if later.pushToken.isSaid { pushToken = later.pushToken }
    }
}

/// The reports of devices' newest records, until they are written: one entry per device, limited. Derived from records,
/// so losing it costs only a rebuild.
package final class SeenBuffer: Sendable {
    private struct State {
        var entries: [DeviceID: DeviceObservation] = [:]
        var lastWrite: Int64 = .min
        var isWriting = false
    }

    private let state = Mutex(State())
    private static let intervalMicroseconds: Int64 = 3_000_000
    private static let limit = 65_536

    /// - Returns: whether the caller should have it written now.
    package func record(_ device: DeviceID, _ sight: DeviceObservation) -> Bool {
        state.withLock { state in
            if state.entries[device]?.merge(sight) == nil, state.entries.count < Self.limit {
                state.entries[device] = sight
            }
            let (elapsed, overflow) = sight.at.subtractingReportingOverflow(state.lastWrite)
            // A clock that was set back must not delay writing for long either.
            guard !state.isWriting, overflow || elapsed < 0 || elapsed >= Self.intervalMicroseconds else {
                return false
            }
            state.isWriting = true
            return true
        }
    }

    /// Puts back what could not be written, so that it waits again before what has come since.
    func putBack(_ entries: [DeviceID: DeviceObservation]) {
        state.withLock { state in
            for (device, sight) in entries {
                var earlier = sight
                if let later = state.entries[device] {
                    earlier.merge(later)
                } else if state.entries.count >= Self.limit {
                    continue
                }
                state.entries[device] = earlier
            }
        }
    }

    package func drain(at time: Int64) -> [DeviceID: DeviceObservation] {
        state.withLock { state in
            let entries = state.entries
            state.entries = [:]
            state.lastWrite = time
            state.isWriting = false
            return entries
        }
    }
}
