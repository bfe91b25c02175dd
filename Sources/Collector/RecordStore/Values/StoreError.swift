import TelemetryBasics
import WireModel

/// An error of a store.
package struct StoreError: CodedError, FileFailure, Equatable {
    package enum Code: String, Sendable {
        /// No space or no inodes are left.
        case diskFull = "disk-full"
        case io
        case corrupt
        /// A later version made it.
        case newerVersion = "newer-version"
        /// Another process holds the data directory.
        case inUse = "in-use"
        case notFound = "not-found"
        case conflict
        case invalid
        case shuttingDown = "shutting-down"
        /// More requests are waiting than the bounded pipeline accepts.
        case overloaded
        /// A service that keeps data for the collector does not answer, or refuses. What was asked may have been done.
        case unavailable
        /// A commit was sent to the registry, and its result is not known. It may be durable, or never happen, or
        /// happen soon.
        case outcomeUnknown = "outcome-unknown"
        case internalFault = "internal"
    }

    package var code: Code
    /// The text for people: what failed, on which file, with which numbers, and what to do.
    package var message: String
    /// The error of the engine below, as text, if it refused.
    package var cause: String?

    package init(_ code: Code, _ message: String, cause: String? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The code and the text that a client may read.
    package var publicDescription: String { "\(code.rawValue): \(publicMessage)" }

    /// The text that a client may read. Messages of an engine and of system calls name files of this machine, so a
    /// client gets a sentence for the code.
    package var publicMessage: String {
        switch code {
        case .diskFull: "The collector's disk is full."
        case .io: "The collector cannot read or write one of its files. Its log says more."
        case .corrupt: "A file of the collector is damaged. Its log says more."
        case .newerVersion: "A file of the collector was written by a newer version. Its log says more."
        case .outcomeUnknown:
            "It is not known whether the change was made. Look at it, and make it again if it was not."
        case .inUse: "Another process uses the collector's files. Its log says more."
        case .unavailable:
            "A service that keeps data for the collector is not available. The collector's log says more."
        case .internalFault: "The collector has failed. Its log says more."
        case .notFound, .conflict, .invalid, .shuttingDown, .overloaded:
            cause == nil ? message : "The collector failed (\(code.rawValue)). Its log says more."
        }
    }
}

extension StoreError {
    /// The store's word for what the system refused.
    package init(_ error: FileError) { self.init(error.isDiskFull ? .diskFull : .io, "\(error).") }
}
