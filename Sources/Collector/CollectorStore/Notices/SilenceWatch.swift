import Logging
import WireModel

/// Tells of devices that have gone silent, and when they are heard of again.
package actor SilenceWatch {
    private let registry: CollectorRegistry
    private let notices: NoticeService
    private let clock: any StoreClock
    private let bootClock: any BootClock
    private let canStore: @Sendable () async -> Bool
    private let logger: Logger
    private var listening = Listening()

    /// - Parameter canStore: whether what devices send is taken.
    package init(
        registry: CollectorRegistry, notices: NoticeService, clock: any StoreClock,
        bootClock: any BootClock = SystemBootClock(), logger: Logger, canStore: @escaping @Sendable () async -> Bool
    ) {
        self.registry = registry
        self.notices = notices
        self.clock = clock
        self.bootClock = bootClock
        self.logger = logger
        self.canStore = canStore
    }

    package func look() async {
        let reading = ClockReading(wall: clock.now(), sinceBoot: bootClock.sinceBoot(), bootID: bootClock.bootID)
        let isSettled = listening.isSettled(at: reading, canStore: await canStore())
        do throws(StoreError) {
            await notices.tell(try await registry.silentDevices(), isSettled: isSettled)
        } catch { logger.warning("silent devices could not be looked for", metadata: ["store.error": "\(error)"]) }
    }
}

/// Whether a collector has listened for long enough to say that a device is silent, and not that nobody heard it. Pure.
///
/// A device that could not reach its collector asks again within five minutes, or when a Retry-After is over, which it
/// honours up to an hour: so an hour after the collector began to listen, whoever still lives has been heard. That is
/// counted anew after a start, a clock that was set (all devices seem to be that much older or younger), a pause of the
/// process or the machine, and while nothing can be stored.
struct Listening {
    static let settleMicroseconds: Int64 = 3_600_000_000
    /// Of the wall clock between two looks.
    static let stepMicroseconds: Int64 = 60_000_000
    /// Between two looks, which are a minute apart.
    static let pauseMicroseconds: Int64 = 600_000_000

    /// Since the machine was started, microseconds.
    private var since: Int64?
    private var former: ClockReading?

    /// - Parameter canStore: whether what devices send is taken.
    mutating func isSettled(at reading: ClockReading, canStore: Bool) -> Bool {
        var goesOn = canStore && since != nil
        if let former {
            let step = reading.step(since: former)
            goesOn = goesOn && step.map { abs($0) <= Self.stepMicroseconds } ?? false
            goesOn = goesOn && reading.sinceBoot - former.sinceBoot <= Self.pauseMicroseconds
        }
        former = reading
        guard goesOn, let since else {
            self.since = reading.sinceBoot
            return false
        }
        return reading.sinceBoot - since >= Self.settleMicroseconds
    }
}

/// Which notices of silent devices begin and end, of one organization. Pure.
///
/// Devices are told of one by one, up to 20 a day: as many as somebody reads, and a receiver of notices is not flooded.
/// Beyond that, one notice tells of all further ones together and how many they are, so that a herd - a site without
/// power, a network that is cut - is one notice and not ten thousand. It ends when half as many as that are left, which
/// are then told of one by one, or when none is.
///
/// What was told is known from the notices themselves, so a restart tells nothing twice.
struct SilencePlan: Equatable {
    /// Of an organization, lasting or begun within a day.
    static let toldOneByOne = 20
    /// A device that goes silent again within this time goes on with its notice: one that comes and goes is not posted
    /// again and again.
    static let dayMicroseconds: Int64 = 86_400_000_000
    /// The same of many together; shorter, as it is another outage.
    static let manyAgainMicroseconds: Int64 = 3_600_000_000

    /// What notices tell already.
    struct Told: Equatable {
        /// Devices whose notice lasts.
        var lasting: Set<DeviceID> = []
        /// Those, and devices whose notice began within a day.
        var recent: Set<DeviceID> = []
        /// Of the notice that tells of many; `nil`: none lasts.
        var many: String?
    }

    enum Many: Equatable {
        case unchanged
        case tell(Int)
        case end
    }

    var begin: Set<DeviceID> = []
    var end: Set<DeviceID> = []
    var many = Many.unchanged

    /// - Parameters:
    ///   - silent: all that are now.
    ///   - isSettled: whether the collector has listened for long enough to say so (`Listening`); until then notices
    ///     only end.
    static func of(silent: Set<DeviceID>, told: Told, isSettled: Bool) -> SilencePlan {
        var plan = SilencePlan(end: told.lasting.subtracting(silent))
        let rest = silent.subtracting(told.lasting)
        guard isSettled else {
            if told.many != nil, rest.isEmpty { plan.many = .end }
            return plan
        }
        let hasRoom = rest.subtracting(told.recent).count <= max(0, toldOneByOne - told.recent.count)
        if told.many == nil ? hasRoom : rest.isEmpty || (hasRoom && rest.count <= toldOneByOne / 2) {
            plan.begin = rest
            if told.many != nil { plan.many = .end }
        } else {
            plan.many = .tell(rest.count)
        }
        return plan
    }

    static func detail(ofMany count: Int) -> String {
        "\(count) further devices are silent: more than the \(toldOneByOne) a day that are told of one by one. `GET /api/v1/devices?state=silent` lists "
            + "them. Where they went silent together, look at what lies between them and the collector."
    }
}

/// A device that has gone silent by the schedule it keeps (`ReportingState`).
package struct SilentDevice: Equatable, Sendable {
    package var id: DeviceID
    package var organization: String
    /// Since its last beacon, or its enrollment.
    package var silentSeconds: Int64
    package var expectedBeaconSeconds: UInt32

    var detail: String {
        "No beacon came for \(silentSeconds) s; one is expected every \(expectedBeaconSeconds) s. The device is off, cannot reach the collector, or is "
            + "gone: one that is gone for good is better revoked or deleted."
    }
}
