import CommandKit
import DataSampler
import FoundationEssentials
import Glibc
import LogStore
import TelemetryBasics
import WireModel

/// What the agent runs with, checked value by value; each error names the flag, variable or key that gave the value.
struct AgentSettings: Sendable {
    var configuration: DataSamplerConfiguration
    /// Where each value was given, to tell what a reload changes.
    let layers: SettingLayers
    /// What to log once; such as a file of an enrollment token that is missing and not needed.
    private(set) var remarks: [String] = []
    /// Who else may ask the running agent and read its logs; `nil`: nobody.
    private(set) var accessGroup: AccessGroup?

    /// The agent's own defaults, where they are not the library's.
    enum Default {
        static let beaconInterval = 900.0
        static let lossWindow = 10.0
        static let logLevel = TraceLevel.information
    }

    /// - Parameter needsCollector: whether the command speaks to the collector; others use a directory whose agent is
    ///   configured elsewhere.
    init(_ layers: SettingLayers, needsCollector: Bool) throws(CommandError) {
        func required(_ name: SettingName, _ what: String) throws(CommandError) -> String {
            guard let given = layers[name] else {
                throw CommandError(
                    .usage,
                    "\(what) is not given: use \(name.flag), \(name.variable) or \(name.fileKey) in the configuration file"
                )
            }
            return try given.text()
        }
        self.layers = layers
        let directory = try required(.data, "the data directory")
        var missing: String?
        let token = try Self.token(layers, missing: &missing)
        if let missing, needsCollector {
            // A token enrolls a device once. One that is enrolled runs without, and a command that asks the collector
            // nothing does too.
            guard DataSampler.isEnrolled(in: directory) else {
                throw CommandError(.usage, "\(missing). This device is not enrolled yet and needs one")
            }
            remarks.append("\(missing). This device is enrolled and needs none now")
        }
        configuration = DataSamplerConfiguration(
            directory: directory,
            collectorURL: needsCollector
                ? try required(.collector, "the collector's URL") : (try layers[.collector]?.text() ?? ""),
            enrollmentToken: token, traceLevel: try layers[.logLevel]?.choice(TraceLevel.self) ?? Default.logLevel)
        try takeSampling(layers)
        try takeSending(layers)
        try takeSwitches(layers)
        try takeProgram(layers)
        guard needsCollector else { return }
        accessGroup = try layers[.accessGroup].map { given throws(CommandError) in try AccessGroup(given) }
        try checkAddresses(layers)
    }

    private mutating func takeSampling(_ layers: SettingLayers) throws(CommandError) {
        if let given = layers[.modules] { configuration.sampleModules = try Self.modules(given) }
        if let given = layers[.disabledModules] { configuration.disabledModules = Set(try given.names("modules")) }
        configuration.defaultSampleInterval = try layers[.sampleInterval]?.seconds(.interval)
        configuration.moduleIntervals = try Self.intervals(layers[.moduleIntervals])
        if let source = try layers[.telecomSource]?.choice(TelecomSource.self) { configuration.telecomSource = source }
    }

    private mutating func takeSending(_ layers: SettingLayers) throws(CommandError) {
        configuration.defaultTransmitInterval = try layers[.transmitInterval]?.seconds(.interval)
        configuration.eventHold = try layers[.eventHold]?.seconds(.eventHold)
        configuration.beaconInterval = try layers[.beaconInterval]?.seconds(.beacon) ?? Default.beaconInterval
        configuration.lossWindow = try layers[.lossWindow]?.seconds(.lossWindow) ?? Default.lossWindow
        configuration.certificateAuthorityFile = try layers[.ca]?.text()
        configuration.clientKeyFile = try layers[.clientKey]?.text()
        configuration.clientSigningRequestFile = try layers[.clientRequest]?.text()
        configuration.proxyURL = try layers[.proxy]?.text()
        configuration.allowsPlaintext = try layers[.allowPlaintext]?.flag() ?? false
        configuration.offlineTimeAllowed = try layers[.offlineTimeAllowed]?.seconds(.offline)
        if let given = layers[.credentialDays] { configuration.credentialDays = try given.number() }
        configuration.budgets = try Self.budgets(layers[.budgets])
        configuration.logRetention = try Self.logRetention(layers[.logRetention])
    }

    private mutating func takeSwitches(_ layers: SettingLayers) throws(CommandError) {
        configuration.analyticsEnabled = try layers[.analytics]?.flag() ?? true
        configuration.loggingEnabled = try layers[.logging]?.flag() ?? true
        configuration.logsOverWiFiOnly = try layers[.logsOverWiFiOnly]?.flag() ?? false
        configuration.telemetryDisabled = try layers[.telemetryDisabled]?.flag() ?? false
        configuration.isTest = try layers[.test]?.flag() ?? false
        for (name, action) in try layers[.privacy]?.table("{mac: 'hash'}") ?? [] {
            configuration.privacy[name] = try action.choice(PersonalFieldAction.self)
        }
    }

    private mutating func takeProgram(_ layers: SettingLayers) throws(CommandError) {
        configuration.applicationIdentifier = try layers[.application]?.text() ?? ""
        configuration.applicationVersion = try layers[.applicationVersion]?.text() ?? ""
        configuration.expectedBinaryDigest = try layers[.binaryDigest]?.text()
        guard let given = layers[.detectors] else { return }
        var detectors: Set<BuiltInDetector> = []
        for name in try given.names("detectors") {
            detectors.insert(try GivenSetting(value: .text(name), origin: given.origin).choice(BuiltInDetector.self))
        }
        configuration.builtInDetectors = detectors
    }

