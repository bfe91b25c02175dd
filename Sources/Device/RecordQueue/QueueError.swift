import Glibc
import SQLite
import TelemetryBasics

/// What the queue could not do. `code` is what a program decides by; the message is for people and holds no data of a
/// person.
package struct QueueError {
    package enum Code: String, Sendable, CaseIterable {
        /// Another process (or another queue of this one) holds the directory.
        case inUse = "in-use"
        /// The disk has no more space or inodes to give, or only what is to be kept free.
        case diskFull = "disk-full"
        /// The queue is at its own cap and holds nothing that may go in favour of the record.
        case capReached = "cap-reached"
        /// The writer's bounded buffer is full: records come faster than the disk takes them.
        case bufferFull = "buffer-full"
        /// A record over `WireLimits.recordBytes`.
        case tooLarge = "too-large"
        /// The file contradicts itself, or is no queue.
        case corrupt
        /// The file was written by a newer version.
        case newerVersion = "newer-version"
        case io
        /// Too many epochs have ended in a short time; the message says how long to wait.
        case tooSoon = "too-soon"
        /// The queue was closed.
        case closed
        /// An argument or setting that cannot be.
        case invalid
    }

    package let code: Code
    /// What failed, where, with which numbers, and the remedy.
    package let message: String
    package let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

}

extension QueueError {
    /// Passes queue errors on and gives SQLite's their meaning for the queue.
    init(_ error: any Error) {
        switch error {
        case let error as QueueError:
            self = error
        case let error as FileError:
            self.init(error)
        case let error as SQLiteError:
            switch error.code {
            case .full: self.init(.diskFull, error.message, cause: error)
            case .corrupt, .notADatabase, .constraint:
                self.init(.corrupt, Self.corruptRemedy(error.message), cause: error)
            case .unsupportedVersion: self.init(.newerVersion, error.message, cause: error)
            case .busy, .locked: self.init(.inUse, error.message, cause: error)
            default: self.init(.io, error.message, cause: error)
            }
        default:
            self.init(.io, "\(error)", cause: error)
        }
    }

    static func corrupt(_ file: String, _ finding: String) -> QueueError {
        QueueError(.corrupt, corruptRemedy("\(file): \(finding)."))
    }

    static let closed = QueueError(.closed, "The queue is closed. Open it again.")

    private static let remedy =
        " The file was left as it is. The next start of the agent replaces it with what is readable of it; "
        + "`ws1agent queue repair` does so without an agent."

    private static func corruptRemedy(_ text: String) -> String { text + remedy }

    /// What was found, without what to do: for a file that is replaced by itself.
    var finding: String {
        guard message.hasSuffix(Self.remedy) else { return message }
        let finding = message.dropLast(Self.remedy.count)
        return String(finding.last == "." ? finding.dropLast() : finding)
    }
}

extension QueueError: CodedError, FileFailure {
    package init(_ error: FileError) {
        let remedy = error.denial == nil ? " Check the directory and its file system." : ""
        self.init(error.isDiskFull ? .diskFull : .io, "\(error).\(remedy)", cause: error)
    }
}
