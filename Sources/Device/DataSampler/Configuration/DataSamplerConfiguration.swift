import Encryption
import HTTPConnection
import LogStore
import RecordQueue
import SampleModules
import WireModel

/// How a ``DataSampler`` samples, stores and sends. A value; changing it after
/// ``DataSampler/init(configuration:logger:)`` has no effect.
///
/// A setting that is `nil` is decided by the profile, or else by the compiled default. The profile wins over values set
/// here, and an explicit call wins over both. But *disabling*, *Wi-Fi only* and privacy are only ever tightened:
/// ``disabledModules``, ``telemetryDisabled``, ``analyticsEnabled`` and ``loggingEnabled`` of `false`,
/// ``logsOverWiFiOnly`` and ``privacy`` apply whatever the profile says.
public struct DataSamplerConfiguration: Sendable {
    /// The intervals of one module, if they differ from the defaults.
    public struct ModuleIntervals: Equatable, Sendable {
        /// Seconds between two samples, 1 to 86,400; `nil` uses the default.
        public var sampleInterval: Double?
        /// Seconds between two transmissions, 1 to 86,400; `nil` uses the default.
        public var transmitInterval: Double?

        /// `nil` keeps the default of that interval.
        public init(sampleInterval: Double? = nil, transmitInterval: Double? = nil) {
            self.sampleInterval = sampleInterval
            self.transmitInterval = transmitInterval
        }
    }

    /// The modules to sample if the profile does not decide; `nil` is system, analytics and custom. An empty set
    /// samples nothing, but events and beacons continue.
    public var sampleModules: DataSamplerModules?
    /// Seconds between two samples of a module, 1 to 86,400; `nil` is 60.
    public var defaultSampleInterval: Double?
    /// Seconds between two transmissions, 1 to 86,400; `nil` is 300.
    public var defaultTransmitInterval: Double?
    /// How much the data sampler logs about itself.
    public var traceLevel: TraceLevel

