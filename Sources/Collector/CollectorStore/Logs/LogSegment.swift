import WireModel

/// The lines of one segment of a device's log, as far as they are here: in runs, one for each chunk that holds some of them. Runs overlap
/// where lines were sent more than once.
struct LogSegment: Equatable, Sendable {
    struct Key: Hashable, Sendable, Comparable {
        var device: DeviceID
        var epoch: LogEpochID
        var segment: UInt64

        static func < (left: Key, right: Key) -> Bool {
            (left.device.high, left.device.low, left.epoch.high, left.epoch.low, left.segment)
                < (right.device.high, right.device.low, right.epoch.high, right.epoch.low, right.segment)
        }
    }

    let key: Key
    /// No line is earlier.
    private(set) var start: Int64
    /// Rows of `log_run`.
    private(set) var runs: [Int64] = []

    /// Of all segments that one answer is made of; about 100 bytes each are held.
    static let maximumRuns = 200_000

    init(key: Key, start: Int64) {
        self.key = key
        self.start = start
    }

    mutating func add(run: Int64, from time: Int64) {
        runs.append(run)
        start = min(start, time)
    }
}

/// The lines of one segment in one chunk.
struct LogRun: Sendable {
    /// Of the chunk's file.
    var path: String
    var segment: UInt64
    var pieces: [LogPiece]
}
