extension Connection {
    package enum Mode: Sendable {
        /// Reads and writes; the file is made if it is missing.
        case create
        case readWrite
        case readOnly
    }

    /// When SQLite waits for the disk. `full` is the promise "committed is on disk" in WAL mode; `extra` also syncs the
    /// directory after a rollback journal is deleted; `normal` may lose the last transactions at a power cut; `off` is for
    /// files that may be thrown away.
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
        /// Pages are given back by `PRAGMA incremental_vacuum(n)` when the owner says so. Decided when the file is made.
        case incremental = 2
    }

    /// How a connection is set up. Everything here is read back after opening; what did not take is an error.
    package struct Options: Sendable {
        package var mode: Mode
        package var synchronous: Synchronous
        /// Not set on a read-only connection: that reads whatever the file is.
        package var journalMode: JournalMode
        /// One process, one connection; spares the shared-memory file and its locks. The lock is taken by the opening.
        package var exclusiveLocking: Bool
        /// Bytes, a power of two from 512 to 65,536. Counts only for a file that is made or still empty.
        package var pageSize = 4096
        package var autoVacuum = AutoVacuum.none
        /// After how many pages in the WAL a commit also checkpoints; 0: never by itself.
        package var walAutocheckpointPages = 1000
        /// To how many bytes the WAL (or a kept journal) is cut down after a checkpoint; -1: it is kept as large as it became.
        package var journalSizeLimitBytes = -1
        /// How long a call waits for another connection's lock, 0 to 2,147,483,647 ms; 0: not at all.
        package var busyTimeoutMilliseconds = 5000
        package var cacheKibibytes = 2048
        package var mmapBytes = 0
        /// The most pages the file may have; nil: SQLite's own limit. Exceeding it is `.full`.
        package var maximumPages: Int?
        /// Marks the file as ours when it is made; a file with tables and another mark is refused as `.notADatabase`.
        package var applicationID: Int32?
        /// A file whose `user_version` is greater was written by a newer program and is refused as `.unsupportedVersion`,
        /// before anything is changed; nil: not looked at.
        package var maximumUserVersion: Int32?
        package var foreignKeys = true
        /// Whether functions and virtual tables in a schema are trusted: a file may come from elsewhere, so no.
        package var trustedSchema = false
        /// Overwrites deleted content with zeros. Debian's library does so unless told not to, and it costs flash writes.
        package var secureDelete = false
        /// Mode of a file that is made; its WAL and journal take it over.
        package var fileMode: UInt32 = 0o600
        /// Reads a file that nobody can change, without a lock or a file beside it: one in a directory that cannot be written. A WAL beside
        /// it is not looked at, so its owner makes sure that there is none, and no writer. Counts with `Mode.readOnly` only.
        package var immutable = false
        /// Prepared statements kept by `cached(_:)`.
        package var statementCacheCapacity = 64

        package init(
            mode: Mode = .create, synchronous: Synchronous = .full, journalMode: JournalMode = .wal, exclusiveLocking: Bool = false,
            applicationID: Int32? = nil
        ) {
            self.mode = mode
            self.synchronous = synchronous
            self.journalMode = journalMode
            self.exclusiveLocking = exclusiveLocking
            self.applicationID = applicationID
        }
    }
}
