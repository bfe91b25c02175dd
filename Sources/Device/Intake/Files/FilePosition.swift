import FoundationEssentials
import Glibc

/// How far a file was read, and how it is known again.
///
/// Device and inode alone do not do: an inode is used again within a second. Neither do first bytes: a hundred files
/// may have the same header. So the content itself is compared: the first bytes, and those just before the place to
/// which it was read. A file that was replaced by a longer one differs there.
struct FilePosition: Codable, Equatable, Sendable {
    /// Sums of content that was read.
    struct Mark: Codable, Equatable, Sendable {
        /// Bytes from the beginning.
        var headBytes = 0
        var head: UInt64 = Mark.empty
        /// Bytes before the offset.
        var tailBytes = 0
        var tail: UInt64 = Mark.empty

        static let maximumHeadBytes = 1024
        static let maximumTailBytes = 1024
        private static let empty: UInt64 = 0xCBF2_9CE4_8422_2325

        init() {}

        /// Takes the marks of a file that was read to an offset.
        /// - Returns: `nil` if the file does not reach so far, or cannot be read.
        init?(_ descriptor: Int32, offset: Int) {
            headBytes = min(offset, Self.maximumHeadBytes)
            tailBytes = min(offset, Self.maximumTailBytes)
            guard let head = Self.sum(descriptor, at: 0, headBytes),
                let tail = Self.sum(descriptor, at: offset - tailBytes, tailBytes)
            else { return nil }
            self.head = head
            self.tail = tail
        }

        /// The mark of a file that was read further.
        /// - Parameters:
        ///   - former: the mark at the offset where this read began.
        ///   - bytes: what was read, up to the new offset, and ``leadBytes(_:)`` before the former one.
        ///   - offset: the new one.
        init(after former: Mark, _ bytes: UnsafeRawBufferPointer, offset: Int) {
            self = former
            if bytes.count == offset {
                headBytes = min(offset, Self.maximumHeadBytes)
                head = Self.sum(UnsafeRawBufferPointer(rebasing: bytes.prefix(headBytes)))
            }
            tailBytes = min(offset, Self.maximumTailBytes)
            tail = Self.sum(UnsafeRawBufferPointer(rebasing: bytes.suffix(tailBytes)))
        }

        /// Sets what is before an offset. The first bytes are what they were.
        mutating func setTail(_ bytes: [UInt8]) {
            tailBytes = bytes.count
            tail = bytes.withUnsafeBytes { Self.sum($0) }
        }

        /// - Parameter tail: what is before the offset, more than is compared or as much.
        func isMark(ofHead head: [UInt8], tail: [UInt8]) -> Bool {
            head.count == headBytes && tail.count >= tailBytes
                && head.withUnsafeBytes { Self.sum($0) } == self.head
                && Array(tail.suffix(tailBytes)).withUnsafeBytes { Self.sum($0) } == self.tail
        }

        /// Bytes before an offset that must be read with those behind it, so that the next mark can be made of them.
        static func leadBytes(_ offset: Int) -> Int { min(offset, max(maximumHeadBytes, maximumTailBytes)) }

        private static func sum(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
            bytes.reduce(empty) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        }

        /// The sums of all beginnings of `bytes`: of none, of the first one, of the first two…
        static func sums(_ bytes: some Sequence<UInt8>) -> [UInt64] {
            var sums = [empty]
            for byte in bytes { sums.append((sums.last! ^ UInt64(byte)) &* 0x100_0000_01B3) }
            return sums
        }

        /// Whether a file with these ``sums(_:)`` can begin with what was read. One that is shorter can.
        func canBegin(_ sums: [UInt64]) -> Bool { sums.count <= headBytes || sums[headBytes] == head }

        /// FNV-1a. It need not withstand anybody: who writes the file decides what is read of it anyway.
        private static func sum(_ descriptor: Int32, at offset: Int, _ count: Int) -> UInt64? {
            guard count > 0 else { return empty }
            return withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) { buffer in
                var filled = 0
                while filled < count {
                    let read = pread(descriptor, buffer.baseAddress! + filled, count - filled, off_t(offset + filled))
                    if read < 0, errno == EINTR { continue }
                    guard read > 0 else { return nil }
                    filled += read
                }
                return sum(UnsafeRawBufferPointer(buffer))
            }
        }
    }

    var path: String
    /// Bytes that were read; the next line begins here, or goes on here if it is part of `text`.
    var offset = 0
    var mark = Mark()
    /// Bytes that the file had at the last look.
    var size = 0
    /// The open event; see ``EventAssembler/Open``.
    var text: Data?
    var leftOutBytes = 0
    var isLineOpen = false
    /// The key of the file of which this is a copy made for rotation. It is read on when that one was truncated or
    /// removed.
    var copyOf: String?
    /// The file has another name than when it was found, or is a copy of one. Its writer has begun another file.
    var isRotated = false
    /// The file could not be opened at the first start, which begins at the ends of files: what is before this size is
    /// old.
    var startsAt: Int?
    /// Microseconds since 1970 at which the file was given up, because it was gone. If it comes back, it goes on.
    var gone: Int64?

    /// It is a gzip file, and offset, size and mark are those of what it inflates to. `nil` in positions of before.
    var isCompressed: Bool?

    init(path: String) { self.path = path }

    static func key(device: UInt64, inode: UInt64) -> String { "file \(device) \(inode)" }

    static func key(_ status: stat) -> String {
        key(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    var open: EventAssembler.Open? {
        get {
            text.map { EventAssembler.Open(text: [UInt8]($0), leftOutBytes: leftOutBytes, isLineOpen: isLineOpen) }
        }
        set {
            text = newValue.map { Data($0.text) }
            leftOutBytes = newValue?.leftOutBytes ?? 0
            isLineOpen = newValue?.isLineOpen ?? false
        }
    }

    /// Whether an open file still has the content that was read.
    func isContinued(by descriptor: Int32) -> Bool { Mark(descriptor, offset: offset) == mark }

    /// Moves the position to where a file ends that was read by another name.
    /// - Returns: `false` if the file cannot be read so far.
    mutating func settle(_ descriptor: Int32, at offset: Int) -> Bool {
        guard let mark = Mark(descriptor, offset: offset) else { return false }
        (self.offset, self.mark, size, open) = (offset, mark, offset, nil)
        return true
    }

    var encoded: [UInt8] { (try? JSONEncoder().encode(self)).map { [UInt8]($0) } ?? [] }

    init?(encoded: [UInt8]) {
        guard let position = try? JSONDecoder().decode(FilePosition.self, from: Data(encoded)), position.offset >= 0,
            position.leftOutBytes >= 0
        else { return nil }
        self = position
    }
}
