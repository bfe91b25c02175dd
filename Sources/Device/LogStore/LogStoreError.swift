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
        /// Lines are encrypted, and their key is not at hand: a passcode was not entered yet, or the device key is
        /// missing. Nothing is damaged; try again when the key is there.
        case locked
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
    /// The text for people: what failed, on which file or value, and what to do.
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

extension LogStoreError: CodedError, FileFailure {
    /// Sorts a failed system call by what it means for the caller.
    package init(_ error: FileError) {
        let (code, remedy): (Code, String) =
            switch error.systemError {
            case let code where FileError.meansNoRoom(code): (.diskFull, "Make room on the disk.")
            case ENOENT: (.notFound, "Check the path.")
            case EEXIST: (.exists, "Give another name, or remove it.")
            case EROFS: (.io, "Run as the user whose files these are.")
            default: (.io, "Check the disk.")
            }
        self.init(
            code, "\(error).\(error.denial == nil ? " \(remedy)" : "")",
            cause: POSIXErrorCode(rawValue: error.systemError).map { POSIXError($0) })
    }
}
