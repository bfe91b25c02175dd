#if canImport(Glibc)
/// The rows on the leaf pages of tables, and the keys on the pages of indexes, wherever such a page lies: interior
/// pages of tables, the schema and the list of free pages are not asked, so none of them can take rows along. Any
/// bytes give rows or none, never a trap.
package struct RawRows {
    private let pages: RawPages
    private let greatestPayload: Int
    private var page: [UInt8]
    private var overflow: [UInt8]

    private static let tableLeaf: UInt8 = 0x0D
    private static let indexLeaf: UInt8 = 0x0A
    private static let indexInterior: UInt8 = 0x02

    /// - Parameter greatestPayload: no row is larger: a row's columns and SQLite's header.
    package init(_ pages: RawPages, greatestPayload: Int) {
        self.pages = pages
        self.greatestPayload = greatestPayload
        page = [UInt8](repeating: 0, count: pages.pageBytes)
        overflow = page
    }

    /// Calls `visit` with the row id and the columns of every row found.
    package mutating func forEach<E: Error>(_ visit: (Int64, RawRow) throws(E) -> Void) throws(E) {
        try forEachCell(of: [Self.tableLeaf]) { (offset: Int, rows: inout RawRows) throws(E) in
            if let (id, row) = rows.row(at: offset) { try visit(id, row) }
        }
    }

    /// Calls `visit` with the columns of every key found: of indexes, and of tables without a row id, which lie as
    /// indexes do.
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
                // On an interior page the number of the page below it comes first.
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

    /// What of a row lies on its page, and the rest from its overflow pages.
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

    /// A number that is never negative.
    package func count(_ index: Int) -> UInt64? { integer(index).flatMap { UInt64(exactly: $0) } }

    package func bytes(_ index: Int) -> ArraySlice<UInt8>? {
        if case .bytes(let range) = columns[index] { payload[range] } else { nil }
    }

    package func text(_ index: Int) -> String? {
        if case .text(let range) = columns[index] { String(validating: payload[range], as: UTF8.self) } else { nil }
    }

    package func isNull(_ index: Int) -> Bool { columns[index] == .null }
}
#endif
