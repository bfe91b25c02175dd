/// Where a record's parts lie, found by a scan of its bytes: no memory is asked for, nothing is counted. What it holds is read with `RecordHeader`.
///
/// Any bytes give an envelope or `nil`, never a trap. Fields of later versions are passed over.
package struct RecordEnvelope: Equatable, Sendable {
    package private(set) var number: UInt64 = 0
    /// The raw value of `RecordKind`; one this version does not know is carried on.
    package private(set) var kind: Int = 0
    package private(set) var wallTime: Int64 = 0
    package private(set) var timeSinceBoot: UInt64 = 0
    package private(set) var test = false
    /// UTF-8; empty where there is none, as are all ranges, counted from the start of the record's bytes.
    package private(set) var module: Range<Int> = 0..<0
    /// UTF-8.
    package private(set) var application: Range<Int> = 0..<0
    /// 16 bytes, or none.
    package private(set) var bootID: Range<Int> = 0..<0
    package private(set) var body: Range<Int> = 0..<0

    /// `nil` unless the bytes are one well-formed `Record` with a number above zero.
    package init?(scanning record: UnsafeRawBufferPointer) {
        var scanner = ProtobufScanner(record)
        while let field = scanner.next() {
            switch (field.number, field.value) {
            case (RecordField.number, .varint(let value)): number = value
            case (RecordField.kind, .varint(let value)):
                guard value <= UInt64(Int32.max) else { return nil }
                kind = Int(value)
            case (RecordField.module, .bytes(let range)):
                guard Self.isText(record, range) else { return nil }
                module = range
            case (RecordField.wallTime, .varint(let value)): wallTime = Int64(bitPattern: value)
            case (RecordField.bootID, .bytes(let range)):
                guard range.count == 16 else { return nil }
                bootID = range
            case (RecordField.timeSinceBoot, .varint(let value)): timeSinceBoot = value
            case (RecordField.test, .varint(let value)): test = value != 0
            case (RecordField.application, .bytes(let range)):
                guard Self.isText(record, range) else { return nil }
                application = range
            case (RecordField.body, .bytes(let range)): body = range
            case (RecordField.number...RecordField.application, _), (RecordField.body, _): return nil
            default: continue
            }
        }
        guard scanner.isAtEnd, number > 0 else { return nil }
    }

    private static func isText(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool {
        let text = UnsafeRawBufferPointer(rebasing: bytes[range])
        return text.allSatisfy { $0 < 0x80 }
            || String(validating: text, as: UTF8.self) != nil && !CombiningCharacters.areTooMany(in: text)
    }
}
