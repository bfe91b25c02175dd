import RecordQueue
import WireModel

extension DeviceLoop {
    /// Makes a beacon, or shares the one in flight where that holds all that is to be told. Returns its number once it is on synced disk.
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

    /// Something a beacon tells has changed: one goes at once, to whoever listens. Its failure is logged where it happens.
    func tellChange() async { try? await sendChange() }

    /// As `tellChange`, and waits for nothing.
    func noteChange() {
        beacons.changed()
        perform(beacons.wanted(.change))
    }

    /// As `tellChange`, and returns once the beacon is on synced disk.
    func sendChange() async throws(DataSamplerError) {
        beacons.changed()
        _ = try await sendBeacon(.change)
    }

    /// Starts a schedule or replaces the one there is; the first beacon goes at once.
    func startBeacons(frequency: Double, trigger: WireBeaconTrigger) {
        // The one in flight tells the former schedule.
        beacons.changed()
        perform(beacons.scheduleStarted(frequency: frequency, now: core.clock.now().timeSinceBoot, trigger: trigger))
    }

    /// Idempotent.
    func stopBeacons() {
        guard beacons.interval != nil else { return }
        beacons.changed()
        beacons.scheduleStopped()
    }
}
