import FoundationEssentials

/// A value in SQL text, quoted so that it cannot be anything but a value.
///
/// ClickHouse 18.16 has no parameters of queries over HTTP, so values are part of the text on all engines.
package enum ClickHouseLiteral: Sendable, Hashable {
    case string(String)
    /// Bytes for a comparison with String or FixedString, as `unhex('...')`.
    case bytes([UInt8])
    case unsigned(UInt64)
    case signed(Int64)
    /// `IN` lists.
    case list([ClickHouseLiteral])

    package static func bytes(_ data: Data) -> ClickHouseLiteral { .bytes(Array(data)) }

    /// The SQL text. An empty list is a list with `NULL` alone, which equals nothing.
    package var sql: String {
        switch self {
        case .string(let text): ClickHouseSQL.quoted(text)
        case .bytes(let bytes): ClickHouseSQL.unhex(bytes)
        case .unsigned(let number): "\(number)"
        case .signed(let number): "\(number)"
        case .list(let literals):
            literals.isEmpty ? "(NULL)" : "(" + literals.map(\.sql).joined(separator: ", ") + ")"
        }
    }
}

/// Safe pieces of SQL text.
package enum ClickHouseSQL {
    /// A string literal.
    package static func quoted(_ text: String) -> String { escaped(text, quote: "'") }

    /// The name of a table, column or database.
    package static func identifier(_ name: String) -> String { escaped(name, quote: "`") }

    /// The name of a table that may have its database before it: `database.table`.
    package static func table(_ name: String) -> String {
        name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map { identifier(String($0)) }
            .joined(separator: ".")
    }

    /// An expression with these bytes as its value. Nothing in it needs an escape.
    package static func unhex(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text = Array("unhex('".utf8)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text + "')".utf8, as: UTF8.self)
    }

    /// Puts a literal in the place of each `{name}`.
    ///
    /// - Throws: `configuration` if the text names a parameter that is not given, or does not name one that is.
    package static func filled(_ sql: String, _ parameters: [String: ClickHouseLiteral]) throws(ClickHouseError)
        -> String
    {
        var result = ""
        var used: Set<String> = []
        var rest = sql[...]
        while let open = rest.firstIndex(of: "{") {
            result += rest[..<open]
            guard let close = rest[open...].firstIndex(of: "}") else {
                throw ClickHouseError(.configuration, "the query has a '{' without its '}'")
            }
            let name = String(rest[rest.index(after: open)..<close])
            guard let value = parameters[name] else {
                throw ClickHouseError(.configuration, "the query names the parameter '\(name)', which is not given")
            }
            used.insert(name)
            result += value.sql
            rest = rest[rest.index(after: close)...]
        }
        if let unused = parameters.keys.filter({ !used.contains($0) }).min() {
            throw ClickHouseError(.configuration, "the query does not name the parameter '\(unused)'")
        }
        return result + rest
    }

    /// Escapes what ends a literal or begins an escape, and the characters that a log or a proxy could change.
    private static func escaped(_ text: String, quote: Unicode.Scalar) -> String {
        var result = String.UnicodeScalarView()
        result.append(quote)
        for scalar in text.unicodeScalars {
            switch scalar {
            case quote, "\\": result.append(contentsOf: ["\\", scalar])
            case "\0": result.append(contentsOf: "\\0".unicodeScalars)
            case "\n": result.append(contentsOf: "\\n".unicodeScalars)
            case "\r": result.append(contentsOf: "\\r".unicodeScalars)
            case "\t": result.append(contentsOf: "\\t".unicodeScalars)
            default: result.append(scalar)
            }
        }
        result.append(quote)
        return String(result)
    }
}
