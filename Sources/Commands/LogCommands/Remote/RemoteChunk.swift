import WireModel

/// A chunk as a collector lists it.
struct RemoteChunk: Codable, Equatable, Sendable {
    struct Levels: Codable, Equatable, Sendable {
        var error: UInt64
        var warning: UInt64
        var information: UInt64
        var verbose: UInt64

        /// Most severe first.
        var list: [UInt64] { [error, warning, information, verbose] }
    }

    var id: String
    var application: String?
    /// Absent where it holds lines of more than one.
    var type: LogType?
    var ring: Bool?
    var upload: String
    var number: Int
    var command: String?
    var logEpoch: String
    var rawBytes: Int
    var storedBytes: Int
    var receivedAt: String
    var firstTime: String?
    var lastTime: String?
    var firstLine: UInt64?
    var lastLine: UInt64?
    var levels: Levels
    var otherLines: UInt64?
    /// Of its text, as the device said and the collector checked.
    var sha256: String?

    /// `.max` for more than can be counted.
    var lines: UInt64 {
        levels.list.reduce(otherLines ?? 0) { sum, count in
            let (next, isTooGreat) = sum.addingReportingOverflow(count)
            return isTooGreat ? .max : next
        }
    }

    /// More of it cannot be in a chunk, however badly it is compressed.
    private static let maximumStoredBytes = LogLimits.chunkBytes + 1 << 20

    /// What of it no chunk can be; `nil` for one that can. Total: what a collector says is not believed where sums are made of it.
    var fault: String? {
        if !(0...LogLimits.chunkBytes).contains(rawBytes) { return "\(rawBytes) bytes of text" }
        if !(0...Self.maximumStoredBytes).contains(storedBytes) { return "\(storedBytes) bytes stored" }
        // A line has one byte at least: its end.
        if lines > UInt64(rawBytes) { return "\(lines) lines in \(rawBytes) bytes of text" }
        return nil
    }

    /// Of all its lines; `nil` where none is of the form.
    var times: ClosedRange<Int64>? {
        guard let first = Self.time(firstTime), let last = Self.time(lastTime), first <= last else { return nil }
        return first...last
    }

    var numbers: ClosedRange<UInt64>? {
        guard let firstLine, let lastLine, firstLine <= lastLine else { return nil }
        return firstLine...lastLine
    }

    private static func time(_ text: String?) -> Int64? {
        guard let text, case .at(let time)? = TimeArgument(text) else { return nil }
        return time
    }
}

/// A page of a list.
struct RemotePage<Item: Decodable & Sendable>: Decodable, Sendable {
    var items: [Item]
    var next: String?
}
