import HTTPConnection
import LogStore
import SampleModules
import WireModel

/// How a ``DataSampler`` samples, keeps and sends. A value; changing it after
/// ``DataSampler/init(configuration:logger:)`` changes nothing.
///
/// What is `nil` was not said here: the profile decides it, and where that does not either, the compiled default. What
/// the profile says beats what is said here, and an explicit call beats both; but *disabling*, *Wi-Fi only* and privacy
/// are only ever tightened: ``disabledModules``, ``telemetryDisabled``, ``analyticsEnabled`` and ``loggingEnabled`` of
/// `false`, ``logsOverWiFiOnly`` and ``privacy`` hold whatever the profile says.
public struct DataSamplerConfiguration: Sendable {
    /// Other intervals for one module than the defaults.
    public struct ModuleIntervals: Equatable, Sendable {
        /// Seconds between two samples, 1 to 86,400; `nil`: the default.
        public var sampleInterval: Double?
        /// Seconds between two transmits, 1 to 86,400; `nil`: the default.
        public var transmitInterval: Double?

        /// `nil` leaves the default of that interval.
        public init(sampleInterval: Double? = nil, transmitInterval: Double? = nil) {
            self.sampleInterval = sampleInterval
            self.transmitInterval = transmitInterval
        }
    }

    /// What is sampled where the profile does not say; `nil`: system, analytics and custom. An empty set
    /// samples nothing; events and beacons go on.
    public var sampleModules: DataSamplerModules?
    /// Seconds between two samples of a module, 1 to 86,400; `nil`: 60.
    public var defaultSampleInterval: Double?
    /// Seconds between two transmits, 1 to 86,400; `nil`: 300.
    public var defaultTransmitInterval: Double?
    /// How much the data sampler says of itself.
    public var traceLevel: TraceLevel

    /// Where queue, identity, profile and lock lie; made with mode 0700 where it is missing. One process at a time
    /// holds it.
    public var directory: String
    /// `http[s]://HOST[:PORT][/PREFIX]`; `http` to another machine only with ``allowsPlaintext``.
    public var collectorURL: String
    /// Enrolls this device at its first contact; not needed afterwards. `nil`: an enrolled device goes on, another one
    /// holds.
    public var enrollmentToken: String?
    /// Bundle id of the program, in every record and beacon. Empty: the agent itself.
    public var applicationIdentifier: String = ""
    /// The program's version, in beacons.
    public var applicationVersion: String = ""
    /// Seconds an event is held before it is sent, 0 to 259,200 (3 days); `nil`: 7,200 (ws1).
    public var eventHold: Double?
    /// Seconds between two beacons that ``DataSampler/start()`` schedules, 60 to 86,400; `nil`: what the profile says,
    /// or none until ``DataSampler/startSendingDeviceStatusBeacon(transmitFrequency:)``.
    public var beaconInterval: Double?
    /// Seconds of ordinary records that a power cut may take, 0 (each is durable) to 60; default 1.
    public var lossWindow: Double = 1
    /// PEM file of the only certificate authorities to trust; `nil`: those of the system.
    public var certificateAuthorityFile: String?
    /// PEM file with the private key of this device's client certificate, without a passphrase; `nil`: it shows none.
    /// With ``clientSigningRequestFile``, or neither. The key stays where it is and is never sent.
    public var clientKeyFile: String?
    /// File with the certificate signing request (PKCS #10, PEM or DER) that was made with that key. It is sent when
    /// the device enrolls and when a third of its certificate's life is left; the certificates that the collector
    /// answers with are kept with the identity.
    public var clientSigningRequestFile: String?
    /// `http://HOST[:PORT]` of an HTTP proxy; `nil`: direct.
    public var proxyURL: String?
    /// Plain `http` may be spoken to other machines, collector or proxy: everybody on the way can then read and change
    /// what is sent, the device's credential among it. `false`, the default: only to this one.
    public var allowsPlaintext = false
    /// `false`: no events are recorded, whatever the profile says. `true` leaves it to the profile.
    public var analyticsEnabled: Bool = true
    /// `false`: no logs are kept or sent, whatever the profile says. `true` leaves it to the profile.
    public var loggingEnabled: Bool = true
    /// Logs are sent over Wi-Fi or wired networks only, whatever the profile says. `false` leaves it to the profile
    /// (ws1).
    public var logsOverWiFiOnly: Bool = false
    /// The log store to use, opened by the program before everything else; the data sampler sets its level and adds to
    /// what it scrubs, as the profile says, and does not close it. `nil`: one is opened in `<directory>/logs` by
    /// ``DataSampler/start()`` and closed by ``DataSampler/stop()``.
    public var logStore: LogStore?
    /// What the log store keeps that is opened in `<directory>/logs`.
    public var logRetention = LogRetention()
    /// Nothing is sampled, recorded or sent, whatever the profile says. `false` leaves it to the profile (intune).
    public var telemetryDisabled: Bool = false
    /// Modules that stay off whatever the profile says, by name: built-in ones, or those of custom modules.
    public var disabledModules: Set<String> = []
    /// Who counts network traffic (ws1).
    public var telecomSource: TelecomSource = .device
    /// What becomes of personal fields, by the name of their class (`ssid`, `mac`, `position` ...); the stricter of
    /// this and the profile's holds.
    public var privacy: [String: PersonalFieldAction] = [:]
    /// What holds until the host says what the person has said, with ``DataSampler/setConsent(_:)``; once it was said,
    /// that holds.
    public var initialConsent: DataSamplerConsent = .granted
    /// Marks all records as test data, kept out of views and quotas unless asked for; `false` leaves it to the profile.
    public var isTest: Bool = false
    /// Other intervals for single modules, by module name, of built-in and custom ones.
    public var moduleIntervals: [String: ModuleIntervals] = [:]
    /// Seconds without the collector after which the host is told, 1 or more; `nil`: what the profile says, or never
    /// (ws1).
    public var offlineTimeAllowed: Double?
    /// Days after which the device asks for a new credential by itself, up to 3650; 0: never. 90 by default.
    public var credentialDays: Double = 90
    /// What the sampler may cost; `nil` leaves it to the profile.
    public var budgets: DataSamplerBudgets?

