import CSQLite
import FoundationEssentials

/// Values are copied by SQLite unless it says otherwise.
extension Statement {
    package func bind(_ value: Int64, at index: Int32) throws(SQLiteError) {
        try check(sqlite3_bind_int64(pointer, index, value), index)
    }

    package func bind(_ value: Int, at index: Int32) throws(SQLiteError) {
        try bind(Int64(value), at: index)
    }

    /// SQLite's integers are signed: a value above `Int64.max` is `.misuse`, it would come back negative and sort first.
    package func bind(_ value: UInt64, at index: Int32) throws(SQLiteError) {
        guard let signed = Int64(exactly: value) else {
            throw .misuse("an integer above 9,223,372,036,854,775,807 cannot be stored (parameter \(index))", operation: "bind", path: path)
        }
        try bind(signed, at: index)
    }

    package func bind(_ value: Double, at index: Int32) throws(SQLiteError) {
        try check(sqlite3_bind_double(pointer, index, value), index)
    }

    package func bind(_ value: String, at index: Int32) throws(SQLiteError) {
        var value = value
        let result = value.withUTF8 { text -> Int32 in
            guard let base = text.baseAddress else { return sqlite3_bind_text(pointer, index, "", 0, Statement.copied) }
            return base.withMemoryRebound(to: CChar.self, capacity: text.count) {
                sqlite3_bind_text64(pointer, index, $0, UInt64(text.count), Statement.copied, UInt8(SQLITE_UTF8))
            }
        }
        try check(result, index)
    }

    /// No bytes are an empty blob, never NULL.
    package func bind(_ value: UnsafeRawBufferPointer, at index: Int32) throws(SQLiteError) {
        try check(bindBlob(value, at: index, Statement.copied), index)
    }

    package func bind(_ value: [UInt8], at index: Int32) throws(SQLiteError) {
        try check(value.withUnsafeBytes { bindBlob($0, at: index, Statement.copied) }, index)
    }

    package func bind(_ value: Data, at index: Int32) throws(SQLiteError) {
        try check(value.withUnsafeBytes { bindBlob($0, at: index, Statement.copied) }, index)
    }

    package func bindNull(at index: Int32) throws(SQLiteError) {
        try check(sqlite3_bind_null(pointer, index), index)
    }

    /// `bind(nil, at: 1)`
    package func bind(_: _OptionalNilComparisonType, at index: Int32) throws(SQLiteError) {
        try bindNull(at: index)
    }

    /// Other values, and optional ones: nil is NULL.
    package func bind(_ value: (some BindableValue)?, at index: Int32) throws(SQLiteError) {
        if let value { try value.bind(to: self, at: index) } else { try bindNull(at: index) }
    }

    /// All parameters in order; their number has to be the statement's.
    package func bind(_ values: (any BindableValue)?...) throws(SQLiteError) {
        guard values.count == Int(parameterCount) else {
            throw .misuse("\(values.count) values for \(parameterCount) parameters", operation: "bind", path: path)
        }
        for (offset, value) in values.enumerated() {
            if let value { try value.bind(to: self, at: Int32(offset + 1)) } else { try bindNull(at: Int32(offset + 1)) }
        }
    }

    /// Binds a blob without copying it, runs to the end and unbinds it: SQLite does not look at the bytes after that.
    package func run(bindingUncopied bytes: UnsafeRawBufferPointer, at index: Int32) throws(SQLiteError) {
        defer { sqlite3_bind_null(pointer, index) }
        try check(bindBlob(bytes, at: index, nil), index)
        try run()
    }

    /// Tells SQLite to make its own copy before the call returns (its `SQLITE_TRANSIENT`, which C defines as a cast of -1).
    private static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    private func bindBlob(_ bytes: UnsafeRawBufferPointer, at index: Int32, _ destructor: sqlite3_destructor_type?) -> Int32 {
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_bind_zeroblob(pointer, index, 0) }
        return sqlite3_bind_blob64(pointer, index, base, UInt64(bytes.count), destructor)
    }

    private func check(_ result: Int32, _ index: Int32) throws(SQLiteError) {
        guard result == SQLITE_OK else {
            _ = try handle("bind")
            throw failure(result, "bind parameter \(index) of")
        }
    }
}
