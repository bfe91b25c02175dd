import Logging
import RecordStore
import TelemetryBasics
import WireModel

/// Raises and ends the notices of silent devices.
package actor SilenceWatch {
    private let metadata: MetadataService
    private let notices: NoticeService
    private let clock: any StoreClock
    private let bootClock: any BootClock
    private let canStore: @Sendable () async -> Bool
    private let logger: Logger
    private var listening = Listening()

    /// - Parameter canStore: whether the collector can store what devices send.
    package init(
        metadata: MetadataService, notices: NoticeService, clock: any StoreClock,
        bootClock: any BootClock = SystemBootClock(), logger: Logger, canStore: @escaping @Sendable () async -> Bool
    ) {
        self.metadata = metadata
        self.notices = notices
        self.clock = clock
        self.bootClock = bootClock
        self.logger = logger
        self.canStore = canStore
    }

    package func look() async {
        let reading = ClockReading(wall: clock.now(), sinceBoot: bootClock.sinceBoot(), bootID: bootClock.bootID)
        let isSettled = listening.isSettled(at: reading, canStore: await canStore())
        metadata.reportSilenceNotices(from: listening.settles(after: reading))
        do throws(StoreError) {
            await notices.report(try await metadata.silentDevices(), isSettled: isSettled)
        } catch { logger.warning("silent devices could not be looked for", metadata: ["store.error": "\(error)"]) }
    }
}

/// Whether the collector has listened long enough to call a device silent. Pure.
///
/// A device that cannot reach its collector tries again within five minutes, or after a Retry-After of at most an hour.
/// So every live device was heard an hour after the collector began to listen. The hour starts again after a start, a
/// clock change, a pause of the process or machine, and while nothing can be stored.
struct Listening {
    static let settleMicroseconds: Int64 = 3_600_000_000
    /// Smaller steps of the wall clock do not restart the hour.
    static let stepMicroseconds: Int64 = 60_000_000
    /// Checks are a minute apart. A longer gap than this is a pause.
    static let pauseMicroseconds: Int64 = 600_000_000

    /// When the hour began, in microseconds since boot.
    private var since: Int64?
    private var former: ClockReading?

    /// - Parameter canStore: whether the collector can store what devices send.
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

    /// When it will have listened long enough, by the wall clock; `nil` if it has.
    /// - Parameter reading: the one that `isSettled` was asked with.
    func settles(after reading: ClockReading) -> Int64? {
        guard let since else { return nil }
        let left = since + Self.settleMicroseconds - reading.sinceBoot
        return left > 0 ? reading.wall + left : nil
    }
}

/// Decides which notices of silent devices begin and end in one organization. Pure.
///
/// Up to 20 devices per day get their own notice, which is as many as a person reads. Beyond that, one notice counts
/// all further devices, so a site without power makes one notice and not ten thousand. That notice ends when at most
/// ten devices are left, which then get their own, or none.
///
/// What was reported is read from the notices themselves, so a restart reports nothing twice.
struct SilencePlan: Equatable {
    /// The most notices of one organization that have not ended or began within a day.
    static let reportedIndividually = 20
    /// A device that becomes silent again within this time continues its notice, so it is not delivered again and
    /// again.
    static let dayMicroseconds: Int64 = CivilDate.microsecondsPerDay
    /// The same for the notice of many devices. It is shorter, because it is another outage.
    static let manyAgainMicroseconds: Int64 = 3_600_000_000

    /// The subjects that notices report already.
    struct Reported: Equatable {
        /// Devices whose notice lasts.
        var lasting: Set<DeviceID> = []
        /// These, and devices whose notice began within a day.
        var recent: Set<DeviceID> = []
        /// The detail of the notice that counts many devices; `nil` if none lasts.
        var many: String?
    }

    enum Many: Equatable {
        case unchanged
        case report(Int)
        case end
    }

    var begin: Set<DeviceID> = []
    var end: Set<DeviceID> = []
    var many = Many.unchanged

    /// - Parameters:
    ///   - silent: all devices that are silent now.
    ///   - isSettled: whether the collector has listened long enough (`Listening`). Until then notices only end.
    static func of(silent: Set<DeviceID>, reported: Reported, isSettled: Bool) -> SilencePlan {
        var plan = SilencePlan(end: reported.lasting.subtracting(silent))
        let rest = silent.subtracting(reported.lasting)
        guard isSettled else {
            if reported.many != nil, rest.isEmpty { plan.many = .end }
            return plan
        }
        let hasRoom = rest.subtracting(reported.recent).count <= max(0, reportedIndividually - reported.recent.count)
        if reported.many == nil ? hasRoom : rest.isEmpty || (hasRoom && rest.count <= reportedIndividually / 2) {
            plan.begin = rest
            if reported.many != nil { plan.many = .end }
        } else {
            plan.many = .report(rest.count)
        }
        return plan
    }

    static func detail(ofMany count: Int) -> String {
        """
        Also silent: \(CountText.of(count, "device")). At most \(reportedIndividually) a day get a notice of their \
        own. `GET /api/v1/devices?state=silent` lists them. If they went silent together, check the network between \
        them and the collector.
        """
    }
}

/// A device that is silent by its own schedule (`ReportingState`).
package struct SilentDevice: Equatable, Sendable {
    package var id: DeviceID
    package var organization: String
    /// Seconds since its last beacon, or since its enrollment.
    package var silentSeconds: Int64
    package var expectedBeaconSeconds: UInt32

    package var detail: String {
        """
        No beacon came for \(silentSeconds) s; one is expected every \(expectedBeaconSeconds) s. The device is off, \
        cannot reach the collector, or is gone. If it is gone for good, revoke or delete it.
        """
    }
}
