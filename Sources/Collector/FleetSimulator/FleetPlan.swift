/// What a simulated fleet is and does. With the same plan, but for its run, it makes the same records in the same
/// order; only the ids that the collector gives, and what its answers make of faults, may differ.
package struct FleetPlan: Equatable, Sendable {
    package var devices: Int
    /// Of the fleet's own time.
    package var seconds: Int
    package var seed: UInt64 = 1
    /// Tells apart what runs with one seed enroll at one collector: a repeat of an enrollment is answered with the
    /// device that it made.
    package var run: UInt64 = 0
    package var faults: Set<FleetFault> = Set(FleetFault.allCases)
    /// How many of the fleet's seconds go by in one; 0: as fast as the collector answers.
    package var speed = 1.0
    /// Seconds between two samples of a device, likewise its transmissions and its beacons.
    package var sampleInterval = 5
    package var transmitInterval = 15
    package var beaconInterval = 60
    /// Events a device makes a minute, on average.
    package var eventsPerMinute = 3.0
    /// In the middle third of the time nobody can reach the collector; then all of them at once.
    package var hasOutage = true
    /// Requests under way at a time.
    package var concurrency = 256
    /// Records in one part at most.
    package var partRecords = 200

    package init(devices: Int, seconds: Int) {
        self.devices = devices
        self.seconds = seconds
    }

    func isOut(at second: Int) -> Bool {
        hasOutage && second >= seconds / 3 && second < seconds * 2 / 3
    }
}

/// What goes wrong on purpose, each with some probability at every request of a device.
package enum FleetFault: String, CaseIterable, Sendable {
    /// The request arrives; its answer does not.
    case lostAnswer = "lost-answer"
    /// The connection ends in the middle of the request's body.
    case cutRequest = "cut-request"
    /// The same request twice at once.
    case repeated
    /// A request comes after one that was made later.
    case reordered
    /// A byte of a record is another one on the way.
    case damaged
    /// The credential is refused: the device enrolls again, with the former one as its proof.
    case reenroll
    /// The device's disk goes back to an older image.
    case rollback
    /// The device's wall clock is set to another time.
    case clockJump = "clock-jump"

    /// Of a request, or of a second for a clock's jump.
    var probability: Double {
        switch self {
        case .lostAnswer, .repeated, .reordered: 0.05
        case .cutRequest, .damaged, .rollback: 0.03
        case .reenroll: 0.01
        case .clockJump: 0.002
        }
    }
}
