import WireModel

/// The lines that wait, and what the writer's thread is told about them. Behind the callers' lock, which is never held for longer than it takes
/// to copy a line.
struct WaitingLines: Sendable {
    enum Admission: Equatable, Sendable {
        case refused
        /// In memory; the number is how many have been taken until now.
        case taken(UInt64)
        /// The same, and the writer's thread is to be woken.
        case takenFirst(UInt64)
    }

    /// From here on the writer does not wait for the flush interval.
    static let urgentBytes = 256 << 10

    var buffer = LineBuffer()
    /// Lines taken, ever.
    private(set) var taken: UInt64 = 0
    /// Lines refused since this was last looked at, and their number ever.
    private(set) var refused = LogLevelCounts()
    /// The writer's thread sleeps until it is woken.
    var isWriterIdle = true
    private var isUrgent = false
    private var isClosed = false
    private let limits: WaitingLimits

    init(limits: WaitingLimits) { self.limits = limits }

    mutating func add(
        time: Int64, level: LogLevel, isRing: Bool, category: UnsafeBufferPointer<UInt8>, message: UnsafeBufferPointer<UInt8>?
    ) -> Admission {
        let bytes = LineBuffer.bytes(ofBody: category.count + (message.map { $0.count + 1 } ?? 0))
        guard !isClosed, limits.admits(level, used: buffer.count, adding: bytes) else {
            refused[level] += 1
            return .refused
        }
        buffer.append(time: time, level: level, isRing: isRing, category: category, message: message)
        taken += 1
        if isWriterIdle || buffer.count >= Self.urgentBytes && !isUrgent {
            isUrgent = buffer.count >= Self.urgentBytes
            isWriterIdle = false
            return .takenFirst(taken)
        }
        return .taken(taken)
    }

    /// Everything that waits, for the writer, in exchange for an empty buffer.
    mutating func take(for empty: LineBuffer) -> (buffer: LineBuffer, taken: UInt64, refused: LogLevelCounts) {
        defer {
            buffer = empty
            refused = LogLevelCounts()
            isUrgent = false
        }
        return (buffer, taken, refused)
    }

    mutating func close() { isClosed = true }
}
