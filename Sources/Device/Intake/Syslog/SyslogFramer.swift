/// Takes messages out of a stream (RFC 6587), in whatever pieces its bytes come.
///
///     17 <13>1 - - - - - -     octet counting: a length, a space, and so many bytes
///     <13>text\n               a message up to a line end, or a zero byte
///
/// Each frame is decided for itself, because relays send both over one connection. Only a length before `<` is a
/// length: a message that begins with a number is text. Pure, and its memory is bounded whatever comes: of a long frame
/// the first bytes are kept, and the rest is counted.
struct SyslogFramer: Equatable, Sendable {
    struct Frame: Equatable, Sendable {
        /// Any bytes, and never empty.
        var text: [UInt8]
        /// Bytes behind `text` that were not kept.
        var leftOutBytes = 0
    }

    private enum State: Equatable, Sendable {
        /// Perhaps a length: digits, and the space behind them.
        case head
        /// So many bytes are to come.
        case counted(left: Int)
        case line
    }

    /// A longer number is text. Nine digits are a gigabyte.
    private static let lengthDigits = 9

    private let limit: Int
    private var state = State.head
    private var text: [UInt8] = []
    private var leftOutBytes = 0

    /// - Parameter limit: kept bytes of a frame, at least 16.
    init(limit: Int) { self.limit = max(16, limit) }

    /// A frame has begun and not ended.
    var isOpen: Bool { state != .head || !text.isEmpty }

    /// - Parameter frame: receives each frame that is complete.
    mutating func add(_ bytes: UnsafeRawBufferPointer, frame: (Frame) -> Void) {
        var used = 0
        while used < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[used...])
            switch state {
            case .head: used += addHead(rest[0])
            case .counted(let left):
                let count = min(left, rest.count)
                append(UnsafeRawBufferPointer(rebasing: rest[..<count]))
                used += count
                if left == count { end(frame) } else { state = .counted(left: left - count) }
            case .line:
                let end = rest.firstIndex { $0 == UInt8(ascii: "\n") || $0 == 0 }
                append(UnsafeRawBufferPointer(rebasing: rest[..<(end ?? rest.count)]))
                used += end.map { $0 + 1 } ?? rest.count
                if end != nil { self.end(frame) }
            }
        }
    }

    /// Nothing follows. What is open is a frame, because it will not come again.
    mutating func finish(frame: (Frame) -> Void) { end(frame) }

    /// - Returns: 1 if the byte was used.
    private mutating func addHead(_ byte: UInt8) -> Int {
        let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        if text.isEmpty {
            // What stands between frames, as a line end behind one that was counted.
            if [0, UInt8(ascii: "\n"), UInt8(ascii: "\r")].contains(byte) { return 1 }
            // A length has no leading zeros.
            if isDigit, byte != UInt8(ascii: "0") {
                text = [byte]
                return 1
            }
        } else if text.last != UInt8(ascii: " ") {
            if isDigit && text.count < Self.lengthDigits || byte == UInt8(ascii: " ") {
                text.append(byte)
                return 1
            }
        } else if byte == UInt8(ascii: "<") {
            let length = text.dropLast().reduce(0) { 10 * $0 + Int($1 - UInt8(ascii: "0")) }
            text = []
            state = .counted(left: length)
            return 0
        }
        state = .line
        return 0
    }

    private mutating func append(_ piece: UnsafeRawBufferPointer) {
        // Once a byte was left out, none that follows is kept.
        let room = leftOutBytes > 0 ? 0 : max(0, limit - text.count)
        text.append(contentsOf: piece.prefix(room))
        leftOutBytes += max(0, piece.count - room)
    }

    private mutating func end(_ frame: (Frame) -> Void) {
        if state == .line, leftOutBytes == 0, text.last == UInt8(ascii: "\r") { text.removeLast() }
        if !text.isEmpty { frame(Frame(text: text, leftOutBytes: leftOutBytes)) }
        text = []
        leftOutBytes = 0
        state = .head
    }
}
