/// What a data sampler does and what it keeps. `Codable` is the JSON form of `ws1agent status --json`; fields are only ever added.
///
/// Times are microseconds since 1970 by this device's clock.
public struct DataSamplerStatus: Codable, Equatable, Sendable {
    /// How it stands with the collector.
    public struct Collector: Codable, Equatable, Sendable {
        /// Its address; `nil` where nobody has said it.
        public var url: String?
        /// Whether the last attempt reached it; `nil`: there was none yet.
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
        /// When it is tried again.
        public var nextAttempt: Int64?
        /// Requests sent since the program started.
        public var requests: UInt64
        /// Bytes of bodies sent since the program started, compressed.
        public var sentBytes: UInt64
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
    }

    /// What a module yields.
    public struct Module: Codable, Equatable, Sendable {
        /// The module's name.
        public var name: String
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
        /// Dropped, by reason.
        public var dropped: [String: UInt64]
    }

    /// That the histories of device and collector have parted: nothing of this epoch is sent any more.
    public struct Parting: Codable, Equatable, Sendable {
        /// Why.
        public var reason: String
        /// In which stream it showed.
        public var stream: String
        /// When it was noticed.
        public var time: Int64
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
    /// What is sampled.
    public var modules: [Module]
    /// Status, event, sample.
    public var streams: [Stream]
    /// Why something waits that could be sent; empty where nothing does.
    public var holding: [String]
    /// `nil`: the histories are one.
    public var parting: Parting?
    /// Seconds between two beacons; `nil`: no schedule.
    public var beaconInterval: Double?
    /// Seconds an event is held.
    public var eventHold: Double
    /// The queue's file, bytes.
    public var queueBytes: Int64
    /// Free on its file system, bytes; `nil`: unknown.
    public var freeBytes: UInt64?
    /// Records set aside because they alone were refused.
    public var quarantined: UInt64
    /// Why the last write to the queue failed, while it has not succeeded since.
    public var queueFailure: String?
}
