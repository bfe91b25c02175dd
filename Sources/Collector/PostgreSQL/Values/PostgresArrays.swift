/// A type that an array can consist of. `[Int64]` is an `int8[]`, `[UInt8]` is a `bytea`, `[[UInt8]]` a `bytea[]`.
package protocol PostgresArrayElement {
    static var postgresTypeOfArray: PostgresType { get }

    static func encodePostgresArray(_ elements: [Self], into bytes: inout [UInt8]) throws(PostgresError)
}

extension Array: PostgresEncodable where Element: PostgresArrayElement {
    package static var postgresType: PostgresType { Element.postgresTypeOfArray }

    package func encodePostgres(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        try Element.encodePostgresArray(self, into: &bytes)
        return true
    }
}

extension PostgresArrayElement where Self: PostgresScalar {
    package static var postgresTypeOfArray: PostgresType { postgresArrayType }

    package static func encodePostgresArray(
        _ elements: [Self], into bytes: inout [UInt8]
    ) throws(PostgresError) {
        try appendArray(elements, of: postgresType, to: &bytes)
    }
}

extension Int64: PostgresArrayElement {}
extension Int: PostgresArrayElement {}
extension Int32: PostgresArrayElement {}
extension UInt64: PostgresArrayElement {}
extension Bool: PostgresArrayElement {}
extension Double: PostgresArrayElement {}
extension String: PostgresArrayElement {}

extension UInt8: PostgresArrayElement {
    package static var postgresTypeOfArray: PostgresType { .bytea }

    package static func encodePostgresArray(
        _ elements: [UInt8], into bytes: inout [UInt8]
    ) throws(PostgresError) {
        bytes.append(contentsOf: elements)
    }
}

extension Array: PostgresScalar where Element == UInt8 {
    package static var postgresArrayType: PostgresType { .byteaArray }
}

extension Array: PostgresArrayElement where Element == UInt8 {
    package static var postgresTypeOfArray: PostgresType { .byteaArray }

    package static func encodePostgresArray(
        _ elements: [[UInt8]], into bytes: inout [UInt8]
    ) throws(PostgresError) {
        try appendArray(elements, of: .bytea, to: &bytes)
    }
}

extension Optional: PostgresArrayElement where Wrapped: PostgresScalar {
    package static var postgresTypeOfArray: PostgresType { Wrapped.postgresArrayType }

    package static func encodePostgresArray(
        _ elements: [Wrapped?], into bytes: inout [UInt8]
    ) throws(PostgresError) {
        try appendArray(elements, of: Wrapped.postgresType, to: &bytes)
    }
}

/// Appends an array in the server's binary format (`array_recv`), one dimension, first index 1.
///
/// ```
/// int32 dimensions (0 or 1) | int32 has NULLs | int32 type of an element
/// int32 count | int32 first index                       (not for an empty array)
/// int32 length (-1 for NULL) | bytes                    (each element)
/// ```
private func appendArray<Element: PostgresEncodable>(
    _ elements: [Element], of type: PostgresType, to bytes: inout [UInt8]
) throws(PostgresError) {
    guard let count = Int32(exactly: elements.count) else {
        throw PostgresError(.statement, "A parameter is an array of \(elements.count) elements, which are too many.")
    }
    Int32(elements.isEmpty ? 0 : 1).appendBigEndian(to: &bytes)
    let flag = bytes.count
    Int32(0).appendBigEndian(to: &bytes)
    type.rawValue.appendBigEndian(to: &bytes)
    guard count > 0 else { return }
    count.appendBigEndian(to: &bytes)
    Int32(1).appendBigEndian(to: &bytes)
    for element in elements {
        let start = bytes.count
        Int32(-1).appendBigEndian(to: &bytes)
        guard try element.encodePostgres(into: &bytes) else {
            bytes[flag + 3] = 1
            continue
        }
        guard let length = Int32(exactly: bytes.count - start - 4) else {
            throw PostgresError(.statement, "An element of an array parameter is too long.")
        }
        withUnsafeBytes(of: length.bigEndian) { bytes.replaceSubrange(start..<start + 4, with: $0) }
    }
}