    /// Which of the library's own detectors look for signs of compromise; all of them by default.
    public var builtInDetectors: Set<BuiltInDetector> = Set(BuiltInDetector.allCases)
    /// The application's own detectors, beside those; the first 64 of all are asked.
    public var detectors: [any CompromiseDetector] = []
    /// SHA-256 of the program's file, 64 hexadecimal digits, for ``BuiltInDetector/agentBinaryModified``; `nil`: what
    /// was recorded when this release first started here.
    public var expectedBinaryDigest: String?

    /// All that has to be said; the profile and the defaults decide the rest.
    ///
    /// Nothing is checked here; ``validate()`` and ``DataSampler/init(configuration:logger:)`` do.
    public init(
        directory: String, collectorURL: String, enrollmentToken: String? = nil, traceLevel: TraceLevel = .warning
    ) {
        self.init(
            given: (nil, nil, nil), traceLevel: traceLevel, directory: directory, collectorURL: collectorURL,
            enrollmentToken: enrollmentToken)
    }

    /// With the four parameters that (ws1) requires.
    ///
    /// Nothing is checked here; ``validate()`` and ``DataSampler/init(configuration:logger:)`` do.
    public init(
        sampleModules: DataSamplerModules, defaultSampleInterval: Double, defaultTransmitInterval: Double,
        traceLevel: TraceLevel,
        directory: String, collectorURL: String, enrollmentToken: String? = nil
    ) {
        self.init(
            given: (sampleModules, defaultSampleInterval, defaultTransmitInterval), traceLevel: traceLevel,
            directory: directory,
            collectorURL: collectorURL, enrollmentToken: enrollmentToken)
    }

    private init(
        given: (modules: DataSamplerModules?, sample: Double?, transmit: Double?), traceLevel: TraceLevel,
        directory: String,
        collectorURL: String, enrollmentToken: String?
    ) {
        (sampleModules, defaultSampleInterval, defaultTransmitInterval) = given
        self.traceLevel = traceLevel
        self.directory = directory
        self.collectorURL = collectorURL
        self.enrollmentToken = enrollmentToken
    }
}

/// What a device's log store keeps; the oldest segments go first, counted.
public struct LogRetention: Equatable, Sendable {
    /// Bytes on disk of what was logged at the level in force, 1,000,000 or more.
    public var bytes: Int
    /// How long after their last line segments are kept, 1 to 3,650.
    public var days: Double
    /// Bytes on disk of the ring that takes lines less severe than that level, for requests that ask for them: 100,000
    /// or more, or 0: none.
    public var verboseRingBytes: Int

    /// The defaults: 50 MB, 14 days, 5 MB.
    public init(bytes: Int = 50_000_000, days: Double = 14, verboseRingBytes: Int = 5_000_000) {
        self.bytes = bytes
        self.days = days
        self.verboseRingBytes = verboseRingBytes
    }
}