    /// Directory of queue, identity, profile and lock. Made with mode 0700 if missing. One process at a time holds it.
    public var directory: String { didSet { keys = nil } }
    /// `http[s]://HOST[:PORT][/PREFIX]`; or `mqtts://BROKER[:PORT]/PREFIX` for a collector behind a message broker.
    /// `http` and `mqtt` to another machine require ``allowsPlaintext``.
    public var collectorURL: String
    /// Enrolls this device at its first contact; not needed afterwards. With `nil`, an enrolled device continues, and
    /// another one waits.
    public var enrollmentToken: String?
    /// Bundle id of the program, in every record and beacon. Empty for the agent itself.
    public var applicationIdentifier: String = ""
    /// The program's version, in beacons.
    public var applicationVersion: String = ""
    /// Seconds an event is held before it is sent, 0 to 259,200 (3 days); `nil` is 7,200 (ws1).
    public var eventHold: Double?
    /// Seconds between two beacons scheduled by ``DataSampler/start()``, 60 to 86,400. `nil` follows the profile, or
    /// schedules none until ``DataSampler/startSendingDeviceStatusBeacon(transmitFrequency:)``.
    public var beaconInterval: Double?
    /// Seconds of ordinary records that a power cut may lose: 0 (each is durable) to 60; default 1.
    public var lossWindow: Double = 1
    /// PEM file of certificate authorities to trust beside those of the system; `nil` for none.
    public var certificateAuthorityFile: String?
    /// Certificate authorities to trust beside those of the system: certificates in DER, base64, at most eight. An
    /// enrollment file may have some.
    public var certificateAuthorities: [String] = []
    /// The keys that the collector may show: SHA-256 of the subject public key info (RFC 7469), base64, at most 32.
    /// They hold from the first contact on, and as long as the profile has no pins of its own. Empty accepts any key
    /// that the authorities confirm.
    public var certificatePins: [String] = []
    /// PEM file with the private key of this device's client certificate, without a passphrase; `nil` shows no
    /// certificate. Requires ``clientSigningRequestFile``. The key stays in this file and is never sent.
    public var clientKeyFile: String?
    /// File with the certificate signing request made with that key (PKCS #10, PEM or DER). It is sent when the device
    /// enrolls, and when a third of its certificate's lifetime is left. The collector's certificates are stored with
    /// the identity.
    public var clientSigningRequestFile: String?
    /// This device's user at the message broker; `nil` for none. It has nothing to do with the enrollment. It and the
    /// other settings of the broker need a ``collectorURL`` of `mqtts` or `mqtt`.
    public var mqttUser: String?
    /// File whose first line is the password of ``mqttUser``; `nil` for none. It is read for each connection.
    public var mqttPasswordFile: String?
    /// This device's name at the message broker, another for each device; `nil` is ``mqttUser``. It is one level of a
    /// topic: 1 to 128 bytes without `/`, `+` and `#`.
    public var mqttName: String?
    /// PEM file with the client certificate for the message broker, and its chain; `nil` for none. Requires
    /// ``mqttKey``.
    public var mqttCertificate: String?
    /// PEM file with the private key of ``mqttCertificate``, without a passphrase.
    public var mqttKey: String?
    /// `http://HOST[:PORT]` of an HTTP proxy; `nil` connects directly. A message broker is always reached directly.
    public var proxyURL: String?
    private(set) var proxyEnvironment = ProxyEnvironment()
    /// Whether plain `http` or `mqtt` to other machines is allowed, to a collector, proxy or broker. Anybody on the way
    /// can then read and change everything, including the device's credential. Default: `false`, only to this machine.
    public var allowsPlaintext = false
    /// `false` records no events, whatever the profile says. `true` leaves it to the profile.
    public var analyticsEnabled: Bool = true
    /// `false` keeps and sends no logs, whatever the profile says. `true` leaves it to the profile.
    public var loggingEnabled: Bool = true
    /// `true` sends logs only over Wi-Fi or wired networks, whatever the profile says. `false` leaves it to the profile
    /// (ws1).
    public var logsOverWiFiOnly: Bool = false
    /// The log store to use, opened by the program before anything else. The data sampler sets its level, adds the
    /// profile's scrub rules, and does not close it. With `nil`, ``DataSampler/start()`` opens one in
    /// `<directory>/logs` and ``DataSampler/stop()`` closes it.
    public var logStore: LogStore?
    /// The limits of the log store in `<directory>/logs`.
    public var logRetention = LogRetention()
    /// The text that is replaced in lines before they are written, in addition to the profile's rules. A rule that is
    /// removed here at run time ends at the next start.
    public var logScrubbing = LogScrubbing()
    /// Files whose lines are taken into the log store, by the application that they get there. Only a start reads it.
    package var intakes: [String: IntakeSettings] = [:]
    /// Metrics of other programs, by the custom module that they become. Only a start reads it.
    package var metricSources: [String: MetricSourceSettings] = [:]
    /// `true` samples, records and sends nothing, whatever the profile says. `false` leaves it to the profile (intune).
    public var telemetryDisabled: Bool = false
    /// Names of modules, built-in or custom, that stay off whatever the profile says.
    public var disabledModules: Set<String> = []
    /// Who counts network traffic (ws1).
    public var telecomSource: TelecomSource = .device
    /// The treatment of personal fields, by the name of their class (`ssid`, `mac`, `position` and so on). The stricter
    /// of this and the profile applies.
    public var privacy: [String: PersonalFieldAction] = [:]
    /// The consent until the host calls ``DataSampler/setConsent(_:)``. After that, the stored decision applies.
    public var initialConsent: DataSamplerConsent = .granted
    /// `true` marks all records as test data, which views and quotas leave out unless asked. `false` leaves it to the
    /// profile.
    public var isTest: Bool = false
    /// Intervals of single modules, built-in or custom, by name.
    public var moduleIntervals: [String: ModuleIntervals] = [:]
    /// Seconds without the collector after which the host is notified, 1 or more. `nil` follows the profile, or never
    /// notifies (ws1).
    public var offlineTimeAllowed: Double?
    /// Days after which the device requests a new credential by itself, up to 3650; 0 for never. Default 90.
    public var credentialDays: Double = 90
    /// The limits on what the sampler may cost; `nil` leaves them to the profile.
    public var budgets: DataSamplerBudgets?

