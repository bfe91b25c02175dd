import RecordStore
import WireModel

/// How fast records fill the disk, from the sizes of the days' files. Pure.
///
/// The estimate goes by what came on the last whole days, and by retention: a stream grows until its oldest day is
/// removed for each new one. Logs are left out, because their quotas limit them.
struct CapacityEstimate: Equatable {
    struct Stream: Equatable {
        var stream: StreamName
        var files = 0
        var bytes: Int64 = 0
        /// Bytes of a day; `nil` without a whole day to go by.
        var bytesPerDay: Int64?
        var limits: RetentionLimits.Stream
    }

    enum Full: Equatable {
        /// There is no whole day of records yet, or the system does not report the free space.
        case unknown
        /// Retention removes records before that, or it would last more than ten years.
        case never
        /// The time until then, in whole days from now.
        case inDays(Int)
    }

    /// Whole days that the growth is the mean of.
    private static let meanDays = 7
    private static let furthestDays = 3650

    private(set) var streams: [Stream] = []
    /// Whole days that the growth goes by; fewer than seven in a collector's first week.
    private(set) var days = 0
    private(set) var full = Full.unknown

    /// - Parameters:
    ///   - kept: record files, with their sizes in bytes.
    ///   - freeBytes: on the disk of the data directory; `nil` if unknown.
    init(_ kept: [PartitionList.Item], limits: RetentionLimits, freeBytes: UInt64?, today: UTCDay) {
        // The first day of all may be a part of one. It counts only if there is no other.
        let past = kept.map(\.partition.day.number).filter { $0 < today.number }
        let first = past.min().map { min($0 + 1, today.number - 1) } ?? today.number
        let window = max(first, today.number - Self.meanDays)..<today.number
        days = window.count
        for name in StreamName.allCases {
            let files = kept.filter { $0.partition.stream == name }
            var stream = Stream(
                stream: name, files: files.count, bytes: files.reduce(0) { $0 + $1.bytes }, limits: limits[name])
            if days > 0 {
                let grown = files.filter { window.contains($0.partition.day.number) }.reduce(0) { $0 + $1.bytes }
                stream.bytesPerDay = grown / Int64(days)
            }
            streams.append(stream)
        }
        if let freeBytes, days > 0 { full = Self.full(streams, free: Double(freeBytes)) }
    }

    private static func full(_ streams: [Stream], free: Double) -> Full {
        for day in 0...furthestDays {
            let grown = streams.reduce(0) { $0 + $1.growth(inDays: day) }
            if grown >= free { return .inDays(day) }
        }
        return .never
    }
}

extension CapacityEstimate.Stream {
    fileprivate func growth(inDays days: Int) -> Double {
        guard let bytesPerDay = bytesPerDay.map(Double.init) else { return 0 }
        // Retention keeps so many whole days and the present one.
        let greatest = min(bytesPerDay * Double(limits.days + 1), limits.bytes.map(Double.init) ?? .infinity)
        return max(0, min(bytesPerDay * Double(days), greatest - Double(bytes)))
    }
}