/// Who counts this device's network traffic (ws1).
public enum TelecomSource: String, CaseIterable, Codable, Sendable {
    /// This device.
    case device
    /// A hub counts it already: NetworkData is masked even where it is asked for, and the trace says so.
    case hub
}

/// What becomes of a personal field before it is kept. In the order of strictness; the stricter of configuration and
/// profile holds.
public enum PersonalFieldAction: String, CaseIterable, Codable, Sendable {
    /// Kept and sent as it is.
    case send
    /// Replaced by a hash keyed per organization: comparable, not readable.
    case hash
    /// Made less exact: a network instead of an address, a region instead of a position.
    case coarsen
    /// Left out.
    case drop
}

/// What the sampler may cost; it keeps a budget by slowing itself down, and says so in status, samples and beacons.
public struct DataSamplerBudgets: Equatable, Sendable {
    /// Compressed bytes sent in a day, 1 or more; `nil`: no budget.
    public var sentBytesPerDay: UInt64?
    /// Bytes written to disk in a day, 1 or more; `nil`: no budget.
    public var writtenBytesPerDay: UInt64?
    /// Share of one processor core, above 0 and up to 1; `nil`: no budget.
    public var processorShare: Double?

    /// `nil` is no budget.
    public init(sentBytesPerDay: UInt64? = nil, writtenBytesPerDay: UInt64? = nil, processorShare: Double? = nil) {
        self.sentBytesPerDay = sentBytesPerDay
        self.writtenBytesPerDay = writtenBytesPerDay
        self.processorShare = processorShare
    }
}

extension DataSamplerConfiguration {
    package static let greatestCredentialDays = 3650.0

    /// Checks every value against its range, without touching the disk or the network.
    ///
    /// - Throws: `invalidConfiguration` naming the first value outside its range, the value and the range.
    public func validate() throws(DataSamplerError) {
        try Self.check("defaultSampleInterval", defaultSampleInterval, .interval)
        try Self.check("defaultTransmitInterval", defaultTransmitInterval, .interval)
        try Self.check("eventHold", eventHold, .eventHold)
        try Self.check("lossWindow", lossWindow, .lossWindow)
        try Self.check("beaconInterval", beaconInterval, .beacon)
        try Self.check("offlineTimeAllowed", offlineTimeAllowed, .offline)
        guard (0...Self.greatestCredentialDays).contains(credentialDays) else {
            throw DataSamplerError(
                .invalidConfiguration,
                "credentialDays is \(credentialDays): it must be 0 to \(Int(Self.greatestCredentialDays)) days, 0 for never"
            )
        }
        _ = try sampleModules?.moduleNames
        for (name, intervals) in moduleIntervals.sorted(by: { $0.key < $1.key }) {
            try Self.check("moduleIntervals", module: name)
            try Self.check("moduleIntervals.\(name).sampleInterval", intervals.sampleInterval, .interval)
            try Self.check("moduleIntervals.\(name).transmitInterval", intervals.transmitInterval, .interval)
        }
        // A module may be disabled that this version does not offer: it stays off.
        for name in disabledModules.sorted() where SampleModuleName(rawValue: name) == nil {
            try Self.check("disabledModules", module: name)
        }
        for name in privacy.keys.sorted() where FieldClass.decidable.allSatisfy({ $0.rawValue != name }) {
            throw DataSamplerError(
                .invalidConfiguration,
                "privacy names '\(name)': the classes are \(FieldClass.decidable.map(\.rawValue).sorted().joined(separator: ", "))"
            )
        }
        try checkBudgets()
        try checkLogRetention()
        if let digest = expectedBinaryDigest, digest.utf8.count != 64 || !digest.allSatisfy(\.isHexDigit) {
            throw DataSamplerError(
                .invalidConfiguration, "expectedBinaryDigest is no SHA-256: it must be 64 hexadecimal digits")
        }
        guard !directory.isEmpty else {
            throw DataSamplerError(.invalidConfiguration, "directory is empty: name where the queue shall lie")
        }
        guard (clientKeyFile == nil) == (clientSigningRequestFile == nil) else {
            throw DataSamplerError(
                .invalidConfiguration,
                "\(clientKeyFile == nil ? "clientSigningRequestFile" : "clientKeyFile") is given alone: a client certificate needs the key and "
                    + "the request that was made with it")
        }
        let settings = try connectionSettings
        do { try settings.checkPlaintext() } catch {
            throw DataSamplerError(.invalidConfiguration, error.message, cause: error)
        }
    }

