import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// An error of a log store.
public struct LogStoreError: Error, Sendable, CustomStringConvertible {
    /// The kind of an error.
    public enum Code: String, Sendable {
        /// A value is out of range. Nothing was done.
        case invalid
        /// The disk or a quota is full.
        case diskFull
        /// A file could not be read or written.
        case io
        /// A file is not what was written.
        case damaged
        /// A later version wrote the file.
        case newer
        /// Another process is doing this.
        case busy
        /// Something of that name exists already.
        case exists
        /// Nothing of that name exists, or there is no store.
        case notFound
        /// Logs may not be sent over the present network. They stay in the store.
        case networkNotAllowed
    }

    /// The kind of the error. The meaning of a code never changes.
    public let code: Code
    /// What failed, on which file or value, and what to do.
    public let message: String
    /// The error of the system, if there is one.
    public let cause: (any Error)?

    /// - Parameter message: what failed, on which file or value, and what to do.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// Code and message, on one line.
    public var description: String { "\(code.rawValue): \(message)" }
}

extension LogStoreError {
    /// A failed system call, with the code that fits its `errno`.
    /// - Parameter action: what was being done, e.g. `writing`.
    package static func system(_ action: String, _ path: String, errno number: Int32 = Glibc.errno) -> LogStoreError {
        let (code, remedy): (Code, String) =
            switch number {
            case ENOSPC, EDQUOT: (.diskFull, "Make room on the disk.")
            case ENOENT: (.notFound, "Check the path.")
            case EEXIST: (.exists, "Give another name, or remove it.")
            case EACCES, EPERM, EROFS: (.io, "Run as the user whose files these are.")
            default: (.io, "Check the disk.")
            }
        let denial = number == EROFS ? nil : AccessDenial.text(path, number)
        let words = denial.map { "\($0)." } ?? "\(String(cString: strerror(number))) (errno \(number)). \(remedy)"
        return LogStoreError(
            code, "\(action) \(path) failed: \(words)", cause: POSIXErrorCode(rawValue: number).map { POSIXError($0) })
    }
}
