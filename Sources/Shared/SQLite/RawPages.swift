#if canImport(Glibc)
import Glibc

/// The pages of a database file as its bytes lie on disk, with those that its WAL has committed since laid over them.
/// SQLite is not asked, so a file that it refuses can be read too.
///
/// Reads a page at a time; what it remembers is where in the WAL the newest copy of a page is.
package final class RawPages {
    package let pageBytes: Int

    private let database: Int32
    private let wal: Int32
    /// Page to the place of its content in the WAL.
    private let overlay: [UInt32: off_t]
    /// Pages 1...pageCount are looked at.
    package let pageCount: UInt32

    /// Files that are missing are empty.
    package init(database: String, wal: String, pageBytes: Int) {
        self.pageBytes = pageBytes
        self.database = open(database, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        self.wal = open(wal, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        overlay = WALScan(self.wal, pageBytes: pageBytes).committed
        var status = stat()
        let size = self.database >= 0 && fstat(self.database, &status) == 0 ? Int(status.st_size) : 0
        pageCount = max(UInt32(clamping: (size + pageBytes - 1) / pageBytes), overlay.keys.max() ?? 0)
    }

    deinit {
        if database >= 0 { close(database) }
        if wal >= 0 { close(wal) }
    }

    package var hasCommittedFrames: Bool { !overlay.isEmpty }

    /// Fills `page` with the newest content of a page, zeros beyond what there is.
    /// - Returns: `false` where nothing can be read.
    package func read(_ number: UInt32, into page: inout [UInt8]) -> Bool {
        guard number > 0 else { return false }
        let place = overlay[number].map { (wal, $0) } ?? (database, off_t(number - 1) * off_t(pageBytes))
        guard place.0 >= 0 else { return false }
        let count = page.withUnsafeMutableBytes { pread(place.0, $0.baseAddress, pageBytes, place.1) }
        guard count > 0 else { return false }
        for index in count..<pageBytes { page[index] = 0 }
        return true
    }

    /// The size of a page as the head of the file says it, or that of its WAL; `nil` where neither does.
    package static func pageBytes(database: String, wal: String) -> Int? {
        func head(_ path: String) -> [UInt8]? {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { return nil }
            defer { close(descriptor) }
            var head = [UInt8](repeating: 0, count: 32)
            return pread(descriptor, &head, head.count, 0) == head.count ? head : nil
        }
        func valid(_ size: Int) -> Int? { (512...32_768).contains(size) && size & (size - 1) == 0 ? size : nil }
        if let head = head(database), head.starts(with: "SQLite format 3\0".utf8), let size = valid(head.number16(16)) {
            return size
        }
        guard let head = head(wal), head.number32(0) & ~1 == WALScan.magic else { return nil }
        return valid(Int(head.number32(8)))
    }

    /// Whether the WAL has lost what its writer had synced: behind a frame whose bytes are not those that were
    /// written lies a whole transaction, and the beginning of another. SQLite reads a WAL up to the first such frame
    /// and says nothing of those behind it. A power cut alone leaves no more than one transaction behind it: each is
    /// synced before the next begins.
    package static func hasLostFrames(wal path: String, pageBytes: Int) -> Bool {
        let wal = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard wal >= 0 else { return false }
        defer { close(wal) }
        return WALScan(wal, pageBytes: pageBytes).hasLostFrames
    }
}

/// The frames of a WAL that count (sqlite.org/fileformat2.html, section 4).
///
/// SQLite ends at the first frame whose checksum is wrong. Each frame's checksum goes on from that of the frame
/// before, which stands in its header: so a frame behind a damaged one can still be checked, and what was committed
/// by it is not lost. Frames of an earlier use of the file have other salts.
struct WALScan {
    static let magic: UInt32 = 0x377F_0682
    private static let headerBytes = 32
    private static let frameHeaderBytes = 24

    /// Page to the place of its newest committed content.
    private(set) var committed: [UInt32: off_t] = [:]
    /// `RawPages.hasLostFrames`.
    private(set) var hasLostFrames = false

    init(_ wal: Int32, pageBytes: Int) {
        var header = [UInt8](repeating: 0, count: Self.headerBytes)
        guard wal >= 0, pread(wal, &header, Self.headerBytes, 0) == Self.headerBytes else { return }
        var frame = [UInt8](repeating: 0, count: Self.frameHeaderBytes + pageBytes)
        let magic = header.number32(0)
        let isWhole = magic & ~1 == Self.magic && header.number32(8) == UInt32(pageBytes)
        // Without its header the first frame says what the others go by; SQLite then reads none of them.
        guard isWhole || pread(wal, &frame, frame.count, off_t(Self.headerBytes)) == frame.count else { return }
        let salts = isWhole ? Array(header[16..<24]) : Array(frame[8..<16])
        let isBig = isWhole && magic & 1 == 1
        var pending: [UInt32: off_t] = [:]
        var prior: (UInt32, UInt32)? = isWhole ? (header.number32(24), header.number32(28)) : nil
        var hasDamage = !isWhole
        var commitsBehindDamage = 0
        var place = off_t(Self.headerBytes)
        while pread(wal, &frame, frame.count, place) == frame.count {
            defer { place += off_t(frame.count) }
            guard Array(frame[8..<16]) == salts else {
                (prior, hasDamage) = (nil, true)
                continue
            }
            let stored = (frame.number32(16), frame.number32(20))
            let number = frame.number32(0)
            defer { prior = stored }
            guard let prior, number > 0, Self.checksum(frame, after: prior, isBig: isBig) == stored else {
                hasDamage = true
                continue
            }
            pending[number] = place + off_t(Self.frameHeaderBytes)
            if commitsBehindDamage > 0 { hasLostFrames = true }
            if frame.number32(4) != 0 {
                committed.merge(pending) { $1 }
                pending = [:]
                if hasDamage { commitsBehindDamage += 1 }
            }
        }
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
    package func number32(_ offset: Int) -> UInt32 {
        UInt32(self[offset]) << 24 | UInt32(self[offset + 1]) << 16 | UInt32(self[offset + 2]) << 8
            | UInt32(self[offset + 3])
    }

    package func number16(_ offset: Int) -> Int { Int(self[offset]) << 8 | Int(self[offset + 1]) }

    /// SQLite's variable-length integer: seven bits a byte, the most significant first, all eight of the ninth.
    /// - Returns: `nil` where it runs over `end`.
    package func varint(_ offset: inout Int, end: Int) -> UInt64? {
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
