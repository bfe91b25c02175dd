import DeviceTunables
import Glibc
import WireModel

/// The lines that wait in memory, and whether the writer's thread must wake. Guarded by the callers' lock, which is
/// held only while a line is copied.
struct WaitingLines: Sendable {
    enum Admission: Equatable, Sendable {
        case refused
        /// The line is in memory. The number is that of all lines accepted so far.
        case taken(UInt64)
        /// Like `taken`, and the caller must wake the writer's thread.
        case takenFirst(UInt64)
    }

    var buffer = LineBuffer()
    /// The number of lines accepted since the start.
    private(set) var taken: UInt64 = 0
    /// Lines refused since the last `take`.
    private(set) var refused = LogLevelCounts()
    /// The writer's thread sleeps until somebody wakes it.
    var isWriterIdle = true
    private var isUrgent = false
    private var isClosed = false
    private let limits: WaitingLimits

    init(limits: WaitingLimits) { self.limits = limits }

    mutating func add(
        time: Int64, level: LogLevel, isRing: Bool, category: UnsafeBufferPointer<UInt8>,
        message: UnsafeBufferPointer<UInt8>?
    ) -> Admission {
        let bytes = LineBuffer.bytes(ofBody: category.count + (message.map { $0.count + 1 } ?? 0))
        guard !isClosed, limits.admits(level, used: buffer.count, adding: bytes) else {
            refused[level] += 1
            return .refused
        }
        buffer.append(time: time, level: level, isRing: isRing, category: category, message: message)
        taken += 1
        if isWriterIdle || buffer.count >= Tunables.Logs.urgentBytes && !isUrgent {
            isUrgent = buffer.count >= Tunables.Logs.urgentBytes
            isWriterIdle = false
            return .takenFirst(taken)
        }
        return .taken(taken)
    }

    /// Hands all waiting lines to the writer, in exchange for an empty buffer.
    mutating func drain(for empty: LineBuffer) -> (buffer: LineBuffer, taken: UInt64, refused: LogLevelCounts) {
        defer {
            buffer = empty
            refused = LogLevelCounts()
            isUrgent = false
        }
        return (buffer, taken, refused)
    }

    /// Lines refused since they were last asked for, while those that wait go on waiting.
    mutating func takeRefused() -> LogLevelCounts {
        defer { refused = LogLevelCounts() }
        return refused
    }

    mutating func close() { isClosed = true }
}

/// How much memory waiting lines may use, and which level is refused first.
///
/// Verbose lines are accepted below one half, information below three quarters, warnings up to the whole. Errors may
/// exceed it by an eighth, because their callers write them themselves and wait for the disk.
struct WaitingLimits: Equatable, Sendable {
    let bytes: Int

    func admits(_ level: LogLevel, used: Int, adding: Int) -> Bool {
        let limit =
            switch level {
            case .verbose: bytes / 2
            case .information: bytes / 4 * 3
            case .warning: bytes
            case .error: bytes / 8 * 9
            }
        return used + adding <= limit
    }
}

/// Waiting lines, one behind the other in one block of memory.
///
/// `@unchecked Sendable`: one owner at a time. Ownership passes from the callers' lock to the writer's and back.
final class LineBuffer: @unchecked Sendable {
    struct Line {
        /// Microseconds since 1970.
        let time: Int64
        let level: LogLevel
        let isRing: Bool
        /// The line from its category to its end.
        let body: UnsafeRawBufferPointer
    }

    /// The most memory that is kept while nothing waits.
    static let keptBytes = 64 << 10
    private static let headBytes = 16

    /// Bytes in use.
    private(set) var count = 0
    private(set) var counts = LogLevelCounts()
    private var memory: UnsafeMutableRawPointer
    private var capacity: Int

    init() {
        capacity = Self.keptBytes
        memory = .allocate(byteCount: capacity, alignment: 8)
    }

    deinit { memory.deallocate() }

    static func bytes(ofBody count: Int) -> Int { headBytes + count }

    /// - Parameters:
    ///   - category: escaped.
    ///   - message: escaped; a space goes between the two. With `nil`, `category` is the whole body.
    func append(
        time: Int64, level: LogLevel, isRing: Bool, category: UnsafeBufferPointer<UInt8>,
        message: UnsafeBufferPointer<UInt8>?
    ) {
        let length = category.count + (message.map { $0.count + 1 } ?? 0)
        let wanted = count + Self.headBytes + length
        if wanted > capacity { grow(to: wanted) }
        var target = memory + count
        target.storeBytes(of: time, as: Int64.self)
        target.storeBytes(of: UInt32(length), toByteOffset: 8, as: UInt32.self)
        target.storeBytes(of: UInt8(truncatingIfNeeded: level.rawValue), toByteOffset: 12, as: UInt8.self)
        target.storeBytes(of: isRing, toByteOffset: 13, as: Bool.self)
        target += Self.headBytes
        if let base = category.baseAddress { memcpy(target, base, category.count) }
        if let message {
            target += category.count
            target.storeBytes(of: UInt8(ascii: " "), as: UInt8.self)
            if let base = message.baseAddress { memcpy(target + 1, base, message.count) }
        }
        count = wanted
        counts[level] += 1
    }

    /// Calls `body` in the order in which the lines came.
    func forEach(_ body: (Line) -> Void) {
        var position = 0
        while position < count {
            let head = memory + position
            let length = Int(head.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
            body(
                Line(
                    time: head.loadUnaligned(as: Int64.self),
                    level: LogLevel(rawValue: Int(head.load(fromByteOffset: 12, as: UInt8.self)))!,
                    isRing: head.load(fromByteOffset: 13, as: Bool.self),
                    body: UnsafeRawBufferPointer(start: head + Self.headBytes, count: length)))
            position += Self.headBytes + length
        }
    }

    func empty() {
        // Releases memory that one burst needed.
        if capacity > Self.keptBytes, count < capacity / 8 {
            memory.deallocate()
            capacity = Self.keptBytes
            memory = .allocate(byteCount: capacity, alignment: 8)
        }
        count = 0
        counts = LogLevelCounts()
    }

    private func grow(to wanted: Int) {
        capacity = max(wanted, capacity * 2)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
        memcpy(larger, memory, count)
        memory.deallocate()
        memory = larger
    }
}