    /// Whether to follow logind, for a program that is the machine's only agent. Then an unlock sends a beacon. Before
    /// sleep and shutdown all modules are sampled and waiting records are put on disk. Beacons contain the user of the
    /// session at the machine's screen, unless ``DataSampler/setUser(_:)`` sets another. Only a start reads it.
    /// Default: `false`.
    public var followsLogind = false

    /// Where positions come from, for module `gps`, geofences and beacons; it counts instead of ``gpsd``. `nil`: gpsd
    /// if that is named, else none. Only a start reads it.
    public var locationSource: (any LocationSource)?
    /// Where gpsd listens on this machine: `127.0.0.1:2947`, `[::1]:2947` or the path of its Unix socket. It is
    /// connected only while somebody wants the location and may know it. Only a start reads it. Default: `nil`, gpsd is
    /// not asked.
    public var gpsd: String?

    /// Where gpsd listens by itself.
    package static let standardGPSD = GPSDAddress.standard

    /// The detectors of the library that search signs of compromise. Default: all.
    public var builtInDetectors: Set<BuiltInDetector> = Set(BuiltInDetector.allCases)
    /// The application's own detectors, in addition. The first 64 of all are used.
    public var detectors: [any CompromiseDetector] = []
    /// SHA-256 of the program's file, 64 hexadecimal digits, for ``BuiltInDetector/agentBinaryModified``. `nil` uses
    /// the digest recorded when this release first started here.
    public var expectedBinaryDigest: String?

    /// Whether what is kept in the data directory is encrypted, such as credential, profile and push token. A start
    /// converts what is there, in both directions. Without the keys a start samples all the same: records wait in
    /// memory, and nothing is sent, until ``DataSampler/enterPasscode(_:)`` or until the key is there again. Only a
    /// start reads it. Default: `nil`, a new data directory whose ``deviceKey`` is a key file is encrypted, and others
    /// stay as they are.
    public var encryptsAtRest: Bool?
    /// Where the device key comes from, which protects the keys of the data directory and those for
    /// ``DataSampler/encrypt(_:)``. Only a start reads it. Default: a key file in the data directory.
    public var deviceKey = DeviceKeySource.file(path: nil) { didSet { keys = nil } }
    /// The keys of the data directory, for a log store that is opened before the data sampler. Both must use the same.
    /// `nil`: the data sampler makes them.
    package var keys: KeyRing?

    /// Erases the program's own data when a wipe begins, whoever asked for it (ws1). The data sampler has stopped
    /// recording by then and erases its own data afterwards: when this returns, or after 30 seconds, when the call is
    /// cancelled. If the process ends before, ``DataSampler/start()`` calls it again. `nil`: there is none.
    public var eraseHostData: (@Sendable (DataSamplerWipe) async -> Void)?

    /// Takes a message that a person sent to this program through the collector: the command `message`. When this
    /// returns, the message is delivered and its command `done`. After an error, or after ten minutes, when the call is
    /// cancelled, the command is `not-now`; the same message comes again after a minute, then after longer pauses,
    /// until the command expires. Messages come one at a time. If the process ends before the end is stored, the next
    /// start delivers the message again with the same ``DataSamplerMessage/id``. `nil`: the program takes no messages,
    /// and the command is answered `unsupported`. Only a start reads it.
    public var receiveMessage: (@Sendable (DataSamplerMessage) async throws -> Void)?

    /// Sets what is required; the profile and the defaults decide the rest.
    ///
    /// Values are checked by ``validate()`` and ``DataSampler/init(configuration:logger:)``.
    public init(
        directory: String, collectorURL: String, enrollmentToken: String? = nil, traceLevel: TraceLevel = .warning
    ) {
        self.directory = directory
        self.collectorURL = collectorURL
        self.enrollmentToken = enrollmentToken
        self.traceLevel = traceLevel
    }

