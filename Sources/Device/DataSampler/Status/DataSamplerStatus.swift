/// What a data sampler does and what it keeps. `Codable` is the JSON form of `ws1agent status --json`; fields are only
/// ever added.
///
/// Times are microseconds since 1970 by this device's clock.
public struct DataSamplerStatus: Codable, Equatable, Sendable {
    /// How it stands with the collector.
    public struct Collector: Codable, Equatable, Sendable {
        /// Its address; `nil` where nobody has said it.
        public var url: String?
        /// Whether the last attempt reached it, whatever it answered; `nil`: there was none yet.
        public var reachable: Bool?
        /// `starting`, `idle`, `sending`, `backing-off`, `holding`, `stopped`.
        public var state: String
        /// Why it backs off or holds.
        public var reason: String?
        /// The last answer that took something.
        public var lastSuccess: Int64?
        /// The last failure.
        public var lastFailure: Int64?
        /// What it was.
        public var lastFailureReason: String?
        /// Since when nobody answers; `nil` while it is reached.
        public var unreachableSince: Int64?
        /// When it is tried again.
        public var nextAttempt: Int64?
        /// Requests sent since the program started.
        public var requests: UInt64
        /// Bytes of bodies sent since the program started, compressed.
        public var sentBytes: UInt64
        /// Why streams may not be sent now, by stream; empty while all may.
        public var gates: [String: String]
        /// The collector's clock minus this device's, microseconds; `nil`: unknown.
        public var clockOffset: Int64?
    }

    /// Who this device is to its collector.
    public struct Enrollment: Codable, Equatable, Sendable {
        /// Whether it has a credential.
        public var enrolled: Bool
        /// Why not, or why the identity is not used.
        public var reason: String?
        /// The device's id.
        public var device: String?
        /// The organization's name.
        public var organization: String?
        /// The collector's id.
        public var collector: String?
        /// When the client certificate that is shown ends; `nil` where there is none.
        public var certificateEnds: Int64?
        /// What is the matter with the client certificate; `nil`: nothing.
        public var certificateProblem: String?
    }

    /// What this device is told to run.
    public struct Profile: Codable, Equatable, Sendable {
        /// The revision that is applied; 0: none is at hand, and no events are taken.
        public var revision: UInt64
        /// When the collector last said that this is the one.
        public var fetched: Int64?
        /// Why the last look brought none.
        public var failure: String?
        /// The one that was refused, and why.
        public var refusal: String?
        /// What of the applied one is not done, and why; `nil`: all of it is.
        public var findings: [String]?
    }

    /// One setting in force.
    public struct Setting: Codable, Equatable, Sendable {
        /// Its value in words.
        public var value: String
        /// Who said it: `default`, `local`, `profile`, `call`, or `command` for a while.
        public var source: String
    }

    /// A command of the collector.
    public struct Command: Codable, Equatable, Sendable {
        /// Its id, hexadecimal.
        public var id: String
        /// What it asks for, in kebab-case.
        public var action: String
        /// `received`, `running`, `done`, `failed`, `not-now`, `expired`, `unsupported`.
        public var state: String
        /// What came of it.
        public var detail: String
        /// Whether the collector was told of the state, as far as that is on disk.
        public var isReported: Bool
    }

    /// What a module yields.
    public struct Module: Codable, Equatable, Sendable {
        /// The module's name.
        public var name: String
        /// Whether the application registered it.
        public var isCustom: Bool
        /// Seconds between two samples.
        public var sampleInterval: Double
        /// Since the program started.
        public var samples: UInt64
        /// When the last was taken.
        public var lastSample: Int64?
        /// Why the last reading yielded nothing.
        public var reason: String?
    }

    /// What waits in a stream.
    public struct Stream: Codable, Equatable, Sendable {
        /// `status`, `event` or `sample`.
        public var name: String
        /// Records.
        public var waiting: UInt64
        /// Bytes of them.
        public var waitingBytes: UInt64
        /// Of these, how many may be sent now.
        public var due: UInt64
        /// Age of the oldest by the queue's clock, seconds.
        public var oldestAgeSeconds: Double?
        /// The last number given.
        public var lastNumber: UInt64
        /// The collector's mark: everything up to it is decided.
        public var acknowledged: UInt64
        /// Records that wait for the person's consent.
        public var consentPending: UInt64
        /// Records that wait apart from the stream for whatever reason.
        public var apart: UInt64
        /// Dropped, by reason.
        public var dropped: [String: UInt64]
    }

