import FoundationEssentials
import LogStore
import Privacy
import SampleModules
import TelemetryBasics
import WireModel

/// The settings in force. Only `resolve` makes this value, so no part of the library reads a single layer.
///
/// Precedence: compiled defaults < local (code, file, flags, environment) < profile < explicit call. For *disable*,
/// *Wi-Fi only* and privacy, the stricter of local and profile applies.
struct DeviceSettings: Equatable, Sendable {
    /// The layer that decided a setting.
    enum Source: String, Codable, Sendable {
        case compiled = "default"
        case local
        case profile
        case call
        /// A temporary command of the collector.
        case command
    }

    struct Logging: Equatable, Sendable {
        var enabled = true
        var level = WireLogLevel.information
        /// Logs wait for Wi-Fi or a wired network.
        var wifiOnly = false
        /// The scrub rules of profile and configuration together.
        var scrubbing = LogScrubbing()
    }

    /// The values of explicit calls and temporary commands.
    struct Calls: Equatable, Sendable {
        enum Beacons: Equatable, Sendable {
            /// There was no call. Profile or configuration decide the schedule.
            case unsaid
            /// Seconds.
            case every(Double)
            case stopped
        }

        var beacons = Beacons.unsaid
        /// The level holds until the command's time is over.
        var logLevel: WireLogLevel?
    }

    /// 0: no profile.
    var profileRevision: UInt64 = 0
    /// Whether a profile is available, fetched now or the last good one from disk. Without one, no events are accepted
    /// (ws1).
    var profileChecked = false
    var telemetryDisabled = false
    /// The sampled modules by bit. `custom` stands for all registered ones that are not disabled by name.
    var modules: [SampleModuleName] = []
    /// Requested modules that are not sampled, and why.
    var unavailable: [String: String] = [:]
    /// Custom modules that stay off.
    var disabledCustomModules: Set<String> = []
    /// Sample intervals in seconds. `custom` is the default of custom modules.
    var sampleIntervals: [SampleModuleName: Double] = [:]
    /// Sample intervals of custom modules with their own, by name, in seconds.
    var customIntervals: [String: Double] = [:]
    var transmitInterval: Duration = .seconds(300)
    /// Transmit intervals of sampled modules with their own, by name.
    var moduleTransmitIntervals: [String: Duration] = [:]
    var analyticsEnabled = true
    var eventHold: Duration = .seconds(7200)
    /// Seconds between two beacons; `nil` without a schedule.
    var beaconInterval: Double?
    var privacy = PrivacyPolicy()
    /// The key for hashes of personal fields. If empty, values that would be hashed are dropped.
    var privacyKey = Data()
    /// The grid of coarse positions, in degrees.
    var positionGrid = CompiledDefaults.positionGrid
    var transmission: [WireTransmissionRule] = []
    var compliance: [WireComplianceRule] = []
    var geofences: [WireGeofence] = []
    var detection = DetectionRules()
    /// The consequence where the device is compromised.
    var compromiseConsequence = VerdictConsequence.report
    /// Seconds without the collector after which the host is notified; `nil` for never.
    var offlineTimeAllowed: Double?
    /// The greatest age of the device's credential; `nil` for no limit.
    var credentialLifetime: Duration?
    var doNotDisturbAllowed = false
    /// SHA-256 of public keys. The collector's certificate must have one of them; empty for no pinning.
    var pins: [Data] = []
    /// The pins of the configuration, which hold as long as the profile has none.
    var localPins: [Data] = []
    /// The profile's certificate authorities, in DER, which are trusted beside those of system and configuration.
    var authorities: [Data] = []
    /// Whether the configuration names authorities, too.
    var hasLocalAuthorities = false
    /// Text that is passed to the host unchanged (ws1).
    var customPayload: String?
    var test = false
    var logging = Logging()
    var budgets = DataSamplerBudgets()
    /// The parts of the profile that are not applied.
    var findings: [ProfileFinding] = []
    /// The layer that decided each setting, for people.
    var sources: [String: Source] = [:]
}