    /// Sets the four parameters that (ws1) requires.
    ///
    /// Values are checked by ``validate()`` and ``DataSampler/init(configuration:logger:)``.
    public init(
        sampleModules: DataSamplerModules, defaultSampleInterval: Double, defaultTransmitInterval: Double,
        traceLevel: TraceLevel, directory: String, collectorURL: String, enrollmentToken: String? = nil
    ) {
        self.init(
            directory: directory, collectorURL: collectorURL, enrollmentToken: enrollmentToken, traceLevel: traceLevel)
        self.sampleModules = sampleModules
        self.defaultSampleInterval = defaultSampleInterval
        self.defaultTransmitInterval = defaultTransmitInterval
    }
}

/// A wipe that has begun, see ``DataSamplerConfiguration/eraseHostData``.
public struct DataSamplerWipe: Equatable, Sendable {
    /// The given reason; empty if none was given.
    public let reason: String
    /// `true`: an enterprise wipe. Afterwards the device is not enrolled any more. `false`: it stays enrolled.
    public let endsEnrollment: Bool
}

/// The limits of a device's log store. The oldest segments are removed first and counted.
public struct LogRetention: Equatable, Sendable {
    /// Bytes on disk of lines at the level in force, 1,000,000 or more.
    public var bytes: Int
    /// Days a segment is kept after its last line, 1 to 3,650.
    public var days: Double
    /// Bytes on disk of the ring, which keeps less severe lines for requests that ask for them: 100,000 or more, or 0
    /// for none.
    public var verboseRingBytes: Int

    package static let leastBytes = 1_000_000
    package static let daysAllowed = 1.0...3650.0
    /// The smallest size of a ring that is kept at all.
    package static let leastRingBytes = 100_000

    /// The defaults: 50 MB, 14 days, 5 MB.
    public init(bytes: Int = 50_000_000, days: Double = 14, verboseRingBytes: Int = 5_000_000) {
        self.bytes = bytes
        self.days = days
        self.verboseRingBytes = verboseRingBytes
    }
}

/// Who counts this device's network traffic (ws1).
public enum TelecomSource: String, CaseIterable, Codable, Sendable {
    /// This device counts it.
    case device
    /// A hub counts it already. NetworkData is not sampled even if requested, and the log says so.
    case hub
}

/// The treatment of a personal field before it is stored, in ascending strictness. The stricter of configuration and
/// profile applies.
public enum PersonalFieldAction: String, CaseIterable, Codable, Sendable {
    /// Stored and sent unchanged.
    case send
    /// Replaced by a hash with the organization's key. Equal values can be recognized but not read.
    case hash
    /// Made less exact: a network instead of an address, a region instead of a position.
    case coarsen
    /// Left out.
    case drop
}

/// The limits on what the sampler may cost. It keeps a budget by slowing down, and reports this in status, samples and
/// beacons.
public struct DataSamplerBudgets: Equatable, Sendable {
    /// Compressed bytes sent per day, 1 or more; `nil` for no budget.
    public var sentBytesPerDay: UInt64?
    /// Bytes written to disk per day, 1 or more; `nil` for no budget.
    public var writtenBytesPerDay: UInt64?
    /// Share of one processor core, above 0 and up to 1,000 (cores); `nil`: no budget.
    public var processorShare: Double?

    /// The greatest share that a profile may allow, which counts in ten-thousandths.
    package static let greatestProcessorShare = Double(ProfileLimits.cpuShare.upperBound) / 10_000

    /// `nil` sets no budget.
    public init(sentBytesPerDay: UInt64? = nil, writtenBytesPerDay: UInt64? = nil, processorShare: Double? = nil) {
        self.sentBytesPerDay = sentBytesPerDay
        self.writtenBytesPerDay = writtenBytesPerDay
        self.processorShare = processorShare
    }
}

extension DataSamplerConfiguration {
    package static let greatestCredentialDays = 3650.0