    /// That the histories of device and collector have diverged: nothing of this epoch is sent any more.
    public struct Divergence: Codable, Equatable, Sendable {
        /// Why.
        public var reason: String
        /// In which stream it showed.
        public var stream: String
        /// When it was noticed.
        public var time: Int64
    }

    /// That the queue's file was damaged or gone, and what came of it.
    public struct Salvage: Codable, Equatable, Sendable {
        /// When it was noticed.
        public var time: Int64
        /// What was found.
        public var cause: String
        /// Where the damaged file is kept, in the directory; empty where there was none.
        public var file: String
        /// Records that were still readable, and go on in a new epoch.
        public var salvaged: UInt64
        /// Records that are missing. Those that had arrived are stored, the others are lost; the balance counts them as
        /// dropped under `salvage`, or under `unverifiable`.
        public var lost: UInt64
    }

    /// Whether a data sampler runs; `false`: this is what its directory holds.
    public var running: Bool
    /// The library's version.
    public var version: String
    /// Where queue and identity lie.
    public var directory: String
    /// This life of the queue's file.
    public var epoch: String
    /// Who this device is.
    public var enrollment: Enrollment
    /// How it stands with the collector.
    public var collector: Collector
    /// What this device is told to run.
    public var profile: Profile
    /// What is in force, by name.
    public var settings: [String: Setting]
    /// Whether everything is switched off.
    public var telemetryDisabled: Bool
    /// `granted`, `pending` or `denied`.
    public var consent: String
    /// Whether do-not-disturb is in force.
    public var doNotDisturb: Bool
    /// Whether the application has suspended it.
    public var suspended: Bool
    /// Intervals are so many times longer, to keep a budget; 1: as they were set.
    public var slowdown: Double
    /// Which budget slows it down.
    public var slowdownReason: String?
    /// Why everything is to be erased, while that is being done; `nil`: nothing is.
    public var wipePending: String?
    /// Whether this device is being unenrolled.
    public var leaving: Bool
    /// Commands that have not expired.
    public var commands: [Command]
    /// Why commands wait.
    public var commandFailure: String?
    /// What is sampled.
    public var modules: [Module]
    /// Modules asked for and not sampled, and why.
    public var unavailableModules: [String: String]
    /// Status, event, sample.
    public var streams: [Stream]
    /// Why something waits that could be sent; empty where nothing does.
    public var holding: [String]
    /// `nil`: the histories are one.
    public var parting: Divergence?
    /// Seconds between two beacons; `nil`: no schedule.
    public var beaconInterval: Double?
    /// Seconds an event is held.
    public var eventHold: Double
    /// The queue's file, bytes.
    public var queueBytes: Int64
    /// Free on its file system, bytes; `nil`: unknown.
    public var freeBytes: UInt64?
    /// Records quarantined because they alone were refused.
    public var quarantined: UInt64
    /// Why the last write to the queue failed, while it has not succeeded since.
    public var queueFailure: String?
    /// Damages of the queue's file, oldest first, the last few of them; `nil` from an agent of before, which did not
    /// tell.
    public var salvages: [Salvage]?
}

/// Where every record produced is: `produced = stored + rejected + dropped + lostAtCollector + waiting`, per stream.
/// `Codable` is its JSON form.
public struct DataSamplerBalance: Codable, Equatable, Sendable {
    /// One stream's.
    public struct Stream: Codable, Equatable, Sendable {
        /// Records this device produced in this epoch.
        public var produced: UInt64
        /// Stored at the collector, by its word.
        public var stored: UInt64
        /// Refused by the collector, by reason.
        public var rejected: [String: UInt64]
        /// Dropped on this device, by reason.
        public var dropped: [String: UInt64]
        /// Passed by the collector without having been seen.
        public var lostAtCollector: UInt64
        /// Rows counted on this device's disk.
        public var waiting: UInt64
        /// Whether the sum is right.
        public var closes: Bool
    }

    /// The present epoch.
    public var epoch: String
    /// The device's id; `nil` before the first enrollment.
    public var device: String?
    /// By stream: `status`, `event`, `sample`.
    public var streams: [String: Stream]
    /// Whether every stream's closes.
    public var closes: Bool
}