/// The settings that hold where neither configuration nor profile says more.
package enum CompiledDefaults {
    /// None that reads addresses or networks.
    static let modules: [SampleModuleName] = [.system, .analytics, .custom]
    package static var moduleNames: [String] { modules.map(\.rawValue) }
    package static let sampleInterval = 60.0
    package static let transmitInterval = 300.0
    package static let eventHold = 7200.0
    /// Degrees.
    static let positionGrid = ProfileLimits.standardPositionGrid
}

extension DeviceSettings {
    /// Determines the settings in force. Pure; configuration and profile must be valid.
    ///
    /// - Parameter profile: the profile to apply; `nil` if none is available.
    static func resolve(local: DataSamplerConfiguration, profile: WireProfile?, calls: Calls = Calls())
        -> DeviceSettings
    {
        var settings = DeviceSettings()
        let given = profile ?? WireProfile()
        settings.profileRevision = given.revision
        settings.profileChecked = profile != nil
        settings.applySwitches(local, given)
        // Before the modules: module gps needs a position that may be sent.
        settings.applyPrivacyAndRules(local, given)
        settings.applyModules(local, given.sampling)
        settings.applyIntervals(local, given.sampling)
        settings.applyAnalyticsAndBeacons(local, given, calls)
        settings.applyLogging(local, given.logging, calls)
        settings.applyDetection(local, given.detection)
        settings.applyBudgets(local, given.budgets)
        settings.findings = ProfileFinding.of(given, local: local, settings: settings)
        return settings
    }

    /// Off if either layer says so.
    private mutating func applySwitches(_ local: DataSamplerConfiguration, _ profile: WireProfile) {
        telemetryDisabled = tightened(
            "telemetryDisabled", local: local.telemetryDisabled, profile: profile.telemetryDisabled)
        test = tightened("test", local: local.isTest, profile: profile.test)
        doNotDisturbAllowed = profile.doNotDisturbAllowed
        sources["doNotDisturbAllowed"] = profile.hasDoNotDisturbAllowed ? .profile : .compiled
    }

    private mutating func applyModules(_ local: DataSamplerConfiguration, _ sampling: WireSamplingProfile) {
        let asked: [String]
        if sampling.modulesGiven {
            asked = sampling.modules
            sources["modules"] = .profile
        } else if let modules = local.sampleModules {
            // Validated: every bit is a module.
            asked = (try? modules.moduleNames.map(\.rawValue)) ?? []
            sources["modules"] = .local
        } else {
            asked = CompiledDefaults.modules.map(\.rawValue)
            sources["modules"] = .compiled
        }
        var names: Set<SampleModuleName> = []
        for name in asked {
            if local.disabledModules.contains(name) {
                unavailable[name] = "disabled by the configuration"
            } else if name == SampleModuleName.networkData.rawValue, local.telecomSource == .hub {
                unavailable[name] = "masked: telecomSource is hub, which counts this device's traffic already"
            } else if name == SampleModuleName.gps.rawValue, let objection = locationObjection(local) {
                unavailable[name] = objection
            } else {
                do throws(SampleModuleError) { names.insert(try SampleModuleName(configurationName: name)) } catch {
                    unavailable[name] = error.message
                }
            }
        }
        modules = names.sorted { $0.bit < $1.bit }
        disabledCustomModules = local.disabledModules.filter { SampleModuleName(rawValue: $0) == nil }
    }

    /// Whether a position, exact or coarse, is kept in records. The hash of a position hides nothing, so `hash` is
    /// `drop`.
    var sendsPosition: Bool { privacy[.position] == .send || privacy[.position] == .coarsen }

    /// Why module `gps` is not sampled; `nil`: it is.
    private func locationObjection(_ local: DataSamplerConfiguration) -> String? {
        if local.locationSource == nil, local.gpsd == nil {
            return "there is no source of the location: name gpsd's address, or give the library a locationSource"
        }
        return sendsPosition
            ? nil : "the privacy class position is dropped: profile or configuration must say send or coarsen"
    }

