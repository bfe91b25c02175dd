import FoundationEssentials

/// Appends protobuf fields; zero and empty values are left out, as proto3 does.
///
/// Only for the record envelope, whose bytes are made once per record on the hot path and in an order that must not change, for fields that
/// the privacy filter replaces, and for what a batch holds beside its records; every other message goes through swift-protobuf.
package struct ProtobufWriter {
    package private(set) var written: [UInt8] = []

    package init(reserving capacity: Int) {
        written.reserveCapacity(capacity)
    }

    mutating func varint(field: Int, _ value: UInt64) {
        guard value != 0 else { return }
        append(UInt64(field << 3))
        append(value)
    }

    mutating func bytes(field: Int, _ value: Data) {
        guard !value.isEmpty else { return }
        append(UInt64(field << 3 | 2))
        append(UInt64(value.count))
        written.append(contentsOf: value)
    }

    mutating func text(field: Int, _ value: String) {
        guard !value.isEmpty else { return }
        append(UInt64(field << 3 | 2))
        append(UInt64(value.utf8.count))
        written.append(contentsOf: value.utf8)
    }

    /// A field that is there whatever its value, as the members of a oneof and `optional` ones are.
    mutating func present(field: Int, bytes value: some Collection<UInt8>) {
        append(UInt64(field << 3 | 2))
        append(UInt64(value.count))
        written.append(contentsOf: value)
    }

    mutating func present(field: Int, varint value: UInt64) {
        append(UInt64(field << 3))
        append(value)
    }

    mutating func present(field: Int, double value: Double) {
        append(UInt64(field << 3 | 1))
        withUnsafeBytes(of: value.bitPattern.littleEndian) { written.append(contentsOf: $0) }
    }

    /// A message whose fields are serialized already, in several pieces.
    package mutating func present(field: Int, pieces: [UnsafeRawBufferPointer]) {
        append(UInt64(field << 3 | 2))
        append(UInt64(pieces.reduce(0) { $0 + $1.count }))
        for piece in pieces { written.append(contentsOf: piece) }
    }

    /// Fields that are serialized already.
    package mutating func raw(_ fields: UnsafeRawBufferPointer) {
        written.append(contentsOf: fields)
    }

    private mutating func append(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            written.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        written.append(UInt8(rest))
    }
}
