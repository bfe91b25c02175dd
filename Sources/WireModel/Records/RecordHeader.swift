import FoundationEssentials

/// A record's envelope without its body, read by a scan: the body is not decoded, only delimited.
///
/// Any bytes give a header or `nil`, never a trap. Fields of later versions are passed over.
package struct RecordHeader: Equatable, Sendable {
    package private(set) var number: UInt64 = 0
    /// The raw value of `RecordKind`; one this version does not know is carried on.
    package private(set) var kind: Int = 0
    package private(set) var module: String = ""
    package private(set) var wallTime: Int64 = 0
    package private(set) var bootID: BootID?
    package private(set) var timeSinceBoot: UInt64 = 0
    package private(set) var test = false
    package private(set) var application: String = ""
    /// Where the body lies in the record's bytes, counted from their start; empty where there is none.
    package private(set) var body: Range<Int> = 0..<0

    /// `nil` unless the bytes are one well-formed `Record` with a number above zero.
    package init?(scanning record: Data) {
        let valid = record.withUnsafeBytes { bytes -> Bool in
            var scanner = ProtobufScanner(bytes)
            while let field = scanner.next() {
                switch (field.number, field.value) {
                case (RecordField.number, .varint(let value)): number = value
                case (RecordField.kind, .varint(let value)):
                    guard value <= UInt64(Int32.max) else { return false }
                    kind = Int(value)
                case (RecordField.module, .bytes(let range)):
                    guard let text = Self.text(bytes, range) else { return false }
                    module = text
                case (RecordField.wallTime, .varint(let value)): wallTime = Int64(bitPattern: value)
                case (RecordField.bootID, .bytes(let range)):
                    guard let identifier = BootID(UnsafeRawBufferPointer(rebasing: bytes[range])) else { return false }
                    bootID = identifier
                case (RecordField.timeSinceBoot, .varint(let value)): timeSinceBoot = value
                case (RecordField.test, .varint(let value)): test = value != 0
                case (RecordField.application, .bytes(let range)):
                    guard let text = Self.text(bytes, range) else { return false }
                    application = text
                case (RecordField.body, .bytes(let range)): body = range
                case (RecordField.number...RecordField.application, _), (RecordField.body, _): return false
                default: continue
                }
            }
            return scanner.isAtEnd
        }
        guard valid, number > 0 else { return nil }
    }

    /// The body's bytes within the record it was scanned from.
    package func body(of record: Data) -> Data {
        record[(record.startIndex + body.lowerBound)..<(record.startIndex + body.upperBound)]
    }

    private static func text(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> String? {
        String(validating: UnsafeRawBufferPointer(rebasing: bytes[range]), as: UTF8.self)
    }
}