    private mutating func applyIntervals(_ local: DataSamplerConfiguration, _ sampling: WireSamplingProfile) {
        let overrides = Dictionary(sampling.overrides.map { ($0.module, $0) }) { _, last in last }
        /// Precedence goes by layer and not by how specific a value is. The profile's value for all modules wins over
        /// the configuration's value for one.
        func sampleSeconds(_ name: String) -> Double {
            if let own = overrides[name], own.hasSampleSeconds { return own.sampleSeconds }
            if sampling.hasSampleSeconds { return sampling.sampleSeconds }
            return local.moduleIntervals[name]?.sampleInterval ?? local.defaultSampleInterval
                ?? CompiledDefaults.sampleInterval
        }
        for module in modules { sampleIntervals[module] = sampleSeconds(module.rawValue) }
        let named = Set(overrides.keys).union(local.moduleIntervals.keys).filter {
            SampleModuleName(rawValue: $0) == nil
        }
        if modules.contains(.custom) {
            for name in named where !disabledCustomModules.contains(name) {
                let said =
                    overrides[name]?.hasSampleSeconds == true || local.moduleIntervals[name]?.sampleInterval != nil
                if said { customIntervals[name] = sampleSeconds(name) }
            }
        }
        sources["sampleInterval"] =
            sampling.hasSampleSeconds || sampling.overrides.contains(where: \.hasSampleSeconds)
            ? .profile : local.defaultSampleInterval != nil || !local.moduleIntervals.isEmpty ? .local : .compiled
        applyTransmitInterval(local, sampling, overrides)
    }

    private mutating func applyTransmitInterval(
        _ local: DataSamplerConfiguration, _ sampling: WireSamplingProfile, _ overrides: [String: WireModuleIntervals]
    ) {
        let sampled = Set(modules.map(\.rawValue)).union(customIntervals.keys)
        let base: Double
        if sampling.hasTransmitSeconds {
            base = sampling.transmitSeconds
            sources["transmitInterval"] = .profile
        } else {
            base = local.defaultTransmitInterval ?? CompiledDefaults.transmitInterval
            sources["transmitInterval"] = local.defaultTransmitInterval == nil ? .compiled : .local
        }
        transmitInterval = .seconds(base)
        for name in sampled {
            if let own = overrides[name], own.hasTransmitSeconds {
                moduleTransmitIntervals[name] = .seconds(own.transmitSeconds)
            } else if !sampling.hasTransmitSeconds, let own = local.moduleIntervals[name]?.transmitInterval {
                moduleTransmitIntervals[name] = .seconds(own)
            }
        }
    }

    private mutating func applyAnalyticsAndBeacons(
        _ local: DataSamplerConfiguration, _ profile: WireProfile, _ calls: Calls
    ) {
        let enabled = profile.analytics.hasEnabled ? profile.analytics.enabled : true
        analyticsEnabled = local.analyticsEnabled && enabled
        sources["analyticsEnabled"] =
            !local.analyticsEnabled ? .local : profile.analytics.hasEnabled ? .profile : .compiled
        let hold = choose(
            "eventHold", profile.analytics.hasHoldSeconds ? Double(profile.analytics.holdSeconds) : nil, local.eventHold
        )
        eventHold = .seconds(hold ?? CompiledDefaults.eventHold)
        beaconInterval = choose(
            "beaconInterval", profile.hasBeaconSeconds ? Double(profile.beaconSeconds) : nil, local.beaconInterval)
        switch calls.beacons {
        case .unsaid: break
        case .every(let seconds):
            beaconInterval = BeaconScheduleStateMachine.frequency(seconds)
            sources["beaconInterval"] = .call
        case .stopped:
            beaconInterval = nil
            sources["beaconInterval"] = .call
        }
    }

    private mutating func applyLogging(_ local: DataSamplerConfiguration, _ profile: WireLoggingProfile, _ calls: Calls)
    {
        logging.enabled = local.loggingEnabled && (profile.hasEnabled ? profile.enabled : true)
        sources["loggingEnabled"] = !local.loggingEnabled ? .local : profile.hasEnabled ? .profile : .compiled
        logging.wifiOnly = tightened("logsOverWiFiOnly", local: local.logsOverWiFiOnly, profile: profile.wifiOnly)
        if let level = calls.logLevel {
            logging.level = level
            sources["logLevel"] = .command
        } else if profile.level != .unspecified {
            logging.level = profile.level
            sources["logLevel"] = .profile
        } else {
            sources["logLevel"] = .compiled
        }
        let scrubbing = LogScrubbing(values: profile.scrubValues, patterns: profile.scrubPatterns)
        logging.scrubbing = local.logScrubbing.adding(scrubbing)
        sources["scrub"] =
            local.logScrubbing != LogScrubbing() ? .local : scrubbing != LogScrubbing() ? .profile : .compiled
    }

