import Glibc
import TelemetryBasics

/// The pages of a database file as they lie on disk, overlaid with those that its WAL has committed. It does not use
/// SQLite, so it can read a file that SQLite refuses.
///
/// Reads one page at a time. It remembers only where in the WAL the newest copy of a page is.
package final class RawPages {
    package let pageBytes: Int

    private let database: Int32
    private let wal: Int32
    /// The offset in the WAL of a page's newest content.
    private let overlay: [UInt32: off_t]
    /// Pages 1...pageCount are read.
    package let pageCount: UInt32

    /// A missing file counts as empty.
    package init(database: String, wal: String, pageBytes: Int) {
        self.pageBytes = pageBytes
        self.database = Self.open(database)
        self.wal = Self.open(wal)
        overlay = WALScan(self.wal, pageBytes: pageBytes).committed
        var status = stat()
        let size = self.database >= 0 && fstat(self.database, &status) == 0 ? Int(status.st_size) : 0
        pageCount = max(UInt32(clamping: (size + pageBytes - 1) / pageBytes), overlay.keys.max() ?? 0)
    }

    private static func open(_ path: String) -> Int32 {
        retryingOnInterrupt { Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }
    }

    deinit {
        if database >= 0 { close(database) }
        if wal >= 0 { close(wal) }
    }

    package var hasCommittedFrames: Bool { !overlay.isEmpty }

    /// Fills `page` with the page's newest content, and with zeros beyond the end.
    /// - Returns: `false` if nothing can be read.
    package func read(_ number: UInt32, into page: inout [UInt8]) -> Bool {
        guard number > 0 else { return false }
        let place = overlay[number].map { (wal, $0) } ?? (database, off_t(number - 1) * off_t(pageBytes))
        guard place.0 >= 0 else { return false }
        let count = page.withUnsafeMutableBytes { bytes in
            retryingOnInterrupt { pread(place.0, bytes.baseAddress, pageBytes, place.1) }
        }
        guard count > 0 else { return false }
        for index in count..<pageBytes { page[index] = 0 }
        return true
    }

    /// The page size in the header of the file or of its WAL; `nil` if neither has a valid one.
    package static func pageBytes(database: String, wal: String) -> Int? {
        func head(_ path: String) -> [UInt8]? {
            let descriptor = open(path)
            guard descriptor >= 0 else { return nil }
            defer { close(descriptor) }
            var head = [UInt8](repeating: 0, count: 32)
            return retryingOnInterrupt({ pread(descriptor, &head, 32, 0) }) == 32 ? head : nil
        }
        func valid(_ size: Int) -> Int? { (512...32_768).contains(size) && size & (size - 1) == 0 ? size : nil }
        if let head = head(database), head.starts(with: "SQLite format 3\0".utf8), let size = valid(head.number16(16)) {
            return size
        }
        guard let head = head(wal), head.number32(0) & ~1 == WALScan.magic else { return nil }
        return valid(Int(head.number32(8)))
    }

    /// Whether the WAL has lost frames that its writer had synced. This is so if a whole transaction and the beginning
    /// of another follow a damaged frame. SQLite reads a WAL only up to the first damaged frame and reports nothing of
    /// the rest. A power cut alone leaves at most one transaction after such a frame, because each transaction is
    /// synced before the next begins.
    package static func hasLostFrames(wal path: String, pageBytes: Int) -> Bool {
        let wal = open(path)
        guard wal >= 0 else { return false }
        defer { close(wal) }
        return WALScan(wal, pageBytes: pageBytes).hasLostFrames
    }
}

/// The valid frames of a WAL (sqlite.org/fileformat2.html, section 4).
///
/// SQLite stops at the first frame with a wrong checksum. But each frame's checksum continues from that of the frame
/// before, which is stored in its header. So frames after a damaged one can still be verified, and what they committed
/// is not lost. Frames of an earlier use of the file have other salts.
struct WALScan {
    static let magic: UInt32 = 0x377F_0682
    private static let headerBytes = 32
    private static let frameHeaderBytes = 24

    /// The offset of each page's newest committed content.
    private(set) var committed: [UInt32: off_t] = [:]
    /// See `RawPages.hasLostFrames`.
    private(set) var hasLostFrames = false

