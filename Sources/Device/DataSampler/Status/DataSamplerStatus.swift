/// The work and the contents of a data sampler. `Codable` is the JSON form of `ws1agent status --json`. Fields are only
/// ever added.
///
/// Times are microseconds since 1970 by this device's clock.
public struct DataSamplerStatus: Codable, Equatable, Sendable {
    /// The connection to the collector.
    public struct Collector: Codable, Equatable, Sendable {
        /// Its address; `nil` if unknown.
        public var url: String?
        /// Whether the last attempt reached it, whatever it answered; `nil` before the first attempt.
        public var reachable: Bool?
        /// `starting`, `idle`, `sending`, `backing-off`, `holding`, `stopped`.
        public var state: String
        /// Why it is backing off or holding.
        public var reason: String?
        /// When an answer last accepted something.
        public var lastSuccess: Int64?
        /// The last failure.
        public var lastFailure: Int64?
        /// The cause of the last failure.
        public var lastFailureReason: String?
        /// `pin-mismatch` if the key of who answers is none of those that are pinned, `not-a-collector` if another
        /// server, a proxy or a captive portal answers; otherwise `nil`.
        public var obstacle: String?
        /// Since when nobody answers; `nil` while it is reachable.
        public var unreachableSince: Int64?
        /// When the next attempt is due.
        public var nextAttempt: Int64?
        /// Requests sent since the program started.
        public var requests: UInt64
        /// Bytes of bodies sent since the program started, compressed.
        public var sentBytes: UInt64
        /// Why streams may not be sent now, by stream; empty if all may.
        public var gates: [String: String]
        /// The collector's clock minus this device's in microseconds; `nil` if unknown.
        public var clockOffset: Int64?
    }

    /// The device's identity at its collector.
    public struct Enrollment: Codable, Equatable, Sendable {
        /// Whether the device has a credential.
        public var enrolled: Bool
        /// Why not, or why the identity is not used.
        public var reason: String?
        /// The device's id.
        public var device: String?
        /// The organization's name.
        public var organization: String?
        /// The collector's id.
        public var collector: String?
        /// When the client certificate ends; `nil` without one.
        public var certificateEnds: Int64?
        /// The problem with the client certificate; `nil` if there is none.
        public var certificateProblem: String?
    }

    /// The profile of this device.
    public struct Profile: Codable, Equatable, Sendable {
        /// The applied revision; 0 if there is none, and then no events are accepted.
        public var revision: UInt64
        /// When the collector last confirmed it.
        public var fetched: Int64?
        /// Why the last request brought none.
        public var failure: String?
        /// Why the last received profile was refused.
        public var refusal: String?
        /// Settings of the applied profile that this device cannot apply, and why; `nil` if there are none.
        public var findings: [String]?
    }

    /// One setting in force.
    public struct Setting: Codable, Equatable, Sendable {
        /// Its value in words.
        public var value: String
        /// The layer that decided it: `default`, `local`, `profile`, `call`, or `command` for a temporary value.
        public var source: String
    }

    /// A command of the collector.
    public struct Command: Codable, Equatable, Sendable {
        /// Its id, hexadecimal.
        public var id: String
        /// Its action in kebab-case.
        public var action: String
        /// `received`, `running`, `done`, `failed`, `not-now`, `expired`, `unsupported`.
        public var state: String
        /// The result.
        public var detail: String
        /// Whether the state was reported to the collector, as far as that is on disk.
        public var isReported: Bool
    }

    /// The verdicts of this device on compromise and compliance, with the evidence.
    public struct Verdicts: Codable, Equatable, Sendable {
        /// The finding of one detector.
        public struct Finding: Codable, Equatable, Sendable {
            /// The detector's name.
            public var detector: String
            /// `unknown`, `no`, `yes`.
            public var verdict: String
            /// The evidence: what it found and where.
            public var evidence: String
        }

        /// The result of one compliance rule of the profile.
        public struct Rule: Codable, Equatable, Sendable {
            /// The rule's id.
            public var rule: String
            /// `unknown`, `compliant`, `non-compliant`.
            public var state: String
            /// The version found; empty if unknown. Of a rule on the location: `inside`, `outside` or `unknown`.
            public var actual: String
            /// Operator and version, or operator and geofence.
            public var expected: String
        }

        /// `unknown`, `no`, `yes`.
        public var compromised: String
        /// The findings of each detector that had something to examine.
        public var findings: [Finding]
        /// `unknown`, `compliant`, `non-compliant`.
        public var deviceCompliance: String
        /// `unknown`, `compliant`, `non-compliant`.
        public var applicationCompliance: String
        /// The rules in the profile's order.
        public var rules: [Rule]
        /// Why the profile asks to block the use of the program; empty if it does not.
        public var blocks: [String]
    }

