/// The rows on the leaf pages of tables, wherever such a page lies: interior pages, the schema and the list of free pages are not asked, so
/// none of them can take rows along. Any bytes give rows or none, never a trap.
struct RawRows {
    private let pages: RawPages
    private var page = [UInt8](repeating: 0, count: RawPages.pageBytes)
    private var overflow = [UInt8](repeating: 0, count: RawPages.pageBytes)

    private static let tableLeaf: UInt8 = 0x0D
    /// No row of a queue is larger: a record, its columns and SQLite's header.
    private static let greatestPayload = 300 << 10

    init(_ pages: RawPages) {
        self.pages = pages
    }

    /// Calls `visit` with the row id and the columns of every row found.
    mutating func forEach(_ visit: (Int64, RawRow) throws -> Void) rethrows {
        var number: UInt32 = 0
        while number < pages.pageCount {
            number += 1
            guard pages.read(number, into: &page) else { continue }
            // The first page begins with the file's header.
            let start = number == 1 ? 100 : 0
            guard page[start] == Self.tableLeaf else { continue }
            let count = page.number16(start + 3)
            guard start + 8 + count * 2 <= page.count else { continue }
            for cell in 0..<count {
                guard let (id, row) = row(at: page.number16(start + 8 + cell * 2)) else { continue }
                try visit(id, row)
            }
        }
    }

    private mutating func row(at offset: Int) -> (Int64, RawRow)? {
        var position = offset
        guard offset >= 8, let size = page.varint(&position, end: page.count), size > 0, size <= Self.greatestPayload,
            let id = page.varint(&position, end: page.count), let payload = payload(Int(size), at: position),
            let row = RawRow(payload)
        else { return nil }
        return (Int64(bitPattern: id), row)
    }

    /// What of a row lies on its page, and the rest from its overflow pages.
    private mutating func payload(_ size: Int, at position: Int) -> [UInt8]? {
        let usable = RawPages.pageBytes
        let greatestLocal = usable - 35
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
struct RawRow {
    enum Column: Equatable {
        case null
        case integer(Int64)
        case bytes(Range<Int>)
        case text(Range<Int>)
        case real
    }

    let payload: [UInt8]
    let columns: [Column]

    init?(_ payload: [UInt8]) {
        var position = 0
        guard let headerSize = payload.varint(&position, end: payload.count), headerSize <= 64, Int(headerSize) <= payload.count else {
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

    func integer(_ index: Int) -> Int64? {
        if case .integer(let value) = columns[index] { value } else { nil }
    }

    /// A number that is never negative.
    func count(_ index: Int) -> UInt64? { integer(index).flatMap { UInt64(exactly: $0) } }

    func bytes(_ index: Int) -> ArraySlice<UInt8>? {
        if case .bytes(let range) = columns[index] { payload[range] } else { nil }
    }

    func text(_ index: Int) -> String? {
        if case .text(let range) = columns[index] { String(validating: payload[range], as: UTF8.self) } else { nil }
    }

    func isNull(_ index: Int) -> Bool { columns[index] == .null }
}
