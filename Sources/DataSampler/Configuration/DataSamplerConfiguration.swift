/// How a ``DataSampler`` samples, keeps and sends. A value; changing it after ``DataSampler/init(configuration:logger:)`` changes nothing.
///
/// The four parameters of the initializer that are required are those of (ws1); everything else has a default.
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

    /// What is sampled. An empty set samples nothing; events and beacons go on.
    public var sampleModules: DataSamplerModules
    /// Seconds between two samples of a module, 1 to 86,400.
    public var defaultSampleInterval: Double
    /// Seconds between two transmits, 1 to 86,400.
    public var defaultTransmitInterval: Double
    /// How much the data sampler says of itself.
    public var traceLevel: TraceLevel

    /// Where queue, identity and lock lie; made with mode 0700 where it is missing. One process at a time holds it.
    public var directory: String
    /// `http[s]://HOST[:PORT][/PREFIX]`.
    public var collectorURL: String
    /// Enrolls this device at its first contact; not needed afterwards. `nil`: an enrolled device goes on, another one holds.
    public var enrollmentToken: String?
    /// Bundle id of the program, in every record and beacon. Empty: the agent itself.
    public var applicationIdentifier: String
    /// The program's version, in beacons.
    public var applicationVersion: String
    /// Seconds an event is held before it is sent, 0 to 259,200 (3 days); default 7,200 (ws1).
    public var eventHold: Double
    /// Seconds between two beacons that ``DataSampler/start()`` schedules, 60 to 86,400; `nil`: none until
    /// ``DataSampler/startSendingDeviceStatusBeacon(transmitFrequency:)``.
    public var beaconInterval: Double?
    /// Seconds of ordinary records that a power cut may take, 0 (each is durable) to 60; default 1.
    public var lossWindow: Double
    /// PEM file of the only certificate authorities to trust; `nil`: those of the system.
    public var certificateAuthorityFile: String?
    /// `http://HOST[:PORT]` of an HTTP proxy; `nil`: direct.
    public var proxyURL: String?
    /// Whether events may be recorded.
    public var analyticsEnabled: Bool
    /// Marks all records as test data, kept out of views and quotas unless asked for.
    public var isTest: Bool
    /// Other intervals for single modules, by module name.
    public var moduleIntervals: [String: ModuleIntervals]

    /// Nothing is checked here; ``validate()`` and ``DataSampler/init(configuration:logger:)`` do.
    public init(
        sampleModules: DataSamplerModules, defaultSampleInterval: Double, defaultTransmitInterval: Double, traceLevel: TraceLevel,
        directory: String, collectorURL: String, enrollmentToken: String? = nil, applicationIdentifier: String = "",
        applicationVersion: String = "", eventHold: Double = 7200, beaconInterval: Double? = nil, lossWindow: Double = 1,
        certificateAuthorityFile: String? = nil, proxyURL: String? = nil, analyticsEnabled: Bool = true, isTest: Bool = false,
        moduleIntervals: [String: ModuleIntervals] = [:]
    ) {
        self.sampleModules = sampleModules
        self.defaultSampleInterval = defaultSampleInterval
        self.defaultTransmitInterval = defaultTransmitInterval
        self.traceLevel = traceLevel
        self.directory = directory
        self.collectorURL = collectorURL
        self.enrollmentToken = enrollmentToken
        self.applicationIdentifier = applicationIdentifier
        self.applicationVersion = applicationVersion
        self.eventHold = eventHold
        self.beaconInterval = beaconInterval
        self.lossWindow = lossWindow
        self.certificateAuthorityFile = certificateAuthorityFile
        self.proxyURL = proxyURL
        self.analyticsEnabled = analyticsEnabled
        self.isTest = isTest
        self.moduleIntervals = moduleIntervals
    }
}
