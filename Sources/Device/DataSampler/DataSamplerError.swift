import LogStore
import RecordQueue
import TelemetryBasics

/// Why a ``DataSampler`` could not do what was asked.
public struct DataSamplerError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. Codes never change their meaning; new ones may be added.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The printed name, in kebab-case.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name.
        public var description: String { rawValue }

        /// A configuration value is out of range.
        public static let invalidConfiguration = Code(rawValue: "invalid-configuration")
        /// A name, value or attribute of an event is out of range, or the value is not of the given type.
        public static let invalidEvent = Code(rawValue: "invalid-event")
        /// A data sampler already runs in this process.
        public static let alreadyStarted = Code(rawValue: "already-started")
        /// The data sampler was not started, or was stopped.
        public static let notRunning = Code(rawValue: "not-running")
        /// Another process holds the queue directory.
        public static let queueInUse = Code(rawValue: "queue-in-use")
        /// The disk or the queue's memory is full, for whatever was to be written. Try again later.
        public static let queueFull = Code(rawValue: "queue-full")
        /// A signal interrupted the queue's work. Try again.
        public static let queueInterrupted = Code(rawValue: "queue-interrupted")
        /// The queue could not be opened, read or written.
        public static let queue = Code(rawValue: "queue")
        /// The identity file is unreadable, damaged, or belongs to another machine.
        public static let identity = Code(rawValue: "identity")
        /// A file of the data directory could not be read or written.
        public static let storage = Code(rawValue: "storage")
        /// Analytics is not enabled.
        public static let analyticsDisabled = Code(rawValue: "analytics-disabled")
        /// No profile is at hand yet, so that nobody knows whether events may be recorded, and as many as may wait for
        /// one do. Try again once the collector was reached.
        public static let profileNotChecked = Code(rawValue: "profile-not-checked")
        /// The profile or the configuration disabled telemetry.
        public static let telemetryDisabled = Code(rawValue: "telemetry-disabled")
        /// The person has denied consent.
        public static let consentDenied = Code(rawValue: "consent-denied")
        /// A wipe is under way. Try again later.
        public static let wipePending = Code(rawValue: "wipe-pending")
        /// This device was unenrolled. Nothing is recorded or sent any more.
        public static let unenrolled = Code(rawValue: "unenrolled")
        /// A custom module or one of its measurements is out of range.
        public static let invalidModule = Code(rawValue: "invalid-module")
        /// The module is not sampled: the profile does not name it, or the configuration disables it. Events need the
        /// module analytics.
        public static let moduleDisabled = Code(rawValue: "module-disabled")
        /// The received profile is not valid. The last good one stays.
        public static let profileRefused = Code(rawValue: "profile-refused")
        /// The collector could not be asked, or refused. Try again later.
        public static let collector = Code(rawValue: "collector")
        /// The request is on disk, but the collector did not acknowledge it in time. The cause is a
        /// ``DeliveryFailure``.
        public static let notDelivered = Code(rawValue: "not-delivered")
        /// The profile does not allow this.
        public static let notAllowed = Code(rawValue: "not-allowed")
        /// The present network may not be used for this. Nothing was lost. Try again later.
        public static let networkNotAllowed = Code(rawValue: "network-not-allowed")
        /// An argument is out of range.
        public static let invalidArgument = Code(rawValue: "invalid-argument")
        /// A file of the data directory is not what was written.
        public static let storageDamaged = Code(rawValue: "storage-damaged")
        /// The passcode was not entered yet, or the device key is missing, unreadable or another one. Nothing is lost.
        /// Try again when the key is there; the message says how.
        public static let keyUnavailable = Code(rawValue: "key-unavailable")
        /// This is not the passcode.
        public static let wrongPasscode = Code(rawValue: "wrong-passcode")
        /// The bytes are not what was encrypted on this device, or the key was destroyed by a wipe.
        public static let notDecrypted = Code(rawValue: "not-decrypted")
    }

    /// The kind of failure.
    public let code: Code
    /// The text for people: what failed, on what, with which numbers, and what to do. No personal data.
    public let message: String
    /// The underlying error, if there is one.
    public let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// Code and message in one line.
    public var description: String { "\(code): \(message)" }
}

extension DataSamplerError {
    /// Translates a queue error. Its message says what and where, and its code whether trying again can help.
    init(_ error: QueueError) {
        let code: Code =
            switch error.code {
            case .inUse: .queueInUse
            case .diskFull, .capReached, .bufferFull: .queueFull
            case .interrupted: .queueInterrupted
            case .tooLarge: .invalidEvent
            case .closed: .notRunning
            case .keyUnavailable: .keyUnavailable
            case .corrupt, .newerVersion, .io, .invalid, .tooSoon: .queue
            }
        self.init(code, error.message, cause: error)
    }

    /// Translates an error of a file. No room on the disk is the same failure for every file, because the same helps.
    /// - Parameter code: for any other reason.
    init(_ error: FileError, otherwise code: Code) {
        self.init(error.isDiskFull ? .queueFull : code, error.description, cause: error)
    }

    /// Translates an error of the log store, likewise.
    package init(_ error: LogStoreError) {
        self.init(error.code == .diskFull ? .queueFull : .storage, error.message, cause: error)
    }
}
