import Encryption
import Glibc
import SQLite
import TelemetryBasics

/// An error of the queue. Programs decide by `code`. The message is for people and contains no personal data.
package struct QueueError {
    package enum Code: String, Sendable, CaseIterable {
        /// Another process, or another queue in this one, holds the directory.
        case inUse = "in-use"
        /// The disk has no more space or inodes, or only the part that must stay free.
        case diskFull = "disk-full"
        /// The queue has reached its own limit and may drop nothing in favour of the record.
        case capReached = "cap-reached"
        /// The writer's buffer is full: records come faster than the disk can write them.
        case bufferFull = "buffer-full"
        /// The record exceeds `WireLimits.recordBytes`.
        case tooLarge = "too-large"
        /// The file contradicts itself, or is no queue.
        case corrupt
        /// A key that sealed records need is not at hand: it is locked, missing or another one. Nothing is lost.
        case keyUnavailable = "key-unavailable"
        /// A newer version wrote the file.
        case newerVersion = "newer-version"
        case io
        /// A signal interrupted a system call. Try again.
        case interrupted
        /// Too many epochs ended in a short time. The message says how long to wait.
        case tooSoon = "too-soon"
        /// The queue was closed.
        case closed
        /// An argument or setting is not valid.
        case invalid
    }

    package let code: Code
    /// The finding: what failed, where and with which numbers; without a full stop if a remedy follows.
    let finding: String
    /// The remedy, as sentences of their own.
    let remedy: String?
    package let cause: (any Error)?

    package init(_ code: Code, _ finding: String, remedy: String? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.finding = finding
        self.remedy = remedy
        self.cause = cause
    }

    package var message: String { remedy.map { "\(finding). \($0)" } ?? finding }
}

extension QueueError {
    /// Passes queue errors on and translates SQLite's.
    init(_ error: any Error) {
        switch error {
        case let error as QueueError:
            self = error
        case let error as FileError:
            self.init(error)
        case let error as EncryptionError:
            self.init(error)
        case let error as SQLiteError:
            switch error.code {
            case .full: self.init(.diskFull, error.message, cause: error)
            case .corrupt, .notADatabase, .constraint:
                let finding = error.message.last == "." ? String(error.message.dropLast()) : error.message
                self.init(.corrupt, finding, remedy: Self.corruptRemedy, cause: error)
            case .unsupportedVersion: self.init(.newerVersion, error.message, cause: error)
            case .busy, .locked: self.init(.inUse, error.message, cause: error)
            case .interrupted: self.init(.interrupted, error.message, cause: error)
            default: self.init(.io, error.message, cause: error)
            }
        default:
            self.init(.io, "\(error)", cause: error)
        }
    }

    static func corrupt(_ file: String, _ finding: String) -> QueueError {
        QueueError(.corrupt, "\(file): \(finding)", remedy: corruptRemedy)
    }

    /// Why something could not be sealed or opened. Whatever it is, no record is damaged by it.
    init(_ error: EncryptionError) {
        let code: Code = error.code == .diskFull ? .diskFull : .keyUnavailable
        let finding = error.message.last == "." ? String(error.message.dropLast()) : error.message
        self.init(code, finding, remedy: code == .keyUnavailable ? Self.keyRemedy : nil, cause: error)
    }

    private static let keyRemedy = "The queue goes on when the key is there; what is sealed stays until then."

    static let closed = QueueError(.closed, "The queue is closed. Open it again.")

    private static let corruptRemedy =
        "The file was not changed. The next start of the agent saves its readable records in a new file; "
        + "`ws1agent queue repair` does so without an agent."
}

extension QueueError: CodedError, FileFailure {
    package init(_ error: FileError) {
        let code: Code = error.isDiskFull ? .diskFull : error.isInterrupted ? .interrupted : .io
        if error.denial == nil {
            self.init(code, error.description, remedy: "Check the directory and its file system.", cause: error)
        } else {
            self.init(code, "\(error).", cause: error)
        }
    }
}
