import Glibc
import SQLite
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
    /// SQLite's error, if SQLite refused.
    package var cause: SQLiteError?

    package init(_ code: Code, _ message: String, cause: SQLiteError? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The code and the text that a client may read.
    package var publicDescription: String { "\(code.rawValue): \(publicMessage)" }

    /// The text that a client may read. Messages of SQLite and of system calls name files of this machine, so a client
    /// gets a sentence for the code.
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
    /// Somebody truncated a record file to nothing.
    static func emptied(_ partition: Partition) -> StoreError { StoreError(.corrupt, "\(partition.name) is empty.") }

    static func databaseGone(_ path: String) -> StoreError {
        StoreError(
            .io,
            "\(path) was removed or replaced while the collector had it open. Stop the collector, put the file back, and start it again."
        )
    }

    package static func noCollector(_ path: String) -> StoreError {
        if access("\(path)/collector.sqlite", R_OK) != 0,
            let denial = AccessDenial.text("\(path)/collector.sqlite", errno)
        {
            return StoreError(.io, "\(path) cannot be read: \(denial).")
        }
        return StoreError(
            .notFound,
            "\(path) is not a collector's data directory: there is no collector.sqlite, or nothing in it. Start `serve` once."
        )
    }

    /// The store's word for what the system refused.
    package init(_ error: FileError) { self.init(error.isDiskFull ? .diskFull : .io, "\(error).") }

    /// Translates SQLite's error. Its message already names the file and what to do.
    init(_ error: SQLiteError) {
        let code: Code =
            switch error.code {
            case .full: .diskFull
            case .corrupt, .notADatabase: .corrupt
            case .unsupportedVersion: .newerVersion
            case .busy, .locked: .inUse
            case .io, .readOnly, .cannotOpen, .interrupted, .outOfMemory, .pragma: .io
            case .constraint: .conflict
            case .tooBig: .invalid
            case .misuse, .other: .internalFault
            }
        self.init(code, error.message, cause: error)
    }

    /// The value of an expression that throws SQLite's errors, which are translated.
    static func mapping<T>(_ value: @autoclosure () throws(SQLiteError) -> T) throws(StoreError) -> T {
        do { return try value() } catch { throw StoreError(error) }
    }

    /// The same for several statements.
    static func mapping<T>(_ body: () throws(SQLiteError) -> T) throws(StoreError) -> T {
        do { return try body() } catch { throw StoreError(error) }
    }
}
