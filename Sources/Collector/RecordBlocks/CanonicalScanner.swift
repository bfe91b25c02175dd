/// Walks through one message of the protobuf wire format, and stops at the first field that could not be written
/// again from its number and value alone: numbers are as short as they can be, field numbers do not descend, and
/// there are no groups.
struct CanonicalScanner {
    struct Field {
        var number: UInt32
        var kind: FieldKind
        /// The number; of bytes nothing.
        var value: UInt64
        /// Where the bytes are.
        var range: Range<Int>
    }

    private let bytes: UnsafeBufferPointer<UInt8>
    private let end: Int
    private var position: Int
    private var lastNumber: UInt32 = 0
    private var hasFailed = false

    init(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) {
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    /// Whether the walk reached the end.
    var isAtEnd: Bool { !hasFailed && position == end }

    /// The next field; `nil` at the end, or where the message is not canonical.
    mutating func next() -> Field? {
        guard !hasFailed, position < end else { return nil }
        guard let tag = varint(), tag >> 3 >= UInt64(max(lastNumber, 1)), tag >> 3 < 1 << 29,
            let kind = FieldKind(wireType: UInt8(tag & 7))
        else { return fail() }
        lastNumber = UInt32(tag >> 3)
        var field = Field(number: lastNumber, kind: kind, value: 0, range: position..<position)
        switch kind {
        case .varint:
            guard let value = varint() else { return fail() }
            field.value = value
        case .fixed64, .fixed32:
            let count = kind == .fixed64 ? 8 : 4
            guard end - position >= count else { return fail() }
            for index in 0..<count { field.value |= UInt64(bytes[position + index]) << UInt64(8 * index) }
            position += count
        case .bytes, .message:
            guard let count = varint(), count <= UInt64(end - position) else { return fail() }
            field.range = position..<(position + Int(count))
            position = field.range.upperBound
        }
        return field
    }

    /// Whether these bytes are a canonical message. Its own messages are not looked at.
    static func isMessage(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Bool {
        var scanner = CanonicalScanner(bytes, range)
        while scanner.next() != nil {}
        return scanner.isAtEnd
    }

    private mutating func varint() -> UInt64? {
        guard position < end else { return nil }
        var value = UInt64(bytes[position])
        position += 1
        if value < 0x80 { return value }
        value &= 0x7F
        var shift: UInt64 = 7
        while position < end, shift < 64 {
            let byte = bytes[position]
            position += 1
            if shift == 63, byte > 1 { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return byte == 0 ? nil : value }
            shift += 7
        }
        return nil
    }

    private mutating func fail() -> Field? {
        hasFailed = true
        return nil
    }
}

/// How a field is stored. The raw values are in blocks on disk; all but `message` are protobuf's wire types.
enum FieldKind: UInt8 {
    case varint = 0
    case fixed64 = 1
    case bytes = 2
    /// Bytes that are a message themselves, whose fields are columns.
    case message = 3
    case fixed32 = 5

    /// `nil` for groups and for what protobuf does not have. Bytes may be a message.
    init?(wireType: UInt8) {
        guard wireType != FieldKind.message.rawValue else { return nil }
        self.init(rawValue: wireType)
    }

    var wireType: UInt8 { self == .message ? FieldKind.bytes.rawValue : rawValue }
}