    /// A geofence of the profile.
    public struct Geofence: Codable, Equatable, Sendable {
        /// Its id.
        public var id: String
        /// Its name for people; `nil` if it has none.
        public var name: String?
        /// Where the device was when a position last decided it: `inside`, `outside`, or `unknown` if none has.
        public var state: String
        /// Since when; `nil` if unknown.
        public var since: Int64?
        /// Whether a position has confirmed the state since the start, and since positions may be read. Otherwise
        /// compliance rules take it for unknown.
        public var isConfirmed: Bool
    }

    /// The state of a module.
    public struct Module: Codable, Equatable, Sendable {
        /// The module's name.
        public var name: String
        /// Whether the application registered it.
        public var isCustom: Bool
        /// Seconds between two samples.
        public var sampleInterval: Double
        /// Samples since the program started.
        public var samples: UInt64
        /// When the last sample was taken.
        public var lastSample: Int64?
        /// Why the last reading gave no sample.
        public var reason: String?
    }

    /// The records that wait in a stream.
    public struct Stream: Codable, Equatable, Sendable {
        /// `status`, `event` or `sample`.
        public var name: String
        /// Waiting records.
        public var waiting: UInt64
        /// Bytes of waiting records.
        public var waitingBytes: UInt64
        /// Records that may be sent now.
        public var due: UInt64
        /// Age of the oldest record by the queue's clock, in seconds.
        public var oldestAgeSeconds: Double?
        /// The last number assigned.
        public var lastNumber: UInt64
        /// The collector's mark: it decided about everything up to this number.
        public var acknowledged: UInt64
        /// The number of waiting records that wait for the person's consent.
        public var consentPending: UInt64
        /// Records of ended epochs: they wait apart until that is settled with the collector.
        public var apart: UInt64
        /// Dropped records by reason.
        public var dropped: [String: UInt64]
    }

    /// The histories of device and collector diverged. This epoch is not sent any more.
    public struct Divergence: Codable, Equatable, Sendable {
        /// Why.
        public var reason: String
        /// The stream in which it showed.
        public var stream: String
        /// When it was found.
        public var time: Int64
    }

    /// The queue's file was damaged or gone and was salvaged.
    public struct Salvage: Codable, Equatable, Sendable {
        /// When it was found.
        public var time: Int64
        /// The cause that was found.
        public var cause: String
        /// The directory that keeps the damaged file; empty if there was none.
        public var file: String
        /// Readable records, which continue in a new epoch.
        public var salvaged: UInt64
        /// Missing records. Those that had arrived are stored; the others are lost. The balance counts them as dropped
        /// under `salvage` or `unverifiable`.
        public var lost: UInt64
    }

    /// The connection to logind, which reports unlocks, sleep and shutdown, and who uses the machine.
    public struct Logind: Codable, Equatable, Sendable {
        /// Whether it is connected.
        public var connected: Bool
        /// While it is not connected: why. While it is: why sleep and shutdown do not wait for a last sample; `nil` if
        /// they do.
        public var reason: String?
    }

    /// Whether what is on this device's disk is encrypted.
    public struct Encryption: Codable, Equatable, Sendable {
        /// Whether new data is encrypted.
        public var isOn: Bool
        /// Who protects the keys: `file`, `systemd`, `host` or `passcode`; `nil` if nothing is encrypted.
        public var provider: String?
        /// Whether the keys are not at hand: new records wait in memory, and nothing is sent.
        public var isLocked = false
        /// Why the keys are not at hand, and what to do.
        public var reason: String?
    }

    /// Something that is taken into the log store, as one application there. Counts are since the start.
    public struct Intake: Codable, Equatable, Sendable {
        /// The application of the lines.
        public var application: String
        /// What is read: `files`, `journal`, `kernel`, `syslog` or `otlp`.
        public var kind: String
        /// Files that are read now; of syslog and OTLP, open sockets with those of connections; of the others 1, or 0
        /// while the kernel's ring cannot be read.
        public var parts: Int
        /// Bytes of them that were not read or stored yet; `nil` before the first look, and where it is not known.
        public var behindBytes: Int?
        /// When everything that was there had been stored; `nil`: not yet.
        public var caughtUp: Int64?
        /// Lines that are stored.
        public var stored: UInt64
        /// Lines that were read and not stored, because they are less severe than the level in force or nothing may be
        /// logged.
        public var passedBy: UInt64
        /// Lines that were left out because they came faster than the source's limit. A line of the log says how many.
        public var leftOut: UInt64
        /// Why nothing can be stored now; `nil` if it can.
        public var failure: String?
        /// What cannot be read, and why; at most 10.
        public var problems: [String]
        /// Data points of OTLP that were put into the device's queue; `nil` for all other kinds.
        public var dataPoints: UInt64?
    }

    /// Metrics of other programs, which are sampled as a custom module. Counts are since the start.
    public struct MetricSource: Codable, Equatable, Sendable {
        /// The custom module.
        public var module: String
        /// What is read: `exec`, `statsd` or `prometheus`.
        public var kind: String
        /// Series in the last sample.
        public var series: Int
        /// Values that were left out because the source has as many series as it may.
        public var refused: UInt64
        /// Lines or values that could not be taken in.
        public var invalid: UInt64
        /// Packets that the kernel dropped because they came faster than they were read.
        public var kernelDrops: UInt64
        /// What is wrong at present, with the remedy; `nil`: nothing.
        public var problem: String?
    }

