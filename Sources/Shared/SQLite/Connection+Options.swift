import CSQLite

extension Connection {
    package enum Mode: Sendable {
        /// Reads and writes. Makes the file if it does not exist.
        case create
        case readWrite
        case readOnly
    }

    /// When SQLite waits for the disk. In WAL mode `full` means that a committed transaction is on disk. `extra` also
    /// syncs the directory after deleting a rollback journal. `normal` may lose the last transactions in a power cut.
    /// `off` is for files that may be lost.
    package enum Synchronous: Int, Sendable {
        case off = 0
        case normal = 1
        case full = 2
        case extra = 3
    }

    package enum JournalMode: String, Sendable {
        case wal
        case delete
    }

    package enum AutoVacuum: Int, Sendable {
        case none = 0
        /// Pages are freed by `PRAGMA incremental_vacuum(n)` when the owner asks for it. Decided when the file is made.
        case incremental = 2
    }

    /// The settings of a connection. Each is read back after opening; a setting that did not take effect is an error.
    package struct Options: Sendable {
        package var mode: Mode
        package var synchronous: Synchronous
        /// Not set on a read-only connection, which reads any kind of file.
        package var journalMode: JournalMode
        /// Whether one process with one connection holds the file. This avoids the shared-memory file and its locks.
        /// The lock is acquired at opening.
        package var exclusiveLocking: Bool
        /// Bytes; a power of two from 512 to 65,536. Applies only to a file that is new or empty.
        package var pageSize = 4096
        package var autoVacuum = AutoVacuum.none
        /// Pages in the WAL after which a commit also checkpoints; 0 never does.
        package var walAutocheckpointPages = 1000
        /// The size in bytes to which the WAL or a kept journal is truncated after a checkpoint; -1 keeps its size.
        package var journalSizeLimitBytes = -1
        /// How long a call waits for another connection's lock: 0 (not at all) to 2,147,483,647 ms.
        package var busyTimeoutMilliseconds = 5000
        package var cacheKibibytes = 2048
        package var mmapBytes = 0
        /// The most pages in the file; `nil` uses SQLite's own limit. Exceeding it is `.full`.
        package var maximumPages: Int?
        /// Marks a new file as ours. A file with tables and another mark is refused as `.notADatabase`.
        package var applicationID: Int32?
        /// A file with a greater `user_version` was written by a newer program. It is refused as `.unsupportedVersion`
        /// before anything is changed. `nil` does not check it.
        package var maximumUserVersion: Int32?
        package var foreignKeys = true
        /// Whether functions and virtual tables in a schema are trusted. A file may come from elsewhere, so they are
        /// not.
        package var trustedSchema = false
        /// Overwrites deleted content with zeros. Debian's library does so by default, and it costs flash writes.
        package var secureDelete = false
        /// The mode of a new file. Its WAL and journal get the same.
        package var fileMode: UInt32 = 0o600
        /// Reads a file that nobody can change, without a lock or a second file. Use it for a file in a directory that
        /// cannot be written. A WAL beside the file is ignored, so the owner must make sure that there is neither a WAL
        /// nor a writer. Applies to `Mode.readOnly` only.
        package var immutable = false
        /// The most prepared statements kept by `cached(_:)`.
        package var statementCacheCapacity = 64

        package init(
            mode: Mode = .create, synchronous: Synchronous = .full, journalMode: JournalMode = .wal,
            exclusiveLocking: Bool = false, applicationID: Int32? = nil
        ) {
            self.mode = mode
            self.synchronous = synchronous
            self.journalMode = journalMode
            self.exclusiveLocking = exclusiveLocking
            self.applicationID = applicationID
        }
    }
}

extension Connection {
    /// The first column of the pragma's first row; `nil` if it has none.
    package func pragma(_ name: String) throws(SQLiteError) -> String? {
        try checkPragmaName(name)
        let statement = try prepare("PRAGMA \(name)")
        return try statement.step() ? statement.optionalString(0) : nil
    }

    /// Sets a pragma and reads it back.
    /// - Parameter value: a number or a bare word.
    /// - Throws: `.pragma` with its name if the value read back differs.
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

    /// The owner's schema version in the file's header.
    package var userVersion: Int32 {
        get throws(SQLiteError) { Int32(try pragma("user_version") ?? "") ?? 0 }
    }

    package func setUserVersion(_ version: Int32) throws(SQLiteError) {
        try setPragma("user_version", to: Int(version))
    }

    /// Applies the options in the order that SQLite needs: first how the file is locked, then whether it is ours, then
    /// what can only be set while it is empty.
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

    /// Refuses a file of a newer program or of another application before changing anything.
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
            // Version 0 and no tables: the process that made the file was interrupted.
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
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
