import CSQLite

extension Connection {
    /// The first column of the pragma's first row; nil where it has none.
    package func pragma(_ name: String) throws(SQLiteError) -> String? {
        try checkPragmaName(name)
        let statement = try prepare("PRAGMA \(name)")
        return try statement.step() ? statement.optionalString(0) : nil
    }

    /// Sets a pragma and reads it back.
    /// - Parameter value: a number or a bare word.
    /// - Throws: `.pragma` naming it, where the value read back is another.
    package func setPragma(_ name: String, to value: String) throws(SQLiteError) {
        try checkPragmaName(name)
        guard !value.isEmpty, value.utf8.allSatisfy({ Connection.isWord($0) || $0 == UInt8(ascii: "-") }) else {
            throw .misuse("a number or a word is expected as value of pragma \(name)", operation: "pragma", path: path)
        }
        try execute("PRAGMA \(name) = \(value)")
        let actual = try pragma(name)
        guard actual?.lowercased() == value.lowercased() else {
            throw SQLiteError(
                code: .pragma,
                message: "pragma \(name) on \(path) is \(actual ?? "absent") after it was set to \(value). "
                    + SQLiteError.Code.pragma.remedy,
                operation: "pragma \(name)")
        }
    }

    package func setPragma(_ name: String, to value: Int) throws(SQLiteError) {
        try setPragma(name, to: String(value))
    }

    /// The schema version that the file's owner keeps in the file's head.
    package var userVersion: Int32 {
        get throws(SQLiteError) { Int32(try pragma("user_version") ?? "") ?? 0 }
    }

    package func setUserVersion(_ version: Int32) throws(SQLiteError) {
        try setPragma("user_version", to: Int(version))
    }

    /// Sets what the options ask for, in the order SQLite needs: what decides how the file is locked, then whether it is ours to
    /// touch, then what can only be set while it is empty.
    func setUp(inMemory: Bool) throws(SQLiteError) {
        try setPragma("busy_timeout", to: options.busyTimeoutMilliseconds)
        if !inMemory { try setPragma("locking_mode", to: options.exclusiveLocking ? "exclusive" : "normal") }
        try checkVersion()
        try setPragma("cell_size_check", to: 1)
        try setPragma("trusted_schema", to: options.trustedSchema ? 1 : 0)
        try setPragma("foreign_keys", to: options.foreignKeys ? 1 : 0)
        try setPragma("temp_store", to: 2)
        try setPragma("secure_delete", to: options.secureDelete ? 1 : 0)
        try setPragma("cache_size", to: -options.cacheKibibytes)
        if !inMemory {
            try setPragma("mmap_size", to: options.mmapBytes)
            if options.mode != .readOnly { try setUpFile() }
        }
        try setPragma("synchronous", to: options.synchronous.rawValue)
        if let maximumPages = options.maximumPages { try setPragma("max_page_count", to: maximumPages) }
    }

    private func setUpFile() throws(SQLiteError) {
        let isEmpty = try pragma("page_count") == "0"
        if isEmpty {
            try setPragma("page_size", to: options.pageSize)
            try setPragma("auto_vacuum", to: options.autoVacuum.rawValue)
        }
        try setPragma("journal_size_limit", to: options.journalSizeLimitBytes)
        try setPragma("journal_mode", to: options.journalMode.rawValue)
        try setPragma("wal_autocheckpoint", to: options.walAutocheckpointPages)
        if let applicationID = options.applicationID, try pragma("application_id") == "0" {
            try setPragma("application_id", to: Int(applicationID))
        }
    }

    /// Refuses a file of a newer program or of another application before anything of it is changed.
    private func checkVersion() throws(SQLiteError) {
        if let maximum = options.maximumUserVersion {
            let version = try userVersion
            guard version <= maximum else {
                throw SQLiteError(
                    code: .unsupportedVersion,
                    message: "\(path) has schema version \(version), this program knows up to \(maximum). "
                        + SQLiteError.Code.unsupportedVersion.remedy,
                    operation: "open")
            }
        }
        if let applicationID = options.applicationID {
            let found = Int32(try pragma("application_id") ?? "") ?? 0
            // Zero and no tables is a file whose making was cut short.
            let schemaVersion = try pragma("schema_version")
            let isUnmarked = found == 0 && schemaVersion == "0"
            guard found == applicationID || isUnmarked else {
                throw SQLiteError(
                    code: .notADatabase,
                    message: "\(path) has application id \(found), not \(applicationID). "
                        + SQLiteError.Code.notADatabase.remedy,
                    operation: "open")
            }
        }
    }

    private func checkPragmaName(_ name: String) throws(SQLiteError) {
        guard !name.isEmpty, name.utf8.allSatisfy(Connection.isWord) else {
            throw .misuse("a pragma's name is letters and underscores", operation: "pragma", path: path)
        }
    }

    private static func isWord(_ character: UInt8) -> Bool {
        switch character {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
