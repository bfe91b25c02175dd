/// What SQLite refused, on which file, and what mends it.
///
/// `code` is what a program decides by; `extendedResultCode` is SQLite's own number for the log. Messages hold SQL as it was
/// prepared and the path, never a bound value: values are data of the person.
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
