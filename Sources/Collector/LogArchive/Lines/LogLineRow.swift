import FoundationEssentials
import WireModel

/// Names a line in a device's log, however often and in whatever chunk the device sent it.
///
/// Lines are in the order of these: by the device's clock, then by device, log epoch and number. So one order holds for
/// lines of one device and of many.
package struct LogLineID: Hashable, Comparable, Sendable {
    /// The time by the device's clock, microseconds since 1970.
    package var time: Int64
    package var device: DeviceID
    package var epoch: LogEpochID
    /// The number as `LogNumber` makes it.
    package var number: UInt64

    package init(time: Int64, device: DeviceID, epoch: LogEpochID, number: UInt64) {
        (self.time, self.device, self.epoch, self.number) = (time, device, epoch, number)
    }

    package static func < (left: LogLineID, right: LogLineID) -> Bool {
        (left.time, left.device.high, left.device.low, left.epoch.high, left.epoch.low, left.number)
            < (right.time, right.device.high, right.device.low, right.epoch.high, right.epoch.low, right.number)
    }

    /// No line is between it and this one. Number 0, which no device gives, has none.
    var predecessor: LogLineID? {
        number > 0 ? LogLineID(time: time, device: device, epoch: epoch, number: number - 1) : nil
    }

    private static let bytes = 48

    package var data: Data {
        var data = device.data + epoch.data
        for value in [number, UInt64(bitPattern: time)] {
            withUnsafeBytes(of: value.bigEndian) { data.append(contentsOf: $0) }
        }
        return data
    }

    /// `nil` unless the bytes are those of `data`.
    package init?(_ data: Data) {
        let bytes = Array(data)
        guard bytes.count == Self.bytes, let device = DeviceID(bytes[0..<16]), let epoch = LogEpochID(bytes[16..<32])
        else { return nil }
        func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(
            time: Int64(bitPattern: number(40..<48)), device: device, epoch: epoch, number: number(32..<40))
    }
}

/// A stored line, as people see it.
package struct LogLineRow: Equatable, Sendable {
    package var id: LogLineID
    package var level: LogLevel
    /// `nil` if the line has none.
    package var category: String?
    /// The message, escaped as on disk.
    package var text: String
    /// `key=value`, one space between; empty if there is none.
    package var metadata: String
    /// Malformed lines that follow it; `nil` if there are none.
    package var unformatted: String?
    /// Whether text was cut off, because a line has at most `LogLimits.lineBytes` in an answer.
    package var isCut: Bool
    /// One of the chunks that have it.
    package var chunk: Int64
    package var application: String
    /// `nil` if the chunk has lines of more than one type.
    package var type: LogType?
    package var ring: Bool
    package var test: Bool
    /// When the chunk came, by the collector's clock, microseconds since 1970.
    package var receivedAt: Int64
}

/// The order in which lines are listed.
package enum LogLineOrder: String, CaseIterable, Sendable {
    case newest
    case oldest

    /// The rank of a time. What comes first has the least.
    func rank(_ time: Int64) -> Int64 { self == .newest ? ~time : time }

    /// The time of a rank.
    func time(_ rank: Int64) -> Int64 { self == .newest ? ~rank : rank }

    /// The least rank of some times, which is that of the line that comes first.
    func rank(_ times: ClosedRange<Int64>) -> Int64 {
        rank(self == .newest ? times.upperBound : times.lowerBound)
    }

    func precedes(_ left: LogLineID, _ right: LogLineID) -> Bool { self == .newest ? right < left : left < right }
}

/// Where a page of lines begins.
package enum LogLinePosition: Equatable, Sendable {
    /// The list begins with the lines of this time.
    case time(Int64)
    /// The list begins after this line.
    case after(LogLineID)

    package var time: Int64 {
        switch self {
        case .time(let time): time
        case .after(let line): line.time
        }
    }
}

/// How far the lines that arrived have been read: everything in runs before `run`, and what is before the position in
/// it. Rows of `log_run` ascend as chunks arrive, and none is used again.
package struct LogArrival: Equatable, Sendable {
    package var run: Int64
    /// The number of its pieces that were read.
    package var pieces: Int
    /// Bytes of the next piece's text that were read.
    package var offset: Int

    package init(run: Int64, pieces: Int = 0, offset: Int = 0) {
        (self.run, self.pieces, self.offset) = (run, pieces, offset)
    }

    /// `RUN|PIECES|OFFSET`.
    package var text: String { "\(run)|\(pieces)|\(offset)" }

    /// `nil` unless the text is one of `text`.
    package init?(_ text: String) {
        let parts = text.split(separator: "|", omittingEmptySubsequences: false)
        guard parts.count == 3, let run = Int64(parts[0]), let pieces = Int(parts[1]), let offset = Int(parts[2]),
            run >= 0, pieces >= 0, offset >= 0
        else { return nil }
        self.init(run: run, pieces: pieces, offset: offset)
    }
}

/// A page of lines.
package struct LogLinePage: Equatable, Sendable {
    package var lines: [LogLineRow] = []
    /// The next page; `nil` at the end. Everything before it is on this page or an earlier one.
    package var next: LogLinePosition?
    /// The place from which lines arrive that were not there yet.
    package var arrival: LogArrival
    /// Bytes of text that were read for the page.
    package var scannedBytes = 0
}

/// Lines that arrived.
package struct ArrivedLogLines: Equatable, Sendable {
    /// The lines in the order of arrival, and of writing within a run.
    package var lines: [LogLineRow] = []
    package var arrival: LogArrival
    /// Whether there are more at once.
    package var hasMore = false
    package var scannedBytes = 0
    /// Lines that were passed over, because their bytes are damaged.
    package var unreadable = 0

    package init(arrival: LogArrival) { self.arrival = arrival }
}

/// A line and those around it, oldest first.
package struct LogLineContext: Equatable, Sendable {
    package var lines: [LogLineRow]
    package var hasEarlier: Bool
    package var hasLater: Bool
    package var scannedBytes: Int
}