    /// Whether a start could make the data directory, or write to it. What stands in the way may be gone at the next
    /// start, as a disk that is read-only for now: so it is no usage error.
    func checkDirectory() throws(CommandError) {
        var place = configuration.directory
        while access(place, F_OK) != 0, errno == ENOENT, let slash = place.lastIndex(of: "/") {
            place = slash == place.startIndex ? "/" : String(place[..<slash])
            if place == "/" { break }
        }
        // A relative path whose first name is missing is made here.
        if access(place, F_OK) != 0, errno == ENOENT, !place.contains("/") { place = "." }
        var status = stat()
        if stat(place, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw CommandError(
                    .failed, "the data directory \(configuration.directory) cannot be used: \(place) is no directory")
            }
            guard faccessat(AT_FDCWD, place, W_OK | X_OK, AT_EACCESS) != 0 else { return }
        }
        let why = AccessDenial.text(place, errno) ?? "\(place): \(String(cString: strerror(errno)))"
        throw CommandError(.failed, "the data directory \(configuration.directory) cannot be written: \(why)")
    }

    /// What is left to check is what the library knows best: names, digests, addresses, files that are named. All that
    /// a start would refuse about the settings is refused here, so that `validate` and `run` cannot differ.
    private func checkAddresses(_ layers: SettingLayers) throws(CommandError) {
        do {
            try configuration.validate()
            try configuration.validateFiles()
        } catch {
            let checked: [SettingName] = [
                .collector, .proxy, .ca, .clientKey, .clientRequest, .moduleIntervals, .disabledModules, .privacy,
                .budgets, .logRetention,
                .credentialDays, .binaryDigest,
            ]
            let origins = checked.compactMap { layers[$0]?.origin }.joined(separator: ", ")
            throw CommandError(.usage, "\(origins): \(error.message)", cause: error)
        }
    }

    private static func modules(_ given: GivenSetting) throws(CommandError) -> DataSamplerModules {
        let names = try given.names("modules")
        do { return try DataSamplerModules(names: names) } catch { throw given.refused(error) }
    }

    private static func intervals(_ given: GivenSetting?) throws(CommandError) -> [String: DataSamplerConfiguration
        .ModuleIntervals]
    {
        var result: [String: DataSamplerConfiguration.ModuleIntervals] = [:]
        guard let given else { return result }
        for (module, values) in try given.table("{system: {sampleInterval: 10}}") {
            var intervals = DataSamplerConfiguration.ModuleIntervals()
            for (key, value) in try values.table("{sampleInterval: 10}") {
                let entry = GivenSetting(value: value.value, origin: "\(module).\(key) of \(given.origin)")
                switch key {
                case SettingName.sampleInterval.fileKey: intervals.sampleInterval = try entry.seconds(.interval)
                case SettingName.transmitInterval.fileKey: intervals.transmitInterval = try entry.seconds(.interval)
                default:
                    throw entry.unknownKey([SettingName.sampleInterval.fileKey, SettingName.transmitInterval.fileKey])
                }
            }
            result[module] = intervals
        }
        return result
    }

    private static func budgets(_ given: GivenSetting?) throws(CommandError) -> DataSamplerBudgets? {
        guard let given else { return nil }
        var budgets = DataSamplerBudgets()
        for (key, entry) in try given.table("{sentBytesPerDay: 10000000}") {
            switch key {
            case "sentBytesPerDay": budgets.sentBytesPerDay = try bytes(entry)
            case "writtenBytesPerDay": budgets.writtenBytesPerDay = try bytes(entry)
            case "processorShare": budgets.processorShare = try entry.number()
            default: throw entry.unknownKey(["sentBytesPerDay", "writtenBytesPerDay", "processorShare"])
            }
        }
        return budgets
    }

    private static func logRetention(_ given: GivenSetting?) throws(CommandError) -> LogRetention {
        var retention = LogRetention()
        guard let given else { return retention }
        for (key, entry) in try given.table("{bytes: 50000000}") {
            switch key {
            case "bytes": retention.bytes = try wholeNumber(entry)
            case "days": retention.days = try entry.number()
            case "verboseRingBytes": retention.verboseRingBytes = try wholeNumber(entry)
            default: throw entry.unknownKey(["bytes", "days", "verboseRingBytes"])
            }
        }
        return retention
    }

    private static func wholeNumber(_ given: GivenSetting) throws(CommandError) -> Int {
        guard let number = Int(exactly: try given.number()) else { throw given.wrong("a whole number of bytes") }
        return number
    }

    private static func bytes(_ given: GivenSetting) throws(CommandError) -> UInt64 {
        guard let number = try? given.number(), let bytes = UInt64(exactly: number), bytes > 0 else {
            throw given.wrong("a whole number of bytes, 1 or more")
        }
        return bytes
    }

    /// - Parameter missing: why the file that is named holds no token.
    private static func token(_ layers: SettingLayers, missing: inout String?) throws(CommandError) -> String? {
        let token = layers[.enrollmentToken]
        let file = layers[.enrollmentTokenFile]
        if let token, let file {
            throw CommandError(.usage, "\(token.origin) and \(file.origin) are both given: give one")
        }
        if let token { return try token.text() }
        guard let file else { return nil }
        let path = try file.text()
        guard let content = try? Files<FileError>.read(path, maximumBytes: 4097), content.count <= 4096,
            let line = String(decoding: content, as: UTF8.self).split(whereSeparator: \.isNewline).first
        else {
            missing =
                "\(file.origin): no enrollment token in \(path): it must be readable and hold one line of at most 4096 bytes"
            return nil
        }
        return line.trimmingSpaces
    }
}