    private mutating func applyPrivacyAndRules(_ local: DataSamplerConfiguration, _ profile: WireProfile) {
        // Validated: every name is a class.
        let classes = local.privacy.compactMap { name, action in
            FieldClass(rawValue: name).map { ($0, action.privacyAction) }
        }
        privacy = PrivacyPolicy.resolve(
            local: Dictionary(uniqueKeysWithValues: classes), profile: profileChecked ? profile.privacy : nil)
        sources["privacy"] = !profile.privacy.isEmpty ? .profile : local.privacy.isEmpty ? .compiled : .local
        privacyKey = profile.privacyKey
        positionGrid = profile.hasPositionGridDegrees ? profile.positionGridDegrees : CompiledDefaults.positionGrid
        sources["positionGrid"] = profile.hasPositionGridDegrees ? .profile : .compiled
        transmission = profile.transmission
        compliance = profile.compliance
        geofences = profile.geofences
        // Validated: every pin is base64.
        localPins = local.certificatePins.compactMap { Data(base64Encoded: $0) }
        pins = profile.certificatePins.isEmpty ? localPins : profile.certificatePins
        sources["certificatePins"] =
            !profile.certificatePins.isEmpty ? .profile : localPins.isEmpty ? .compiled : .local
        authorities = profile.certificateAuthorities
        hasLocalAuthorities = local.certificateAuthorityFile != nil || !local.certificateAuthorities.isEmpty
        sources["certificateAuthorities"] =
            !authorities.isEmpty ? .profile : hasLocalAuthorities ? .local : .compiled
        customPayload = profile.hasCustomPayload ? profile.customPayload : nil
        offlineTimeAllowed = choose(
            "offlineTimeAllowed",
            profile.hasOfflineTimeAllowedSeconds ? Double(profile.offlineTimeAllowedSeconds) : nil,
            local.offlineTimeAllowed)
        credentialLifetime = local.credentialDays > 0 ? .seconds(local.credentialDays * 86_400) : nil
    }

    private mutating func applyDetection(_ local: DataSamplerConfiguration, _ profile: WireDetectionProfile) {
        let detectors =
            profile.detectorsGiven ? Set(profile.detectors.compactMap(BuiltInDetector.init(rawValue:))) : nil
        detection.detectors = detectors ?? local.builtInDetectors
        let isDefault = local.builtInDetectors == Set(BuiltInDetector.allCases)
        sources["detectors"] = detectors != nil ? .profile : isDefault ? .compiled : .local
        if !profile.systemPaths.isEmpty { detection.systemPaths = profile.systemPaths }
        detection.kernelModules = Set(profile.kernelModules)
        detection.unsignedKernelModules = Set(profile.unsignedKernelModules)
        compromiseConsequence = VerdictConsequence(profile: profile.consequence)
    }

    /// The profile's 0 means "no budget" explicitly and removes a local budget, because a budget does not protect the
    /// person.
    private mutating func applyBudgets(_ local: DataSamplerConfiguration, _ profile: WireBudgetProfile) {
        func bytes(_ said: Bool, _ value: UInt64, _ local: UInt64?) -> UInt64? {
            said ? (value == 0 ? nil : value) : local
        }
        budgets.sentBytesPerDay = bytes(
            profile.hasSentBytesPerDay, profile.sentBytesPerDay, local.budgets?.sentBytesPerDay)
        budgets.writtenBytesPerDay = bytes(
            profile.hasWrittenBytesPerDay, profile.writtenBytesPerDay, local.budgets?.writtenBytesPerDay)
        budgets.processorShare =
            profile.hasCpuShare
            ? (profile.cpuShare == 0 ? nil : Double(profile.cpuShare) / 10_000) : local.budgets?.processorShare
        let isProfiles = profile.hasSentBytesPerDay || profile.hasWrittenBytesPerDay || profile.hasCpuShare
        sources["budgets"] = isProfiles ? .profile : local.budgets == nil ? .compiled : .local
    }

