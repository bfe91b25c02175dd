import Synchronization
import WireModel

/// Why the wall clock cannot be trusted to say how old records are: taken at its word it might remove all of them.
/// Pure.
package enum ClockDoubt: Equatable, Sendable {
    /// The clock was set forward by so many seconds while a collector ran, or between two runs without a start of the
    /// machine.
    case steppedForward(seconds: Int64)
    /// The newest record came so many seconds after now: the clock was ahead then, or is behind.
    case recordsAhead(seconds: Int64)
    /// Most devices' clocks are so many seconds behind: the collector's is ahead.
    case devicesBehind(seconds: Int64)

    /// More than an hour.
    package static let toleranceMicroseconds: Int64 = 3_600_000_000

    /// - Parameters:
    ///   - former: the last reading there is; `nil`: none.
    ///   - newestReceipt: of any record, microseconds since 1970; `nil`: there is none.
    ///   - acceptedReceipt: receipts up to this time an administrator has said to be all right.
    ///   - devicesBehind: how far most devices' clocks are behind, microseconds; `nil`: too few have spoken.
    ///   - acceptedBehind: so far an administrator has said to be all right: devices without a clock of their own.
    package static func of(
        _ reading: ClockReading, former: ClockReading?, newestReceipt: Int64?, acceptedReceipt: Int64?,
        devicesBehind: Int64? = nil, acceptedBehind: Int64? = nil
    ) -> ClockDoubt? {
        if let step = former.flatMap({ reading.step(since: $0) }), step > toleranceMicroseconds {
            return .steppedForward(seconds: step / 1_000_000)
        }
        if let devicesBehind, devicesBehind - (acceptedBehind ?? 0) > ClockConsensus.toleranceMicroseconds {
            return .devicesBehind(seconds: devicesBehind / 1_000_000)
        }
        guard let newestReceipt, newestReceipt > acceptedReceipt ?? .min else { return nil }
        let ahead = newestReceipt - reading.wall
        return ahead > toleranceMicroseconds ? .recordsAhead(seconds: ahead / 1_000_000) : nil
    }

    /// What an administrator is told.
    package var message: String {
        switch self {
        case .steppedForward(let seconds):
            "The clock was set forward by \(seconds) s: records would be taken for that much older than they are."
        case .recordsAhead(let seconds):
            "The newest record was received \(seconds) s after the present time: the clock was ahead then, or is behind now."
        case .devicesBehind(let seconds):
            "Most devices' clocks are about \(seconds) s behind: the collector's is ahead, or theirs are wrong."
        }
    }
}

/// The clocks of devices as witnesses of the collector's. Each device has one voice: how far its clock was behind when
/// it last sent all it had.
///
/// Only where the collector is ahead is asked: then it takes records for older than they are. Where it is behind it
/// removes too little.
struct ClockConsensus: Equatable {
    /// Devices that are listened to; the one that spoke first goes.
    static let voices = 256
    /// Fewer say nothing.
    static let least = 5
    /// A device's newest record may be a day old when it is sent (the longest intervals of sampling and sending); twice
    /// that is not to be explained by them.
    static let toleranceMicroseconds: Int64 = 2 * 86_400_000_000

    private var behind: [DeviceID: Int64] = [:]
    private var order: [DeviceID] = []

    /// - Parameter microseconds: how far behind the collector's clock; negative: ahead.
    mutating func note(_ device: DeviceID, behind microseconds: Int64) {
        if behind.updateValue(microseconds, forKey: device) != nil { return }
        order.append(device)
        if order.count > Self.voices { behind[order.removeFirst()] = nil }
    }

    /// Whether enough have spoken.
    var isQuorate: Bool { order.count >= Self.least }

    /// The median: more than half of the devices are at least so far behind, whatever the others say. `nil`: too few
    /// have spoken.
    var medianBehind: Int64? {
        isQuorate ? behind.values.sorted()[behind.count / 2] : nil
    }
}

/// What devices' clocks say of the collector's (`ClockConsensus`), for many tasks: those who store records tell,
/// retention asks.
package final class DeviceClocks: Sendable {
    private let jury = Mutex(ClockConsensus())

    package init() {}

    /// - Parameters:
    ///   - time: of the newest record it has, by its clock; told only where it has sent all.
    ///   - now: the collector's clock.
    package func note(_ device: DeviceID, newestRecord time: Int64, at now: Int64) {
        let (behind, overflow) = now.subtractingReportingOverflow(time)
        guard !overflow else { return }
        jury.withLock { $0.note(device, behind: behind) }
    }

    var isQuorate: Bool { jury.withLock { $0.isQuorate } }
    var medianBehind: Int64? { jury.withLock { $0.medianBehind } }
}
