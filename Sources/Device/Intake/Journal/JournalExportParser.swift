/// Takes entries out of the journal export format, in whatever pieces its bytes come.
///
/// A field is `NAME=value` and a line end, or a name, a line end, a size of 8 bytes (little-endian), so many bytes and
/// a line end. An empty line ends an entry. Pure, and its memory is bounded whatever comes: values over the limits are
/// cut and counted, and what is not of the format stops it, because nobody knows where the next entry would begin.
struct JournalExportParser: Equatable, Sendable {
    struct Limits: Equatable, Sendable {
        /// Bytes of a value.
        var fieldBytes = 32_768
        /// Bytes of all values of an entry.
        var entryBytes = 1 << 20
        /// Kept fields of an entry.
        var fields = 256
    }

    struct Field: Equatable, Sendable {
        var name: String
        /// Any bytes, also no UTF-8.
        var value: [UInt8] = []
        /// Bytes behind `value` that were not kept.
        var leftOutBytes: UInt64 = 0
    }

    struct Entry: Equatable, Sendable {
        /// In their order; a name may come more than once.
        var fields: [Field] = []
        /// Fields that were not kept: too many, without a name, or with one that is too long.
        var leftOutFields = 0

        /// The first value of that name.
        subscript(_ name: String) -> Field? { fields.first { $0.name == name } }
    }

    /// What is not of the format. Nothing is read behind it.
    enum Fault: Equatable, Sendable {
        /// No journal has fields of that size.
        case size(UInt64)
        /// The data of that field does not end with a line end.
        case end(field: String)
    }

    private enum State: Equatable, Sendable {
        case name
        case text
        case size(UInt64, bytes: UInt64)
        case data(left: UInt64)
        case dataEnd
    }

    /// journald has names of at most 64 bytes.
    private static let nameBytes = 256
    /// journald refuses a field of more than 768 MiB.
    private static let largestField: UInt64 = 1 << 30

    private(set) var fault: Fault?
    private let limits: Limits
    private let wanted: Set<[UInt8]>?
    private var state = State.name
    private var name: [UInt8] = []
    private var isNameCut = false
    /// The field that is read; `nil` if it is not kept.
    private var field: Field?
    private var open = Entry()
    private var openBytes = 0
    /// The entry has begun, though perhaps with fields that are not kept.
    private var hasBegun = false

    /// - Parameter wanted: names of the fields to keep; `nil` keeps all. Others are passed by and not counted.
    init(wanted: Set<String>? = nil, limits: Limits = Limits()) {
        self.wanted = wanted.map { Set($0.map { Array($0.utf8) }) }
        self.limits = limits
    }

    /// - Parameter entry: receives each entry that is complete.
    mutating func add(_ bytes: UnsafeRawBufferPointer, entry: (Entry) -> Void) {
        var used = 0
        while used < bytes.count, fault == nil {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[used...])
            switch state {
            case .name: used += addName(rest, entry)
            case .text: used += addText(rest)
            case .size(let size, let count):
                addSize(rest[0], size, count)
                used += 1
            case .data(let left): used += addData(rest, left)
            case .dataEnd:
                if rest[0] == UInt8(ascii: "\n") { endField() } else { fault = .end(field: text(of: name)) }
                used += 1
            }
        }
    }

    /// Nothing follows. An entry that is not complete is dropped; whoever reads asks for it again.
    /// - Returns: whether there was one.
    mutating func finish() -> Bool {
        defer {
            state = .name
            name = []
            isNameCut = false
            field = nil
            endEntry { _ in }
        }
        return hasBegun || state != .name || !name.isEmpty
    }

    private mutating func addName(_ rest: UnsafeRawBufferPointer, _ entry: (Entry) -> Void) -> Int {
        let end = rest.firstIndex { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "\n") }
        let piece = rest[..<(end ?? rest.count)]
        let room = Self.nameBytes - name.count
        name.append(contentsOf: piece.prefix(room))
        if piece.count > room { isNameCut = true }
        guard let end else { return rest.count }
        if rest[end] == UInt8(ascii: "=") {
            beginField()
            state = .text
        } else if name.isEmpty {
            endEntry(entry)
        } else {
            beginField()
            state = .size(0, bytes: 0)
        }
        return end + 1
    }

    private mutating func addText(_ rest: UnsafeRawBufferPointer) -> Int {
        guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else {
            addValue(rest)
            return rest.count
        }
        addValue(UnsafeRawBufferPointer(rebasing: rest[..<end]))
        endField()
        return end + 1
    }

    private mutating func addSize(_ byte: UInt8, _ size: UInt64, _ count: UInt64) {
        let size = size | UInt64(byte) << (8 * count)
        if count < 7 {
            state = .size(size, bytes: count + 1)
        } else if size > Self.largestField {
            fault = .size(size)
        } else {
            state = size == 0 ? .dataEnd : .data(left: size)
        }
    }

    private mutating func addData(_ rest: UnsafeRawBufferPointer, _ left: UInt64) -> Int {
        // At most 2^30, as `addSize` sees to.
        let count = min(rest.count, Int(left))
        addValue(UnsafeRawBufferPointer(rebasing: rest[..<count]))
        let left = left - UInt64(count)
        state = left == 0 ? .dataEnd : .data(left: left)
        return count
    }

    private mutating func beginField() {
        hasBegun = true
        if !isNameCut, !name.isEmpty {
            guard wanted?.contains(name) ?? true else { return }
            if open.fields.count < limits.fields {
                field = Field(name: text(of: name))
                return
            }
        }
        open.leftOutFields += 1
    }

    private mutating func addValue(_ piece: UnsafeRawBufferPointer) {
        guard field != nil else { return }
        // Once a byte was left out, none that follows is kept.
        let room =
            field!.leftOutBytes > 0
            ? 0 : max(0, min(limits.fieldBytes - field!.value.count, limits.entryBytes - openBytes))
        let kept = min(room, piece.count)
        field!.value.append(contentsOf: piece.prefix(kept))
        // A value of text has no size before it, and may go on for ever.
        let (sum, overflow) = field!.leftOutBytes.addingReportingOverflow(UInt64(piece.count - kept))
        field!.leftOutBytes = overflow ? .max : sum
        openBytes += kept
    }

    private mutating func endField() {
        if let field { open.fields.append(field) }
        field = nil
        name.removeAll(keepingCapacity: true)
        isNameCut = false
        state = .name
    }

    private mutating func endEntry(_ entry: (Entry) -> Void) {
        if hasBegun { entry(open) }
        open = Entry()
        openBytes = 0
        hasBegun = false
    }

    private func text(of bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
