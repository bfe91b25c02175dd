import FoundationEssentials
import Glibc
import WireModel

/// What can go wrong with a log store.
public struct LogStoreError: Error, Sendable, CustomStringConvertible {
    /// What kind of thing went wrong.
    public enum Code: String, Sendable {
        /// A value is out of its range; nothing was done.
        case invalid
        /// The disk or a quota is full.
        case diskFull
        /// A file could not be read or written.
        case io
        /// A file is not what was written.
        case damaged
        /// Written by a newer version.
        case newer
        /// Another process is doing it.
        case busy
        /// Something of that name is there already.
        case exists
        /// Nothing of that name, or no store, is there.
        case notFound
        /// The network is not one over which logs may go now; they stay.
        case networkNotAllowed
    }

    /// Its meaning never changes.
    public let code: Code
    /// What failed, on what, and what to do.
    public let message: String
    /// What the system said.
    public let cause: (any Error)?

    /// - Parameter message: what failed, on what, and what to do.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// Code and message, on one line.
    public var description: String { "\(code.rawValue): \(message)" }
}

extension LogStoreError {
    /// A failed system call, sorted by what it means for the caller.
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
