import RecordQueue
import SampleModules
import Transmitter
import WireModel

extension SampleResult {
    /// The sample of module `gps` for an answer of the location's source. A receiver without a fix is a sample without
    /// a position: a lost fix is said, and never the old position again.
    ///
    /// A source that cannot be asked gives no sample, except for the first time after a fix. That one sample tells the
    /// collector that the position before it is no longer true. The next fix is told by its own sample.
    /// - Parameter afterFix: whether the newest sample has a fix.
    init(location observation: LocationObservation?, afterFix: Bool) {
        var sample = WireGPSSample()
        switch observation {
        case nil:
            self = .none(reason: "the location may not be read now")
            return
        case .lost(let loss):
            guard loss.hasReceiver || afterFix else {
                self = .none(reason: loss.reason)
                return
            }
            sample.fix = 1
            sample.apply(loss.satellites)
        case .fix(let fix):
            sample.fix = fix.mode.rawValue
            sample.location = WireLocation(fix)
            if let speed = fix.speed { sample.speedMetersPerSecond = speed }
            if let course = fix.course { sample.courseDegrees = course }
            if let accuracy = fix.verticalAccuracy { sample.verticalAccuracyMeters = accuracy }
            sample.apply(fix.satellites)
        }
        self = .sample(Sample(kind: .sampleGps, module: SampleModuleName.gps.rawValue, body: sample.encoded))
    }
}

extension WireGPSSample {
    fileprivate mutating func apply(_ satellites: LocationFix.Satellites?) {
        guard let satellites else { return }
        satellitesVisible = satellites.visible
        satellitesUsed = satellites.used
    }
}

extension WireLocation {
    init(_ fix: LocationFix) {
        self.init()
        latitude = fix.latitude
        longitude = fix.longitude
        if let altitude = fix.altitude { altitudeMeters = altitude }
        if let accuracy = fix.horizontalAccuracy { accuracyMeters = accuracy }
        time = fix.time
    }
}

extension DeviceLoop {
    /// Samples module `gps`, beside the loop: a receiver may take seconds to answer. A task of its own on purpose, as
    /// for custom modules.
    func startLocating(at stamp: RecordStamp) {
        // The source's own limit ends the call before.
        guard !isLocating else { return }
        isLocating = true
        Task {
            let observation = await core.location.current(for: .samples)
            await located(observation, at: stamp)
        }
    }

    private func located(_ observation: LocationObservation?, at stamp: RecordStamp) async {
        defer { customEnd.signal() }
        isLocating = false
        guard !hasEnded, plan.intervals[.builtIn(.gps)] != nil else { return }
        measured(SampleModuleName.gps.rawValue, since: stamp)
        let former = reports[.builtIn(.gps)]?.reason
        switch SampleResult(location: observation, afterFix: hasToldFix) {
        case .sample(let sample):
            // The time of the answer, which is that of the position.
            if await keep(sample, of: .builtIn(.gps), at: core.clock.now()) { hasToldFix = observation?.hasFix == true }
            // The sample tells the loss; the module's state is that there is nothing to sample.
            if case .lost(let loss)? = observation, !loss.hasReceiver { record(.builtIn(.gps), loss.reason) }
        case .none(let reason): record(.builtIn(.gps), reason)
        }
        // Whether there is a receiver is a finding, which beacons report.
        if reports[.builtIn(.gps)]?.reason != former { noticeChange() }
    }
}
