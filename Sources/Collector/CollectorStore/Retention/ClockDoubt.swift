/// Why the wall clock cannot be trusted to say how old records are: taken at its word it might remove all of them. Pure.
package enum ClockDoubt: Equatable, Sendable {
    /// The clock was set forward by so many seconds while a collector ran, or between two runs without a start of the machine.
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
        _ reading: ClockReading, former: ClockReading?, newestReceipt: Int64?, acceptedReceipt: Int64?, devicesBehind: Int64? = nil,
        acceptedBehind: Int64? = nil
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