    /// Checks every value against its range. Uses neither disk nor network.
    ///
    /// - Throws: `invalidConfiguration` with the first value out of range, and the range.
    public func validate() throws(DataSamplerError) {
        try Self.check("defaultSampleInterval", defaultSampleInterval, .interval)
        try Self.check("defaultTransmitInterval", defaultTransmitInterval, .interval)
        try Self.check("eventHold", eventHold, .eventHold)
        try Self.check("lossWindow", lossWindow, .lossWindow)
        try Self.check("beaconInterval", beaconInterval, .beacon)
        try Self.check("offlineTimeAllowed", offlineTimeAllowed, .offline)
        guard (0...Self.greatestCredentialDays).contains(credentialDays) else {
            throw Self.invalid(
                """
                credentialDays is \(credentialDays): it must be 0 to \(Int(Self.greatestCredentialDays)) days, 0 for \
                never
                """
            )
        }
        _ = try sampleModules?.moduleNames
        for (name, intervals) in moduleIntervals.sorted(by: { $0.key < $1.key }) {
            try Self.check("moduleIntervals", module: name)
            try Self.check("moduleIntervals.\(name).sampleInterval", intervals.sampleInterval, .interval)
            try Self.check("moduleIntervals.\(name).transmitInterval", intervals.transmitInterval, .interval)
        }
        // callLog is reserved for another platform.
        if disabledModules.contains(SampleModuleName.callLog.rawValue) {
            _ = try DataSamplerModules.callLog.moduleNames
        }
        // A module that this version does not have may be disabled; it stays off.
        for name in disabledModules.sorted() where SampleModuleName(rawValue: name) == nil {
            try Self.check("disabledModules", module: name)
        }
        for name in privacy.keys.sorted() where FieldClass.decidable.allSatisfy({ $0.rawValue != name }) {
            let classes = FieldClass.decidable.map(\.rawValue).sorted().joined(separator: ", ")
            throw Self.invalid("privacy names '\(name)': the classes are \(classes)")
        }
        try checkBudgets()
        try checkLogRetention()
        guard intakes.count <= IntakeSettings.maximumSources else {
            throw Self.invalid(
                "intake has \(intakes.count) sources: at most \(IntakeSettings.maximumSources) are read")
        }
        for (name, source) in intakes.sorted(by: { $0.key < $1.key }) {
            try source.check(name, dataDirectory: directory)
        }
        guard metricSources.count <= MetricSourceSettings.maximumSources else {
            throw Self.invalid(
                """
                metricSources has \(metricSources.count) sources: at most \(MetricSourceSettings.maximumSources) are \
                read
                """)
        }
        for (name, source) in metricSources.sorted(by: { $0.key < $1.key }) { try source.check(name) }
        do throws(LogStoreError) { try logScrubbing.validate() } catch {
            throw DataSamplerError(.invalidConfiguration, "logScrubbing: \(error.message)", cause: error)
        }
        if let digest = expectedBinaryDigest, digest.utf8.count != 64 || !digest.allSatisfy(\.isHexDigit) {
            throw Self.invalid("expectedBinaryDigest is not a SHA-256: it must be 64 hexadecimal digits")
        }
        if let gpsd { _ = try GPSDAddress(gpsd) }
        try deviceKey.validate()
        guard !directory.isEmpty else { throw Self.invalid("directory is empty: name the directory for the queue") }
        guard (clientKeyFile == nil) == (clientSigningRequestFile == nil) else {
            throw Self.invalid(
                "\(clientKeyFile == nil ? "clientSigningRequestFile" : "clientKeyFile") is given alone: a client "
                    + "certificate needs the key too, and the request that was made with it")
        }
        try validateRoute()
    }

    /// Checks the files that the configuration names, which ``validate()`` does not. A start does the same first.
    package func validateFiles() throws(DataSamplerError) {
        try collectorRoute.checkFiles()
    }

