import RecordQueue

/// Why a ``DataSampler`` could not do what was asked.
public struct DataSamplerError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it is. Stable; new ones may be added.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name in kebab-case, as printed.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name.
        public var description: String { rawValue }

        /// A value of the configuration is outside its range.
        public static let invalidConfiguration = Code(rawValue: "invalid-configuration")
        /// A name, value or attribute of an event is outside its bounds, or the value is not of the type given.
        public static let invalidEvent = Code(rawValue: "invalid-event")
        /// A data sampler runs in this process already.
        public static let alreadyStarted = Code(rawValue: "already-started")
        /// The data sampler was not started, or was stopped.
        public static let notRunning = Code(rawValue: "not-running")
        /// Another process holds the queue directory.
        public static let queueInUse = Code(rawValue: "queue-in-use")
        /// There is no room: the disk or the queue's memory is full. Try again later.
        public static let queueFull = Code(rawValue: "queue-full")
        /// The queue could not be opened, read or written.
        public static let queue = Code(rawValue: "queue")
        /// The identity file cannot be read, is damaged, or belongs to another machine.
        public static let identity = Code(rawValue: "identity")
        /// A file of the data directory could not be read or written.
        public static let storage = Code(rawValue: "storage")
        /// Analytics is not enabled.
        public static let analyticsDisabled = Code(rawValue: "analytics-disabled")
        /// No profile is at hand yet, so that nobody knows whether events may be recorded. Try again once the collector
        /// was reached.
        public static let profileNotChecked = Code(rawValue: "profile-not-checked")
        /// The profile, or the configuration, has switched telemetry off.
        public static let telemetryDisabled = Code(rawValue: "telemetry-disabled")
        /// The person whose device it is has denied consent.
        public static let consentDenied = Code(rawValue: "consent-denied")
        /// A wipe is being carried out. Try again later.
        public static let wipePending = Code(rawValue: "wipe-pending")
        /// This device was unenrolled: nothing is recorded or sent any more.
        public static let unenrolled = Code(rawValue: "unenrolled")
        /// A custom module, or a measurement of one, is outside its bounds.
        public static let invalidModule = Code(rawValue: "invalid-module")
        /// The module is not sampled: the profile does not name it, or the configuration disables it.
        public static let moduleDisabled = Code(rawValue: "module-disabled")
        /// What the collector sent is no profile to run; the last good one stays.
        public static let profileRefused = Code(rawValue: "profile-refused")
        /// The collector could not be asked, or refused. Try again later.
        public static let collector = Code(rawValue: "collector")
        /// What was asked is not allowed by the profile.
        public static let notAllowed = Code(rawValue: "not-allowed")
        /// The network is not one over which this may go now; nothing was lost. Try again later.
        public static let networkNotAllowed = Code(rawValue: "network-not-allowed")
        /// An argument is outside its bounds.
        public static let invalidArgument = Code(rawValue: "invalid-argument")
        /// A file of the data directory is not what was written.
        public static let storageDamaged = Code(rawValue: "storage-damaged")
    }

    /// What kind of failure it is.
    public let code: Code
    /// What failed, on what, with which numbers, and what to do; no data of a person.
    public let message: String
    /// What made it fail, where something below did.
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
    /// Passes a queue's error on: its message says what and where, its code says whether trying again can help.
    init(_ error: QueueError) {
        let code: Code =
            switch error.code {
            case .inUse: .queueInUse
            case .diskFull, .capReached, .bufferFull: .queueFull
            case .tooLarge: .invalidEvent
            case .closed: .notRunning
            case .corrupt, .newerVersion, .io, .invalid, .tooSoon: .queue
            }
        self.init(code, error.message, cause: error)
    }
}
