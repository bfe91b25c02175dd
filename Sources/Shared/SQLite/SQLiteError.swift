import CSQLite
import Glibc

/// What SQLite refused, on which file, and what mends it.
///
/// `code` is what a program decides by; `extendedResultCode` is SQLite's own number for the log. Messages hold SQL as
/// it was prepared and the path, never a bound value: values are data of the person.
package struct SQLiteError: Error, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// No space, no quota, or the page limit is reached. Reading and, with an allocated WAL, deleting still work.
        case full
        /// Another connection holds the lock, longer than the busy timeout.
        case busy
        /// This process holds the lock itself (a statement still open, a backup under way).
        case locked
        /// The file's content contradicts itself.
        case corrupt
        /// The file is not an SQLite file, or it belongs to another application.
        case notADatabase
        case readOnly
        case io
        case cannotOpen
        case constraint
        /// A string, blob or row over SQLite's limit.
        case tooBig
        case outOfMemory
        /// The layer was used wrongly: closed connection, wrong parameter, value out of range.
        case misuse
        case interrupted
        /// The SQLite library is too old, or the file was written by a newer program.
        case unsupportedVersion
        /// A pragma did not take; the message names it.
        case pragma
        case other
    }

    package var code: Code
    /// SQLite's extended result code, 0 where SQLite was not asked.
    package var extendedResultCode: Int32
    /// What failed, on which file, and the remedy.
    package var message: String
    /// What was being done: `open`, `step INSERT INTO ...`, `commit`.
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
    /// The code of a result as SQLite and the system saw it.
    /// - Parameters:
    ///   - result: primary or extended result code.
    ///   - systemError: `errno` of the failed call, 0 where none is known. SQLite reports some full disks as I/O
    ///     errors.
    init(result: Int32, systemError: Int32) {
        switch result & 0xFF {
        case SQLITE_FULL: self = .full
        case SQLITE_BUSY, SQLITE_PROTOCOL: self = .busy
        case SQLITE_LOCKED: self = .locked
        case SQLITE_CORRUPT: self = .corrupt
        case SQLITE_NOTADB, SQLITE_FORMAT: self = .notADatabase
        case SQLITE_READONLY: self = .readOnly
        case SQLITE_IOERR: self = systemError == ENOSPC || systemError == EDQUOT ? .full : .io
        case SQLITE_CANTOPEN, SQLITE_PERM: self = systemError == ENOSPC || systemError == EDQUOT ? .full : .cannotOpen
        case SQLITE_CONSTRAINT: self = .constraint
        case SQLITE_TOOBIG: self = .tooBig
        case SQLITE_NOMEM: self = .outOfMemory
        case SQLITE_MISUSE, SQLITE_RANGE: self = .misuse
        case SQLITE_INTERRUPT: self = .interrupted
        default: self = .other
        }
    }

    /// Ends a message: the remedy, or what the code means.
    var remedy: String {
        switch self {
        case .full: "Free space or inodes on the file system, or raise the limit."
        case .busy: "Another process or connection holds it: try again, or end that process."
        case .locked: "Finish the statements of this process that still read it."
        // What to do differs from file to file: the file's owner says so.
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
        case .interrupted: "The operation was asked to stop; nothing was changed."
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
            // The handle's error is that of the last call; it is taken only where it belongs to this result.
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
