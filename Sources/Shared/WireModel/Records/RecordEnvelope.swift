import FoundationEssentials

/// The positions of a record's parts, found by scanning its bytes without allocating memory. `RecordHeader` reads their
/// contents.
///
/// Any bytes give an envelope or `nil`, never a trap. Unknown fields of later versions are ignored.
package struct RecordEnvelope: Equatable, Sendable {
    package private(set) var number: UInt64 = 0
    /// The raw value of `RecordKind`. An unknown kind is passed on.
    package private(set) var kind: Int = 0
    package private(set) var wallTime: Int64 = 0
    package private(set) var timeSinceBoot: UInt64 = 0
    package private(set) var test = false
    /// UTF-8. All ranges count from the start of the record's bytes and are empty if the field is missing.
    package private(set) var module: Range<Int> = 0..<0
    /// UTF-8.
    package private(set) var application: Range<Int> = 0..<0
    /// 16 bytes or empty.
    package private(set) var bootID: Range<Int> = 0..<0
    /// Of a record of OTLP that a device made.
    package private(set) var context: Range<Int> = 0..<0
    package private(set) var body: Range<Int> = 0..<0

    /// `nil` if the bytes are not one well-formed `Record` with a number above zero.
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
            case (RecordField.context, .bytes(let range)): context = range
            case (RecordField.body, .bytes(let range)): body = range
            case (RecordField.number...RecordField.context, _), (RecordField.body, _): return nil
            default: continue
            }
        }
        guard scanner.isAtEnd, number > 0 else { return nil }
    }

    /// Whether a device may have made it: any kind but those of OTLP. Of these only metrics that have their context.
    package var mayComeFromDevice: Bool {
        guard let kind = WireRecordKind(rawValue: kind), kind.isMadeByCollectors else { return true }
        return kind == .otlpMetrics && !context.isEmpty
    }

    private static func isText(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool {
        let text = UnsafeRawBufferPointer(rebasing: bytes[range])
        return text.allSatisfy { $0 < 0x80 }
            || String(validating: text, as: UTF8.self) != nil && !CombiningCharacters.areTooMany(in: text)
    }
}

/// A record's envelope. The body is located but not decoded.
package struct RecordHeader: Equatable, Sendable {
    package let number: UInt64
    /// The raw value of `RecordKind`. An unknown kind is passed on.
    package let kind: Int
    package let module: String
    package let wallTime: Int64
    package let bootID: BootID?
    package let timeSinceBoot: UInt64
    package let test: Bool
    package let application: String
    /// The position of the context that the record has itself; empty if there is none.
    package let context: Range<Int>
    /// The body's position in the record's bytes; empty if there is none.
    package let body: Range<Int>

    /// `nil` if the bytes are not one well-formed `Record` with a number above zero.
    package init?(scanning record: Data) {
        guard let header = record.withUnsafeBytes({ Self(scanning: $0) }) else { return nil }
        self = header
    }

    private init?(scanning bytes: UnsafeRawBufferPointer) {
        guard let envelope = RecordEnvelope(scanning: bytes) else { return nil }
        func text(_ range: Range<Int>) -> String {
            String(decoding: UnsafeRawBufferPointer(rebasing: bytes[range]), as: UTF8.self)
        }
        number = envelope.number
        kind = envelope.kind
        module = text(envelope.module)
        wallTime = envelope.wallTime
        bootID = BootID(UnsafeRawBufferPointer(rebasing: bytes[envelope.bootID]))
        timeSinceBoot = envelope.timeSinceBoot
        test = envelope.test
        application = text(envelope.application)
        context = envelope.context
        body = envelope.body
    }

    /// The body's bytes, taken from the scanned record.
    package func body(of record: Data) -> Data {
        record.slice(body)
    }
}

extension Data {
    /// These bytes without copying. Offsets count from the start, whatever the first index is.
    package func slice(_ range: Range<Int>) -> Data {
        self[(startIndex + range.lowerBound)..<(startIndex + range.upperBound)]
    }
}