    /// Where the location comes from, and whether it is known. It has no position.
    public struct Location: Codable, Equatable, Sendable {
        /// The source's name; `nil` if there is none.
        public var source: String?
        /// Whether somebody wants the location and may know it. Otherwise the source is not asked.
        public var isWanted: Bool
        /// Whether the last answer had a position; `nil` if there was no answer since the location is wanted.
        public var hasFix: Bool?
        /// Why it had none.
        public var reason: String?
        /// When the source last answered.
        public var time: Int64?
    }

    /// Whether a data sampler runs. `false`: this is the content of its directory.
    public var running: Bool
    /// The library's version.
    public var version: String
    /// The directory of queue and identity.
    public var directory: String
    /// The queue's present epoch.
    public var epoch: String
    /// The device's identity.
    public var enrollment: Enrollment
    /// The connection to the collector.
    public var collector: Collector
    /// The profile of this device.
    public var profile: Profile
    /// Settings in force, by name.
    public var settings: [String: Setting]
    /// Compromise and compliance; `nil` if nothing runs, or from an older agent.
    public var verdicts: Verdicts?
    /// The profile's geofences in its order; `nil` if it has none, or from an older agent.
    public var geofences: [Geofence]?
    /// Whether telemetry is disabled.
    public var telemetryDisabled: Bool
    /// `granted`, `pending` or `denied`.
    public var consent: String
    /// Whether do-not-disturb is on.
    public var doNotDisturb: Bool
    /// The newest decision on do-not-disturb; `nil` if nothing runs, and from an older agent.
    public var doNotDisturbDecision: DeviceDNDStatus?
    /// Whether the application has suspended it.
    public var suspended: Bool
    /// The factor by which a budget lengthens intervals; 1 for none.
    public var slowdown: Double
    /// The budget that causes the slowdown.
    public var slowdownReason: String?
    /// The reason of a wipe that is under way; `nil` for none.
    public var wipePending: String?
    /// Whether this device is being unenrolled.
    public var leaving: Bool
    /// Commands that have not expired.
    public var commands: [Command]
    /// Why commands wait.
    public var commandFailure: String?
    /// The sampled modules.
    public var modules: [Module]
    /// Requested modules that are not sampled, and why.
    public var unavailableModules: [String: String]
    /// Status, event, sample.
    public var streams: [Stream]
    /// Why records wait that could be sent, and what uploads of logs wait for; empty if none do.
    public var holding: [String]
    /// `nil` if the histories agree.
    public var divergence: Divergence?
    /// Seconds between two beacons; `nil` without a schedule.
    public var beaconInterval: Double?
    /// Seconds an event is held.
    public var eventHold: Double
    /// Bytes of the queue's file.
    public var queueBytes: Int64
    /// Free bytes on its file system; `nil` if unknown.
    public var freeBytes: UInt64?
    /// Seconds without the collector, while they are more than the offline time allowed; `nil` otherwise.
    public var offlineTimeExceeded: Int64?
    /// Records that were quarantined because they alone were refused.
    public var quarantined: UInt64
    /// Why the last write to the queue failed; `nil` after a success.
    public var queueFailure: String?
    /// The last salvages of the queue's file, oldest first; `nil` from an older agent.
    public var salvages: [Salvage]?
    /// `nil` if logind is not followed, or from an older agent.
    public var logind: Logind?
    /// `nil` if nothing runs, or from an older agent.
    public var location: Location?
    /// `nil` from an older agent.
    public var encryption: Encryption?
    /// How far files are taken into the log store; `nil` if none are, if nothing runs, or from an older agent.
    public var intakes: [Intake]?
    /// How sources of metrics fare; `nil` if there are none, if nothing runs, or from an older agent.
    public var metricSources: [MetricSource]?
}

/// Where every record is: `produced = stored + rejected + dropped + lostAtCollector + waiting`, per stream. `Codable`
/// is its JSON form.
public struct DataSamplerBalance: Codable, Equatable, Sendable {
    /// The balance of one stream.
    public struct Stream: Codable, Equatable, Sendable {
        /// Records this device produced in this epoch.
        public var produced: UInt64
        /// Records that the collector reported as stored.
        public var stored: UInt64
        /// Rejected by the collector, by reason.
        public var rejected: [String: UInt64]
        /// Dropped on this device, by reason.
        public var dropped: [String: UInt64]
        /// Numbers the collector passed without having the record.
        public var lostAtCollector: UInt64
        /// Waiting records, counted on this device's disk.
        public var waiting: UInt64
        /// Whether the sum is right.
        public var closes: Bool
    }

    /// The present epoch.
    public var epoch: String
    /// The device's id; `nil` before the first enrollment.
    public var device: String?
    /// The streams by name: `status`, `event`, `sample`.
    public var streams: [String: Stream]
    /// Whether every stream's balance closes.
    public var closes: Bool
}