    init(_ wal: Int32, pageBytes: Int) {
        func read(_ bytes: inout [UInt8], at place: Int) -> Bool {
            bytes.withUnsafeMutableBytes { bytes in
                retryingOnInterrupt { pread(wal, bytes.baseAddress, bytes.count, off_t(place)) } == bytes.count
            }
        }
        var header = [UInt8](repeating: 0, count: Self.headerBytes)
        guard wal >= 0, read(&header, at: 0) else { return }
        var frame = [UInt8](repeating: 0, count: Self.frameHeaderBytes + pageBytes)
        let magic = header.number32(0)
        let isWhole = magic & ~1 == Self.magic && header.number32(8) == UInt32(pageBytes)
        // Without the header, the first frame defines what the others are checked against. SQLite itself reads none of
        // them.
        guard isWhole || read(&frame, at: Self.headerBytes) else { return }
        let salts = isWhole ? Array(header[16..<24]) : Array(frame[8..<16])
        let isBig = isWhole && magic & 1 == 1
        var pending: [UInt32: off_t] = [:]
        var prior: (UInt32, UInt32)? = isWhole ? (header.number32(24), header.number32(28)) : nil
        var hasDamage = !isWhole
        var commitsBehindDamage = 0
        var place = off_t(Self.headerBytes)
        while read(&frame, at: Int(place)) {
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

extension [UInt8] {
    /// Four bytes, big-endian.
    package func number32(_ offset: Int) -> UInt32 {
        UInt32(self[offset]) << 24 | UInt32(self[offset + 1]) << 16 | UInt32(self[offset + 2]) << 8
            | UInt32(self[offset + 3])
    }

    package func number16(_ offset: Int) -> Int { Int(self[offset]) << 8 | Int(self[offset + 1]) }

    /// SQLite's variable-length integer: seven bits per byte, most significant first, all eight bits of the ninth byte.
    /// - Returns: `nil` if it extends beyond `end`.
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

/// The rows on leaf pages of tables and the keys on pages of indexes, wherever such a page lies. Interior pages, the
/// schema and the free list are not used, so damage to them loses no rows. Any bytes give rows or none, never a trap.
package struct RawRows {
    private let pages: RawPages
    private let greatestPayload: Int
    private var page: [UInt8]
    private var overflow: [UInt8]

    private static let tableLeaf: UInt8 = 0x0D
    private static let indexLeaf: UInt8 = 0x0A
    private static let indexInterior: UInt8 = 0x02

    /// - Parameter greatestPayload: the greatest size of a row: its columns and SQLite's header.
    package init(_ pages: RawPages, greatestPayload: Int) {
        self.pages = pages
        self.greatestPayload = greatestPayload
        page = [UInt8](repeating: 0, count: pages.pageBytes)
        overflow = page
    }

    /// Calls `visit` with the row id and the columns of every row.
    package mutating func forEach<E: Error>(_ visit: (Int64, RawRow) throws(E) -> Void) throws(E) {
        try forEachCell(of: [Self.tableLeaf]) { (offset: Int, rows: inout RawRows) throws(E) in
            if let (id, row) = rows.row(at: offset) { try visit(id, row) }
        }
    }

    /// Calls `visit` with the columns of every key of an index. Tables without row ids are stored as indexes too.
    package mutating func forEachKey<E: Error>(_ visit: (RawRow) throws(E) -> Void) throws(E) {
        try forEachCell(of: [Self.indexLeaf, Self.indexInterior]) { (offset: Int, rows: inout RawRows) throws(E) in
            if let row = rows.key(at: offset) { try visit(row) }
        }
    }

    private mutating func forEachCell<E: Error>(of types: [UInt8], _ visit: (Int, inout RawRows) throws(E) -> Void)
        throws(E)
    {
        var number: UInt32 = 0
        while number < pages.pageCount {
            number += 1
            guard pages.read(number, into: &page) else { continue }
            // The first page begins with the file's header.
            let start = number == 1 ? 100 : 0
            guard types.contains(page[start]) else { continue }
            let isInterior = page[start] == Self.indexInterior
            let cells = start + (isInterior ? 12 : 8)
            let count = page.number16(start + 3)
            guard cells + count * 2 <= page.count else { continue }
            for cell in 0..<count {
                // On an interior page, a cell begins with the number of the page below.
                try visit(page.number16(cells + cell * 2) + (isInterior ? 4 : 0), &self)
            }
        }
    }

    private mutating func row(at offset: Int) -> (Int64, RawRow)? {
        var position = offset
        guard offset >= 8, let size = page.varint(&position, end: page.count), size > 0,
            size <= UInt64(greatestPayload),
            let id = page.varint(&position, end: page.count),
            let payload = payload(Int(size), at: position, greatestLocal: pages.pageBytes - 35),
            let row = RawRow(payload)
        else { return nil }
        return (Int64(bitPattern: id), row)
    }

    private mutating func key(at offset: Int) -> RawRow? {
        var position = offset
        guard offset >= 8, let size = page.varint(&position, end: page.count), size > 0,
            size <= UInt64(greatestPayload),
            let payload = payload(Int(size), at: position, greatestLocal: (pages.pageBytes - 12) * 64 / 255 - 23)
        else { return nil }
        return RawRow(payload)
    }

    /// Joins the part of a row on its page with the rest on its overflow pages.
    private mutating func payload(_ size: Int, at position: Int, greatestLocal: Int) -> [UInt8]? {
        let usable = pages.pageBytes
        guard size > greatestLocal else {
            return position + size <= page.count ? Array(page[position..<position + size]) : nil
        }
        let least = (usable - 12) * 32 / 255 - 23
        let fitting = least + (size - least) % (usable - 4)
        let local = fitting <= greatestLocal ? fitting : least
        guard position + local + 4 <= page.count else { return nil }
        var payload = Array(page[position..<position + local])
        payload.reserveCapacity(size)
        var next = page.number32(position + local)
        while payload.count < size {
            guard next > 0, next <= pages.pageCount, pages.read(next, into: &overflow) else { return nil }
            next = overflow.number32(0)
            payload.append(contentsOf: overflow[4..<4 + min(usable - 4, size - payload.count)])
        }
        return payload
    }
}

/// One row's columns, in SQLite's record format.
package struct RawRow {
    package enum Column: Equatable {
        case null
        case integer(Int64)
        case bytes(Range<Int>)
        case text(Range<Int>)
        case real
    }

    package let payload: [UInt8]
    package let columns: [Column]

    package init?(_ payload: [UInt8]) {
        var position = 0
        guard let headerSize = payload.varint(&position, end: payload.count), headerSize <= 64,
            Int(headerSize) <= payload.count
        else {
            return nil
        }
        var content = Int(headerSize)
        var columns: [Column] = []
        while position < Int(headerSize) {
            guard let type = payload.varint(&position, end: Int(headerSize)),
                let column = Self.column(type, payload, &content)
            else { return nil }
            columns.append(column)
        }
        guard content == payload.count else { return nil }
        self.payload = payload
        self.columns = columns
    }

    private static func column(_ type: UInt64, _ payload: [UInt8], _ position: inout Int) -> Column? {
        switch type {
        case 0: return .null
        case 1...6:
            let count = [1, 2, 3, 4, 6, 8][Int(type) - 1]
            guard position + count <= payload.count else { return nil }
            var value = Int64(Int8(bitPattern: payload[position]))
            for index in 1..<max(1, count) { value = value << 8 | Int64(payload[position + index]) }
            position += count
            return .integer(value)
        case 7:
            position += 8
            return position <= payload.count ? .real : nil
        case 8, 9: return .integer(Int64(type) - 8)
        case 12...:
            let count = (type - 12) / 2
            guard count <= UInt64(payload.count - min(position, payload.count)) else { return nil }
            let range = position..<position + Int(count)
            position = range.upperBound
            return type.isMultiple(of: 2) ? .bytes(range) : .text(range)
        default: return nil
        }
    }

    package func integer(_ index: Int) -> Int64? {
        if case .integer(let value) = columns[index] { value } else { nil }
    }

    /// A number that must not be negative.
    package func count(_ index: Int) -> UInt64? { integer(index).flatMap { UInt64(exactly: $0) } }

    package func bytes(_ index: Int) -> ArraySlice<UInt8>? {
        if case .bytes(let range) = columns[index] { payload[range] } else { nil }
    }

    package func text(_ index: Int) -> String? {
        if case .text(let range) = columns[index] { String(validating: payload[range], as: UTF8.self) } else { nil }
    }

    package func isNull(_ index: Int) -> Bool { columns[index] == .null }
}
