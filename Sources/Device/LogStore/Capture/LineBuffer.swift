import Glibc
import WireModel

/// Lines in memory that wait to be written, one behind the other in one block of memory.
///
/// `@unchecked Sendable`: whoever holds it has it alone; it is handed from the callers' lock to the writer's and back.
final class LineBuffer: @unchecked Sendable {
    struct Line {
        /// Microseconds since 1970.
        let time: Int64
        let level: LogLevel
        let isRing: Bool
        /// From the category on.
        let body: UnsafeRawBufferPointer
    }

    /// What of its memory is kept while nothing waits.
    static let keptBytes = 64 << 10
    private static let headBytes = 16

    /// Bytes that are in use.
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
    ///   - message: escaped; a space is put between the two. `nil`: the category is the whole body.
    func append(
        time: Int64, level: LogLevel, isRing: Bool, category: UnsafeBufferPointer<UInt8>, message: UnsafeBufferPointer<UInt8>?
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

    /// In the order in which they came.
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
        // Memory that one burst needed is not kept for ever.
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