    private func checkBudgets() throws(DataSamplerError) {
        guard let budgets else { return }
        if let share = budgets.processorShare, !(share > 0 && share <= DataSamplerBudgets.greatestProcessorShare) {
            throw Self.invalid(
                "budgets.processorShare is \(share): it must be above 0 and at most "
                    + "\(DataSamplerBudgets.greatestProcessorShare)")
        }
        for (name, bytes) in [
            ("sentBytesPerDay", budgets.sentBytesPerDay), ("writtenBytesPerDay", budgets.writtenBytesPerDay),
        ]
        where bytes == 0 {
            throw Self.invalid("budgets.\(name) is 0: it must be 1 or more; nil is no budget")
        }
    }

    private func checkLogRetention() throws(DataSamplerError) {
        func refuse(_ name: String, _ value: some Any, _ wanted: String) -> DataSamplerError {
            Self.invalid("logRetention.\(name) is \(value): it must be \(wanted)")
        }
        guard logRetention.bytes >= LogRetention.leastBytes else {
            throw refuse("bytes", logRetention.bytes, "\(LogRetention.leastBytes) or more")
        }
        guard LogRetention.daysAllowed.contains(logRetention.days) else {
            throw refuse("days", logRetention.days, "1 to 3650")
        }
        guard logRetention.verboseRingBytes == 0 || logRetention.verboseRingBytes >= LogRetention.leastRingBytes else {
            throw refuse(
                "verboseRingBytes", logRetention.verboseRingBytes, "0, or \(LogRetention.leastRingBytes) or more")
        }
    }

    private static func check(_ name: String, _ value: Double?, _ range: SecondsRange) throws(DataSamplerError) {
        guard let value else { return }
        guard range.contains(value) else { throw invalid("\(name) is \(value): it must be \(range)") }
    }

    static func invalid(_ message: String) -> DataSamplerError {
        DataSamplerError(.invalidConfiguration, message)
    }

    /// Names of built-in modules must be available. Other names count as custom modules if they look like one and do
    /// not look like a misspelt built-in one.
    private static func check(_ setting: String, module name: String) throws(DataSamplerError) {
        // A custom module's name has a dot, so a misspelt built-in name never passes unnoticed.
        if SampleModuleName(rawValue: name) != nil || !name.contains(".") {
            _ = try DataSamplerModules(names: [name])
        } else if let objection = CustomModuleName.objection(to: name) {
            throw invalid("\(setting): \(objection)")
        }
    }

    /// While ``proxyURL`` is `nil`, `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` of this environment name the proxy. Our
    /// programs ask for it; an application decides for itself.
    package mutating func applyProxy(from environment: [String: String]) {
        proxyEnvironment = ProxyEnvironment(environment)
    }

    /// The source to ask; `nil`: there is none. Valid.
    func effectiveLocationSource(clock: any RecordClock) -> (any LocationSource)? {
        if let locationSource { return locationSource }
        guard let gpsd, let address = try? GPSDAddress(gpsd) else { return nil }
        return GPSDSource(address) { clock.now().timeSinceBoot }
    }
}

/// The allowed range of a setting in seconds, shared by the library and the command line.
package struct SecondsRange: Equatable, Sendable, CustomStringConvertible {
    package let least: Double
    package let greatest: Double

    /// Sample and transmit intervals: 1 s to 1 d.
    package static let interval = SecondsRange(least: 1, greatest: 86_400)
    /// The hold of events: 0 to 3 d.
    package static let eventHold = SecondsRange(least: 0, greatest: 259_200)
    /// The beacon interval: 60 s to 1 d.
    package static let beacon = SecondsRange(least: 60, greatest: 86_400)
    /// The loss window of an ordinary record: 0 to 60 s.
    package static let lossWindow = SecondsRange(least: 0, greatest: 60)

    /// How long the collector may be unreachable before the host is notified: 1 s to 366 d.
    package static let offline = SecondsRange(least: 1, greatest: 366 * 86_400)

    /// NaN and infinities are in no range.
    package func contains(_ value: Double) -> Bool { value >= least && value <= greatest }

    package var description: String { "\(Int(least)) to \(Int(greatest)) seconds" }
}
