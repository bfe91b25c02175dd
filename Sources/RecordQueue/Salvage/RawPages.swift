#if canImport(Glibc)
import Glibc

/// The pages of a queue's file as its bytes lie on disk, with those that its WAL has committed since laid over them. SQLite is not asked.
///
/// Reads a page at a time; what it remembers is where in the WAL the newest copy of a page is.
final class RawPages {
    static let pageBytes = QueueFile.pageBytes

    private let database: Int32
    private let wal: Int32
    /// Page to the place of its content in the WAL.
    private let overlay: [UInt32: off_t]
    /// Pages 1...pageCount are looked at.
    let pageCount: UInt32

    /// Files that are missing are empty.
    init(database: String, wal: String) {
        self.database = open(database, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        self.wal = open(wal, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        overlay = WALScan.committed(self.wal)
        var status = stat()
        let size = self.database >= 0 && fstat(self.database, &status) == 0 ? Int(status.st_size) : 0
        pageCount = max(UInt32(clamping: (size + Self.pageBytes - 1) / Self.pageBytes), overlay.keys.max() ?? 0)
    }

    deinit {
        if database >= 0 { close(database) }
        if wal >= 0 { close(wal) }
    }

    var hasCommittedFrames: Bool { !overlay.isEmpty }

    /// Fills `page` with the newest content of a page, zeros beyond what there is.
    /// - Returns: `false` where nothing can be read.
    func read(_ number: UInt32, into page: inout [UInt8]) -> Bool {
        guard number > 0 else { return false }
        let place = overlay[number].map { (wal, $0) } ?? (database, off_t(number - 1) * off_t(Self.pageBytes))
        guard place.0 >= 0 else { return false }
        let count = page.withUnsafeMutableBytes { pread(place.0, $0.baseAddress, Self.pageBytes, place.1) }
        guard count > 0 else { return false }
        for index in count..<Self.pageBytes { page[index] = 0 }
        return true
    }
}

/// The frames of a WAL that count (sqlite.org/fileformat2.html, section 4).
///
/// SQLite ends at the first frame whose checksum is wrong. Each frame's checksum goes on from that of the frame before, which stands in its
/// header: so a frame behind a damaged one can still be checked, and what was committed by it is not lost.
enum WALScan {
    private static let headerBytes = 32
    private static let frameHeaderBytes = 24

    /// Page to the place of its newest committed content.
    static func committed(_ wal: Int32) -> [UInt32: off_t] {
        var header = [UInt8](repeating: 0, count: headerBytes)
        guard wal >= 0, pread(wal, &header, headerBytes, 0) == headerBytes else { return [:] }
        let magic = header.number32(0)
        guard magic & ~1 == 0x377F_0682, header.number32(8) == UInt32(QueueFile.pageBytes) else { return [:] }
        let isBig = magic & 1 == 1
        let salts = Array(header[16..<24])
        var overlay: [UInt32: off_t] = [:]
        var pending: [UInt32: off_t] = [:]
        var prior: (UInt32, UInt32)? = (header.number32(24), header.number32(28))
        var frame = [UInt8](repeating: 0, count: frameHeaderBytes + QueueFile.pageBytes)
        var place = off_t(headerBytes)
        while pread(wal, &frame, frame.count, place) == frame.count {
            defer { place += off_t(frame.count) }
            guard Array(frame[8..<16]) == salts else { break }
            let stored = (frame.number32(16), frame.number32(20))
            let number = frame.number32(0)
            if let prior, number > 0, checksum(frame, after: prior, isBig: isBig) == stored {
                pending[number] = place + off_t(frameHeaderBytes)
                if frame.number32(4) != 0 {
                    overlay.merge(pending) { $1 }
                    pending = [:]
                }
            }
            prior = stored
        }
        return overlay
    }

    private static func checksum(_ frame: [UInt8], after prior: (UInt32, UInt32), isBig: Bool) -> (UInt32, UInt32) {
        var (first, second) = prior
        func add(_ range: Range<Int>) {
            frame.withUnsafeBytes { bytes in
                for offset in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
                    let left = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                    let right = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                    first = first &+ (isBig ? UInt32(bigEndian: left) : UInt32(littleEndian: left)) &+ second
                    second = second &+ (isBig ? UInt32(bigEndian: right) : UInt32(littleEndian: right)) &+ first
                }
            }
        }
        add(0..<8)
        add(frameHeaderBytes..<frame.count)
        return (first, second)
    }
}
#endif

extension [UInt8] {
    /// Four bytes, big-endian.
    func number32(_ offset: Int) -> UInt32 {
        UInt32(self[offset]) << 24 | UInt32(self[offset + 1]) << 16 | UInt32(self[offset + 2]) << 8 | UInt32(self[offset + 3])
    }

    func number16(_ offset: Int) -> Int { Int(self[offset]) << 8 | Int(self[offset + 1]) }

    /// SQLite's variable-length integer: seven bits a byte, the most significant first, all eight of the ninth.
    /// - Returns: `nil` where it runs over `end`.
    func varint(_ offset: inout Int, end: Int) -> UInt64? {
        var value: UInt64 = 0
        for index in 0..<9 {
            guard offset < end else { return nil }
            let byte = self[offset]
            offset += 1
            if index == 8 { return value << 8 | UInt64(byte) }
            value = value << 7 | UInt64(byte & 0x7F)
            if byte < 0x80 { return value }
        }
        return value
    }
}
