import FoundationEssentials

/// A record's envelope without its body, which is not decoded, only delimited.
package struct RecordHeader: Equatable, Sendable {
    package let number: UInt64
    /// The raw value of `RecordKind`; one this version does not know is carried on.
    package let kind: Int
    package let module: String
    package let wallTime: Int64
    package let bootID: BootID?
    package let timeSinceBoot: UInt64
    package let test: Bool
    package let application: String
    /// Where the body lies in the record's bytes, counted from their start; empty where there is none.
    package let body: Range<Int>

    /// `nil` unless the bytes are one well-formed `Record` with a number above zero.
    package init?(scanning record: Data) {
        guard let header = record.withUnsafeBytes({ Self(scanning: $0) }) else { return nil }
        self = header
    }

    private init?(scanning bytes: UnsafeRawBufferPointer) {
        guard let envelope = RecordEnvelope(scanning: bytes) else { return nil }
        func text(_ range: Range<Int>) -> String { String(decoding: UnsafeRawBufferPointer(rebasing: bytes[range]), as: UTF8.self) }
        number = envelope.number
        kind = envelope.kind
        module = text(envelope.module)
        wallTime = envelope.wallTime
        bootID = BootID(UnsafeRawBufferPointer(rebasing: bytes[envelope.bootID]))
        timeSinceBoot = envelope.timeSinceBoot
        test = envelope.test
        application = text(envelope.application)
        body = envelope.body
    }

    /// The body's bytes within the record it was scanned from.
    package func body(of record: Data) -> Data {
        record.slice(body)
    }
}