    /// Checks what ``validate()`` leaves to the start because it lies on disk: the files that are named. A start checks
    /// the same first.
    package func validateFiles() throws(DataSamplerError) {
        let settings = try connectionSettings
        do { try settings.check() } catch {
            throw DataSamplerError(.invalidConfiguration, error.message, cause: error)
        }
    }

    private func checkBudgets() throws(DataSamplerError) {
        guard let budgets else { return }
        if let share = budgets.processorShare, !(share > 0 && share <= 1) {
            throw DataSamplerError(
                .invalidConfiguration, "budgets.processorShare is \(share): it must be above 0 and at most 1")
        }
        for (name, bytes) in [
            ("sentBytesPerDay", budgets.sentBytesPerDay), ("writtenBytesPerDay", budgets.writtenBytesPerDay),
        ]
        where bytes == 0 {
            throw DataSamplerError(
                .invalidConfiguration, "budgets.\(name) is 0: it must be 1 or more; nil is no budget")
        }
    }

    private func checkLogRetention() throws(DataSamplerError) {
        func refuse(_ name: String, _ value: some Any, _ wanted: String) -> DataSamplerError {
            DataSamplerError(.invalidConfiguration, "logRetention.\(name) is \(value): it must be \(wanted)")
        }
        guard logRetention.bytes >= 1_000_000 else { throw refuse("bytes", logRetention.bytes, "1000000 or more") }
        guard (1...3650).contains(logRetention.days) else { throw refuse("days", logRetention.days, "1 to 3650") }
        guard logRetention.verboseRingBytes == 0 || logRetention.verboseRingBytes >= 100_000 else {
            throw refuse("verboseRingBytes", logRetention.verboseRingBytes, "0, or 100000 or more")
        }
    }

    private static func check(_ name: String, _ value: Double?, _ range: SecondsRange) throws(DataSamplerError) {
        guard let value else { return }
        guard range.contains(value) else {
            throw DataSamplerError(.invalidConfiguration, "\(name) is \(value): it must be \(range)")
        }
    }

    /// Names of built-in modules must be offered; others are taken for custom ones where they look like one and like no
    /// misspelt built-in one.
    private static func check(_ setting: String, module name: String) throws(DataSamplerError) {
        if SampleModuleName(rawValue: name) != nil {
            _ = try DataSamplerModules(names: [name])
        } else if !name.contains(".") {
            // A custom module's name given in a configuration has a dot, so that a misspelt built-in one is never
            // passed over.
            _ = try DataSamplerModules(names: [name])
        } else if let objection = CustomModuleName.objection(to: name) {
            throw DataSamplerError(.invalidConfiguration, "\(setting): \(objection)")
        }
    }

    var connectionSettings: ConnectionSettings {
        get throws(DataSamplerError) {
            do {
                var settings = ConnectionSettings(
                    collector: try EndpointURL(collector: collectorURL),
                    certificateAuthorityFile: certificateAuthorityFile,
                    proxy: try proxyURL.map { url throws(ConnectionSettingsError) in try EndpointURL(proxy: url) })
                settings.clientKeyFile = clientKeyFile
                settings.allowsPlaintext = allowsPlaintext
                return settings
            } catch {
                throw DataSamplerError(.invalidConfiguration, error.message, cause: error)
            }
        }
    }
}

/// The allowed values of a setting in seconds; one place for the library and the command line.
package struct SecondsRange: Equatable, Sendable, CustomStringConvertible {
    package let least: Double
    package let greatest: Double

    /// Sample and transmit intervals: 1 s to 1 d.
    package static let interval = SecondsRange(least: 1, greatest: 86_400)
    /// How long events are held: 0 to 3 d.
    package static let eventHold = SecondsRange(least: 0, greatest: 259_200)
    /// The beacon schedule: 60 s to 1 d.
    package static let beacon = SecondsRange(least: 60, greatest: 86_400)
    /// The loss window of an ordinary record: 0 to 60 s.
    package static let lossWindow = SecondsRange(least: 0, greatest: 60)

    /// How long the collector may be out of reach before the host is told: 1 s to 366 d.
    package static let offline = SecondsRange(least: 1, greatest: 366 * 86_400)

    /// NaN and the infinities are in no range.
    package func contains(_ value: Double) -> Bool { value >= least && value <= greatest }

    package var description: String { "\(Self.text(least)) to \(Self.text(greatest)) seconds" }

    private static func text(_ value: Double) -> String { "\(Int(value))" }
}
