import Foundation

/// A value that can be a parameter of a statement. It travels in PostgreSQL's binary format with its type, so that SQL
/// needs no cast: `$1` of an `Int` is an `int8`, of a `String` a `text`.
///
/// A column of a smaller integer type accepts an `int8` by an assignment cast. Other types, such as `jsonb`, need a
/// cast in SQL: `$1::jsonb`.
package protocol PostgresEncodable {
    static var postgresType: PostgresType { get }

    /// Appends the value in binary format, all numbers with the highest byte first.
    /// - Returns: false for NULL; nothing is then appended.
    func encodePostgres(into bytes: inout [UInt8]) throws(PostgresError) -> Bool
}

/// A value that can be an element of an array, with NULLs if it is in an `Optional`.
package protocol PostgresScalar: PostgresEncodable {
    static var postgresArrayType: PostgresType { get }
}

extension FixedWidthInteger {
    func appendBigEndian(to bytes: inout [UInt8]) {
        withUnsafeBytes(of: bigEndian) { bytes.append(contentsOf: $0) }
    }
}

extension Int64: PostgresScalar {
    package static var postgresType: PostgresType { .int8 }
    package static var postgresArrayType: PostgresType { .int8Array }

    package func encodePostgres(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        appendBigEndian(to: &bytes)
        return true
    }
}

extension Int: PostgresScalar {
    package static var postgresType: PostgresType { .int8 }
    package static var postgresArrayType: PostgresType { .int8Array }

    package func encodePostgres(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        try Int64(self).encodePostgres(into: &bytes)
    }
}

extension Int32: PostgresScalar {
    package static var postgresType: PostgresType { .int4 }
    package static var postgresArrayType: PostgresType { .int4Array }

    package func encodePostgres(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        appendBigEndian(to: &bytes)
        return true
    }
}

/// A number that is sent as `int8`. PostgreSQL has no unsigned integers, so a number above `Int64.max` is an error.
extension UInt64: PostgresScalar {
    package static var postgresType: PostgresType { .int8 }
    package static var postgresArrayType: PostgresType { .int8Array }

    package func encodePostgres(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        guard let number = Int64(exactly: self) else {
            throw PostgresError(.statement, "A parameter is above 9223372036854775807, which int8 cannot hold.")
        }
        return try number.encodePostgres(into: &bytes)
    }
}

extension Bool: PostgresScalar {
    package static var postgresType: PostgresType { .bool }
    package static var postgresArrayType: PostgresType { .boolArray }

    package func encodePostgres(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        bytes.append(self ? 1 : 0)
        return true
    }
}

extension Double: PostgresScalar {
    package static var postgresType: PostgresType { .float8 }
    package static var postgresArrayType: PostgresType { .float8Array }

    package func encodePostgres(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        bitPattern.appendBigEndian(to: &bytes)
        return true
    }
}

/// A text that is sent as `text`. PostgreSQL refuses a string with U+0000.
extension String: PostgresScalar {
    package static var postgresType: PostgresType { .text }
    package static var postgresArrayType: PostgresType { .textArray }

    package func encodePostgres(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        bytes.append(contentsOf: utf8)
        return true
    }
}

extension Data: PostgresScalar {
    package static var postgresType: PostgresType { .bytea }
    package static var postgresArrayType: PostgresType { .byteaArray }

    package func encodePostgres(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        bytes.append(contentsOf: self)
        return true
    }
}

/// `nil` is NULL of the wrapped type.
extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
    package static var postgresType: PostgresType { Wrapped.postgresType }

    package func encodePostgres(into bytes: inout [UInt8]) throws(PostgresError) -> Bool {
        guard let self else { return false }
        return try self.encodePostgres(into: &bytes)
    }
}

extension Data: PostgresArrayElement {}
