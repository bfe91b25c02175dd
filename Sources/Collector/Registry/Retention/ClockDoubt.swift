import RecordStore
import Synchronization
import TelemetryBasics
import WireModel

/// Why the wall clock cannot be trusted for the age of records. A wrong clock could remove all of them. Pure.
package enum ClockDoubt: Equatable, Sendable {
    /// The clock was set forward by that many seconds while a collector ran, or between two runs without a reboot.
    case steppedForward(seconds: Int64)
    /// The newest record was received that many seconds after now: the clock was ahead then, or is behind.
    case recordsAhead(seconds: Int64)
    /// The clocks of most devices are that many seconds behind, so the collector's is ahead.
    case devicesBehind(seconds: Int64)

    /// Differences up to an hour cause no doubt.
    package static let toleranceMicroseconds: Int64 = 3_600_000_000

    /// - Parameters:
    ///   - former: the last reading; `nil` for none.
    ///   - newestReceipt: of any record, in microseconds since 1970; `nil` if there is none.
    ///   - acceptedReceipt: an administrator accepted receipts up to this time.
    ///   - devicesBehind: how far the clocks of most devices are behind, in microseconds; `nil` if too few devices
    ///     reported.
    ///   - acceptedBehind: an administrator accepted this much, for instance for devices without a battery-backed
    ///     clock.
    package static func of(
        _ reading: ClockReading, former: ClockReading?, newestReceipt: Int64?, acceptedReceipt: Int64?,
        devicesBehind: Int64? = nil, acceptedBehind: Int64? = nil
    ) -> ClockDoubt? {
        if let step = former.flatMap({ reading.step(since: $0) }), step > toleranceMicroseconds {
            return .steppedForward(seconds: step / 1_000_000)
        }
        if let devicesBehind,
            devicesBehind.subtractingSaturating(acceptedBehind ?? 0) > ClockConsensus.toleranceMicroseconds
        {
            return .devicesBehind(seconds: devicesBehind / 1_000_000)
        }
        guard let newestReceipt, newestReceipt > acceptedReceipt ?? .min else { return nil }
        let ahead = newestReceipt.subtractingSaturating(reading.wall)
        return ahead > toleranceMicroseconds ? .recordsAhead(seconds: ahead / 1_000_000) : nil
    }

    /// The text for an administrator.
    package var message: String {
        switch self {
        case .steppedForward(let seconds):
            "The clock was set forward by \(seconds) s, so records look older than they are."
        case .recordsAhead(let seconds):
            """
            The newest record has a receipt time \(seconds) s in the future: the clock was ahead then, or is behind now.
            """
        case .devicesBehind(let seconds):
            "Most devices' clocks are about \(seconds) s behind: the collector's clock is ahead, or theirs are wrong."
        }
    }
}

/// How far devices' clocks are behind the collector's. There is one value per device, from its latest batch that left
/// nothing waiting.
///
/// It searches only for a collector whose clock is ahead, because that would make records look older than they are. A
/// collector whose clock is behind only removes too little.
struct ClockConsensus: Equatable {
    /// The most devices remembered. The first to report is dropped for the next.
    static let voices = 256
    /// The least number of devices; with fewer there is no median.
    static let least = 5
    /// A device's newest record is at most a day old when it is sent (the longest sampling and sending intervals). They
    /// cannot explain twice that.
    static let toleranceMicroseconds: Int64 = 2 * CivilDate.microsecondsPerDay

    private var behind: [DeviceID: Int64] = [:]
    private var order: [DeviceID] = []

    /// - Parameter microseconds: how far it is behind the collector's clock; negative if ahead.
    mutating func record(_ device: DeviceID, behind microseconds: Int64) {
        if behind.updateValue(microseconds, forKey: device) != nil { return }
        order.append(device)
        if order.count > Self.voices { behind[order.removeFirst()] = nil }
    }

    /// Whether enough devices have reported.
    var isQuorate: Bool { order.count >= Self.least }

    /// More than half of the devices are at least this far behind, whatever the others report. `nil` if too few have
    /// reported.
    var medianBehind: Int64? {
        isQuorate ? behind.values.sorted()[behind.count / 2] : nil
    }
}

/// A thread-safe `ClockConsensus`. Storing records observes devices' clocks, and retention reads the result.
package final class DeviceClocks: Sendable {
    private let consensus = Mutex(ClockConsensus())

    package init() {}

    /// - Parameters:
    ///   - time: of the device's newest record, by its clock. Pass it only if the device has sent everything.
    ///   - now: the collector's clock.
    package func record(_ device: DeviceID, newestRecord time: Int64, at now: Int64) {
        let (behind, overflow) = now.subtractingReportingOverflow(time)
        guard !overflow else { return }
        consensus.withLock { $0.record(device, behind: behind) }
    }

    package var isQuorate: Bool { consensus.withLock { $0.isQuorate } }
    package var medianBehind: Int64? { consensus.withLock { $0.medianBehind } }
}
