import FoundationEssentials

/// A record without a number: the rest of its envelope, and its body.
///
/// The queue assigns the number when it commits the record. `serialized(number:)` then makes the bytes, which never
/// change again.
package struct NewRecord: Equatable, Sendable {
    package let stream: StreamName
    package let kind: WireRecordKind
    package let stamp: RecordStamp
    /// The serialized envelope without the number.
    package let envelope: Data

    /// - Parameters:
    ///   - module: the sample module's name; empty for other kinds.
    ///   - application: the bundle id of the program that made it, if that is not the agent itself.
    ///   - context: resource and scope of OTLP's metrics that a device took in; empty for all others.
    package init(
        stream: StreamName, kind: WireRecordKind, module: String = "", stamp: RecordStamp, application: String = "",
        test: Bool = false, context: Data = Data(), body: Data
    ) {
        self.stream = stream
        self.kind = kind
        self.stamp = stamp
        var writer = ProtobufWriter(
            reserving: body.count + context.count + module.utf8.count + application.utf8.count + 64)
        writer.varint(field: RecordField.kind, UInt64(kind.rawValue))
        writer.text(field: RecordField.module, module)
        writer.varint(field: RecordField.wallTime, UInt64(bitPattern: stamp.wallTime))
        if let bootID = stamp.bootID { writer.bytes(field: RecordField.bootID, bootID.data) }
        writer.varint(field: RecordField.timeSinceBoot, stamp.timeSinceBoot)
        writer.varint(field: RecordField.test, test ? 1 : 0)
        writer.text(field: RecordField.application, application)
        writer.bytes(field: RecordField.context, context)
        writer.bytes(field: RecordField.body, body)
        envelope = Data(writer.written)
    }

    /// Makes a queued record new again, to give it another number. Body and times stay the same.
    ///
    /// - Parameter number: its former number.
    /// - Returns: `nil` if the bytes are no such record.
    package init?(requeueing record: Data, stream: StreamName, number: UInt64) {
        // The number is the first field (`serialized`).
        var position = record.startIndex
        guard let header = RecordHeader(scanning: record), header.number == number,
            record.first == UInt8(RecordField.number << 3)
        else {
            return nil
        }
        repeat { position += 1 } while position < record.endIndex && record[position] >= 0x80
        guard position < record.endIndex else { return nil }
        self.init(header: header, stream: stream, envelope: Data(record[(position + 1)...]))
    }

    /// A record that waited without a number.
    /// - Returns: `nil` unless the bytes are an envelope.
    package init?(envelope: Data, stream: StreamName) {
        guard let header = RecordHeader(scanning: Data([UInt8(RecordField.number << 3), 1]) + envelope) else {
            return nil
        }
        self.init(header: header, stream: stream, envelope: envelope)
    }

    private init(header: RecordHeader, stream: StreamName, envelope: Data) {
        self.stream = stream
        kind = WireRecordKind(rawValue: header.kind) ?? .unspecified
        stamp = RecordStamp(wallTime: header.wallTime, bootID: header.bootID, timeSinceBoot: header.timeSinceBoot)
        self.envelope = envelope
    }

    /// The most bytes that a number adds to the envelope.
    package static let numberBytes = 11

    /// The most bytes of the record with its number.
    package var byteCount: Int { envelope.count + Self.numberBytes }

    /// The record's bytes with this number.
    package func serialized(number: UInt64) -> Data {
        var writer = ProtobufWriter(reserving: Self.numberBytes)
        writer.varint(field: RecordField.number, number)
        var record = Data(capacity: byteCount)
        record.append(contentsOf: writer.written)
        record.append(envelope)
        return record
    }
}

/// The field numbers of `Record` in telemetry.proto.
enum RecordField {
    static let number = 1
    static let kind = 2
    static let module = 3
    static let wallTime = 4
    static let bootID = 5
    static let timeSinceBoot = 6
    static let test = 7
    static let application = 8
    static let context = 9
    static let body = 15
}

/// The time of a record by the device's clocks.
package struct RecordStamp: Equatable, Sendable {
    /// The wall clock in microseconds since 1970-01-01T00:00:00Z. It may be wrong.
    package var wallTime: Int64
    /// `nil` if the system has none.
    package var bootID: BootID?
    /// Microseconds since boot, including suspend.
    package var timeSinceBoot: UInt64

    package init(wallTime: Int64, bootID: BootID?, timeSinceBoot: UInt64) {
        self.wallTime = wallTime
        self.bootID = bootID
        self.timeSinceBoot = timeSinceBoot
    }
}
