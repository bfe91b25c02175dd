import CSQLite
import Glibc
import TelemetryBasics

/// A refusal by SQLite: on which file, and what to do.
///
/// Programs decide by `code`; `extendedResultCode` is SQLite's own number for the log. Messages contain prepared SQL
/// and the path, never a bound value, because values are personal data.
package struct SQLiteError: Error, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// No space or quota is left, or the page limit is reached. Reading works and, with a preallocated WAL,
        /// deleting too.
        case full
        /// Another connection held the lock for longer than the busy timeout.
        case busy
        /// This process holds the lock itself: a statement is open, or a backup is under way.
        case locked
        /// The file's content contradicts itself.
        case corrupt
        /// The file is no SQLite file, or it belongs to another application.
        case notADatabase
        case readOnly
        case io
        case cannotOpen
        case constraint
        /// A string, blob or row exceeds SQLite's limit.
        case tooBig
        case outOfMemory
        /// A programming error: closed connection, wrong parameter, value out of range.
        case misuse
        /// `interrupt()` was called, or a signal ended a system call. Trying again can help.
        case interrupted
        /// The SQLite library is too old, or a newer program wrote the file.
        case unsupportedVersion
        /// A pragma had no effect; the message names it.
        case pragma
        case other
    }

    package var code: Code
    /// SQLite's extended result code; 0 if SQLite was not called.
    package var extendedResultCode: Int32
    /// The text for people: what failed, on which file, and what to do.
    package var message: String
    /// The operation that failed: `open`, `step INSERT INTO ...`, `commit`.
    package var operation: String

    package init(code: Code, extendedResultCode: Int32 = 0, message: String, operation: String) {
        self.code = code
        self.extendedResultCode = extendedResultCode
        self.message = message
        self.operation = operation
    }

    package var description: String { "SQLite \(code.rawValue) (\(extendedResultCode)): \(message)" }
}

extension SQLiteError.Code {
    /// Maps SQLite's result and the system's error to a code.
    /// - Parameters:
    ///   - result: primary or extended result code.
    ///   - systemError: `errno` of the failed call; 0 if unknown. SQLite reports some full disks as I/O errors.
    init(result: Int32, systemError: Int32) {
        switch result & 0xFF {
        // SQLite does not repeat an interrupted sync, and calls it an I/O error.
        case SQLITE_IOERR where systemError == EINTR, SQLITE_CANTOPEN where systemError == EINTR: self = .interrupted
        case SQLITE_FULL: self = .full
        case SQLITE_BUSY, SQLITE_PROTOCOL: self = .busy
        case SQLITE_LOCKED: self = .locked
        case SQLITE_CORRUPT: self = .corrupt
        case SQLITE_NOTADB, SQLITE_FORMAT: self = .notADatabase
        case SQLITE_READONLY: self = .readOnly
        case SQLITE_IOERR: self = FileError.meansNoRoom(systemError) ? .full : .io
        case SQLITE_CANTOPEN, SQLITE_PERM: self = FileError.meansNoRoom(systemError) ? .full : .cannotOpen
        case SQLITE_CONSTRAINT: self = .constraint
        case SQLITE_TOOBIG: self = .tooBig
        case SQLITE_NOMEM: self = .outOfMemory
        case SQLITE_MISUSE, SQLITE_RANGE: self = .misuse
        case SQLITE_INTERRUPT: self = .interrupted
        default: self = .other
        }
    }

    /// The end of a message: what to do, or what the code means.
    var remedy: String {
        switch self {
        case .full: "Free space or inodes on the file system, or raise the limit."
        case .busy: "Another process or connection holds it: try again, or end that process."
        case .locked: "Finish the statements of this process that still read it."
        // What to do depends on the file, so the file's owner says it.
        case .corrupt: "The file is damaged."
        case .notADatabase: "The file is damaged, or it is not this program's."
        case .readOnly:
            "Check the owner and mode of the file and its directory, and whether the file system is mounted read-only."
        case .io: "Check the storage device and the system's log."
        case .cannotOpen: "Check that the directory exists and may be written by this user."
        case .constraint: "The row contradicts the schema; nothing was changed."
        case .tooBig: "Split the value."
        case .outOfMemory: "Free memory."
        case .misuse: "This is a defect in the program."
        case .interrupted: "It was asked to stop, or a signal interrupted it: try again."
        case .unsupportedVersion: "Use the version that wrote the file, or a newer one."
        case .pragma: "Check the library's build options and the file system."
        case .other: "See the code."
        }
    }
}

extension SQLiteError {
    /// The error of the last call on `database`.
    static func of(_ database: OpaquePointer?, result: Int32, operation: String, path: String) -> SQLiteError {
        var extended = result
        var systemError: Int32 = 0
        var text = String(cString: sqlite3_errstr(result))
        if let database {
            // The handle holds the error of its last call. It is used only if it belongs to this result.
            let last = sqlite3_extended_errcode(database)
            if last & 0xFF == result & 0xFF {
                extended = last
                text = String(cString: sqlite3_errmsg(database))
            }
            if [SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_FULL].contains(result & 0xFF) {
                systemError = sqlite3_system_errno(database)
            }
        }
        let code = Code(result: extended, systemError: systemError)
        let system = systemError == 0 ? "" : ", \(String(cString: strerror(systemError)))"
        return SQLiteError(
            code: code, extendedResultCode: extended,
            message: "\(operation) failed on \(path): \(text)\(system). \(code.remedy)", operation: operation)
    }

    static func misuse(_ text: String, operation: String, path: String) -> SQLiteError {
        SQLiteError(
            code: .misuse, extendedResultCode: SQLITE_MISUSE,
            message: "\(operation) on \(path): \(text). \(Code.misuse.remedy)",
            operation: operation)
    }
}
