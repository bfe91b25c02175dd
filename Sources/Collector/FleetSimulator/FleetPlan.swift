/// Describes a simulated fleet and its behaviour. With the same plan it makes the same records in the same order. Only
/// the ids from the collector, and the effects of its answers to faults, may differ.
package struct FleetPlan: Equatable, Sendable {
    package var devices: Int
    /// Duration in the fleet's own time.
    package var seconds: Int
    package var seed: UInt64 = 1
    /// Makes device names unique when several runs use the same seed against one collector. Otherwise an enrollment
    /// would count as a repeat and return the earlier device.
    package var run: UInt64 = 0
    package var faults: Set<FleetFault> = Set(FleetFault.allCases)
    /// Seconds of fleet time per second; 0 runs as fast as the collector answers.
    package var speed = 1.0
    /// Seconds between a device's samples. Transmissions and beacons have their own intervals.
    package var sampleInterval = 5
    package var transmitInterval = 15
    package var beaconInterval = 60
    /// Average number of events per device and minute.
    package var eventsPerMinute = 3.0
    /// Whether no device reaches the collector in the middle third of the time; after that all reach it at once.
    package var hasOutage = true
    /// The most requests in flight.
    package var concurrency = 256
    /// The most records in one part.
    package var partRecords = 200

    package init(devices: Int, seconds: Int) {
        self.devices = devices
        self.seconds = seconds
    }

    func isOut(at second: Int) -> Bool { hasOutage && second >= seconds / 3 && second < seconds * 2 / 3 }
}

/// A fault that is injected on purpose, with some probability per request of a device.
package enum FleetFault: String, CaseIterable, Sendable {
    /// The request arrives, but its answer is lost.
    case lostAnswer = "lost-answer"
    /// The connection ends in the middle of the request's body.
    case cutRequest = "cut-request"
    /// The same request is sent twice at once.
    case repeated
    /// A request arrives after one that was made later.
    case reordered
    /// A byte of a record is changed on the way.
    case damaged
    /// The credential is refused. The device enrolls again and proves itself with the former credential.
    case reenroll
    /// The device's disk is restored from an older image.
    case rollback
    /// The device's wall clock is set to another time.
    case clockJump = "clock-jump"

    /// Probability per request; for a clock jump, per second.
    var probability: Double {
        switch self {
        case .lostAnswer, .repeated, .reordered: 0.05
        case .cutRequest, .damaged, .rollback: 0.03
        case .reenroll: 0.01
        case .clockJump: 0.002
        }
    }
}
