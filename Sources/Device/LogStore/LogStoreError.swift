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
