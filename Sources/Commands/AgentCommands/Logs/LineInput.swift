import FoundationEssentials
import LogStore

/// Cuts what comes from a pipe into lines, as it comes: a line of any length takes bounded memory. Pure.
struct LineInput {
    struct Line: Equatable, Sendable {
        /// Bytes that are no UTF-8 are replaced by U+FFFD.
        var text: String
        /// Of a line so long that its end is not kept.
        var leftOutBytes: Int
    }

    private var kept: [UInt8] = []
    private var leftOutBytes = 0
    private var hasBegun = false

    /// - Returns: lines that ended in these bytes.
    mutating func add(_ bytes: UnsafeRawBufferPointer) -> [Line] {
        var lines: [Line] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            keep(rest[..<end])
            lines.append(take())
            rest = rest[(end + 1)...]
        }
        if !rest.isEmpty { keep(rest) }
        return lines
    }

    /// - Returns: a last line without its end; `nil` where there is none.
    mutating func finish() -> Line? { hasBegun ? take() : nil }

    private mutating func keep(_ bytes: Slice<UnsafeRawBufferPointer>) {
        hasBegun = true
        let room = LogEntry.messageBytes - kept.count
        kept.append(contentsOf: bytes.prefix(room))
        leftOutBytes += max(0, bytes.count - room)
    }

    private mutating func take() -> Line {
        defer {
            kept.removeAll(keepingCapacity: kept.count <= 65_536)
            leftOutBytes = 0
            hasBegun = false
        }
        return Line(text: String(decoding: kept, as: UTF8.self), leftOutBytes: leftOutBytes)
    }
}