    // MARK: Layers

    private mutating func tightened(_ name: String, local: Bool, profile: Bool) -> Bool {
        sources[name] = local ? .local : profile ? .profile : .compiled
        return local || profile
    }

    private mutating func choose(_ name: String, _ profile: Double?, _ local: Double?) -> Double? {
        sources[name] = profile != nil ? .profile : local != nil ? .local : .compiled
        return profile ?? local
    }
}

extension PersonalFieldAction {
    var privacyAction: PrivacyAction {
        switch self {
        case .send: .send
        case .hash: .hash
        case .coarsen: .coarsen
        case .drop: .drop
        }
    }
}

extension DeviceSettings {
    /// The settings in words, with the layer that decided them, by name.
    var described: [String: DataSamplerStatus.Setting] {
        func seconds(_ value: Double) -> String {
            value == value.rounded() && abs(value) < 1e15 ? "\(Int(value)) s" : "\(value) s"
        }
        func said(_ value: Double?) -> String { value.map(seconds) ?? "none" }
        let intervals =
            sampleIntervals.sorted { $0.key < $1.key }.map { "\($0.key.rawValue) \(seconds($0.value))" }
            + customIntervals.sorted { $0.key < $1.key }.map { "\($0.key) \(seconds($0.value))" }
        let transmit =
            [seconds(transmitInterval / .seconds(1))]
            + moduleTransmitIntervals.sorted { $0.key < $1.key }.map { "\($0.key) \(seconds($0.value / .seconds(1)))" }
        let limits = [
            budgets.sentBytesPerDay.map { "\($0) bytes sent a day" },
            budgets.writtenBytesPerDay.map { "\($0) bytes written a day" },
            budgets.processorShare.map { "\($0) of a core" },
        ].compactMap { $0 }
        let trusted =
            (["of the system"] + (hasLocalAuthorities ? ["of the configuration"] : [])
            + (authorities.isEmpty ? [] : ["\(authorities.count) of the profile"])).joined(separator: ", ")
        let personal = FieldClass.decidable.sorted { $0.rawValue < $1.rawValue }.map {
            "\($0.rawValue) \(privacy[$0].rawValue)"
        }
        let values: [String: String] = [
            "telemetryDisabled": "\(telemetryDisabled)", "test": "\(test)",
            "doNotDisturbAllowed": "\(doNotDisturbAllowed)",
            "modules": modules.map(\.rawValue).joined(separator: ", "),
            "sampleInterval": intervals.joined(separator: ", "),
            "transmitInterval": transmit.joined(separator: ", "), "analyticsEnabled": "\(analyticsEnabled)",
            "eventHold": seconds(eventHold / .seconds(1)), "beaconInterval": said(beaconInterval),
            "loggingEnabled": "\(logging.enabled)",
            "scrub":
                """
            \(CountText.of(logging.scrubbing.values.count, "value")), \
            \(CountText.of(logging.scrubbing.patterns.count, "pattern"))
            """,
            "logsOverWiFiOnly": "\(logging.wifiOnly)", "logLevel": "\(logging.level)",
            "privacy": personal.joined(separator: ", "),
            "positionGrid": "\(positionGrid) degrees",
            "offlineTimeAllowed": said(offlineTimeAllowed),
            "certificateAuthorities": trusted,
            "certificatePins": pins.isEmpty ? "none" : CountText.of(pins.count, "key"),
            "detectors": BuiltInDetector.allCases.filter(detection.detectors.contains).map(\.rawValue).joined(
                separator: ", "),
            "budgets": limits.isEmpty ? "none" : limits.joined(separator: ", "),
        ]
        return values.reduce(into: [:]) { result, setting in
            result[setting.key] = .init(value: setting.value, source: (sources[setting.key] ?? .compiled).rawValue)
        }
    }
}
