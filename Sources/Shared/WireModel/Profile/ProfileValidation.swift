/// Checks whether a profile can be applied. All its ranges are here, for both ends.
///
/// The collector refuses to store a profile that fails. A device refuses to apply it and keeps its last good one.
/// Unlike in records, an unknown enum value is refused too, because a setting that cannot be honoured must not seem to
/// be in force. Pure; safe from any thread.
extension WireProfile {
    /// - Parameter isOverlay: it is an application's own profile, whose rules may name geofences of its organization's.
    ///   What devices get of both is checked without this.
    /// - Throws: `.invalidField`. The message has the field's name in the JSON form, the value and what is expected.
    package func validate(isOverlay: Bool = false) throws(WireError) {
        try Self.checkText(organization, "organization", 0...ProfileLimits.nameBytes)
        try Self.checkText(application, "application", 0...ProfileLimits.nameBytes)
        if hasSampling { try sampling.validate() }
        if hasAnalytics, analytics.hasHoldSeconds {
            try Self.check(analytics.holdSeconds, "analytics.holdSeconds", ProfileLimits.holdSeconds, "seconds")
        }
        if hasLogging { try logging.validate() }
        for (name, action) in privacy.sorted(by: { $0.key < $1.key }) { try Self.checkPrivacy(name, action) }
        try Self.checkCount(transmission.count, "transmission", ProfileLimits.transmissionRules)
        for (place, rule) in transmission.enumerated() { try rule.validate("transmission[\(place)]") }
        if hasBeaconSeconds { try Self.check(beaconSeconds, "beaconSeconds", ProfileLimits.beaconSeconds, "seconds") }
        try validateGeofences()
        try validateCompliance()
        if !isOverlay { try validateGeofenceNames() }
        if hasPositionGridDegrees {
            try Self.check(positionGridDegrees, "positionGridDegrees", ProfileLimits.positionGridDegrees, "degrees")
        }
        if hasOfflineTimeAllowedSeconds {
            try Self.check(
                offlineTimeAllowedSeconds, "offlineTimeAllowedSeconds", ProfileLimits.offlineSeconds, "seconds")
        }
        try Self.checkCount(certificatePins.count, "certificatePins", ProfileLimits.pins)
        for (place, pin) in certificatePins.enumerated() where pin.count != ProfileLimits.digestBytes {
            throw .field("certificatePins[\(place)]", "has \(pin.count) bytes", "the 32 bytes of a SHA-256")
        }
        try Self.checkCount(certificateAuthorities.count, "certificateAuthorities", ProfileLimits.authorities)
        for (place, authority) in certificateAuthorities.enumerated()
        where !ProfileLimits.authorityBytes.contains(authority.count) {
            let bytes = ProfileLimits.authorityBytes
            throw .field(
                "certificateAuthorities[\(place)]", "has \(authority.count) bytes",
                "a certificate of \(bytes.lowerBound) to \(bytes.upperBound)")
        }
        if hasCustomPayload { try Self.checkText(customPayload, "customPayload", 0...ProfileLimits.payloadBytes) }
        guard privacyKey.isEmpty || privacyKey.count == ProfileLimits.digestBytes else {
            throw .field("privacyKey", "has \(privacyKey.count) bytes", "32, or none")
        }
        if hasBudgets, budgets.hasCpuShare {
            try Self.check(budgets.cpuShare, "budgets.cpuShare", ProfileLimits.cpuShare, "ten-thousandths")
        }
        if hasDetection { try detection.validate() }
    }

    private static func checkPrivacy(_ name: String, _ action: WirePrivacyAction) throws(WireError) {
        guard ProfileLimits.privacyClasses.contains(name) else {
            throw .field(
                "privacy", "names the class \"\(name)\"",
                "one of \(ProfileLimits.privacyClasses.sorted().joined(separator: ", "))")
        }
        switch action {
        case .send, .hash, .coarsen, .drop: return
        case .unspecified, .UNRECOGNIZED:
            throw .field("privacy.\(name)", "is action \(action.rawValue)", "send, hash, coarsen or drop")
        }
    }
}

extension WireSamplingProfile {
    fileprivate func validate() throws(WireError) {
        guard modulesGiven || modules.isEmpty else {
            throw .field(
                "sampling.modules", "has \(modules.count) names without modulesGiven", "modulesGiven with them")
        }
        var named: Set<String> = []
        for (place, module) in modules.enumerated() {
            try Self.checkModule(module, "sampling.modules[\(place)]")
            guard named.insert(module).inserted else {
                throw .field("sampling.modules[\(place)]", "is a second \"\(module)\"", "each module once")
            }
        }
        if hasSampleSeconds {
            try WireProfile.check(sampleSeconds, "sampling.sampleSeconds", ProfileLimits.intervalSeconds, "seconds")
        }
        if hasTransmitSeconds {
            try WireProfile.check(transmitSeconds, "sampling.transmitSeconds", ProfileLimits.intervalSeconds, "seconds")
        }
        var overridden: Set<String> = []
        for (place, override) in overrides.enumerated() {
            let field = "sampling.overrides[\(place)]"
            try Self.checkModule(override.module, "\(field).module")
            guard overridden.insert(override.module).inserted else {
                throw .field("\(field).module", "is a second \"\(override.module)\"", "one override per module")
            }
            if override.hasSampleSeconds {
                try WireProfile.check(
                    override.sampleSeconds, "\(field).sampleSeconds", ProfileLimits.intervalSeconds, "seconds")
            }
            if override.hasTransmitSeconds {
                try WireProfile.check(
                    override.transmitSeconds, "\(field).transmitSeconds", ProfileLimits.intervalSeconds, "seconds")
            }
        }
    }

    private static func checkModule(_ name: String, _ field: String) throws(WireError) {
        guard name != "callLog" else {
            throw .field(
                field, "is \"callLog\"", "another module: callLog is reserved and not offered by this platform")
        }
        try WireProfile.checkName(name, field, ProfileLimits.modules)
    }
}

extension WireLoggingProfile {
    fileprivate func validate() throws(WireError) {
        if case .UNRECOGNIZED(let value) = level {
            throw .field("logging.level", "is \(value)", "error, warning, information or verbose")
        }
        try WireProfile.checkCount(scrubValues.count, "logging.scrubValues", ProfileLimits.scrubs)
        for (place, value) in scrubValues.enumerated() {
            // The value is a secret and is not shown.
            guard (1...ProfileLimits.scrubBytes).contains(value.utf8.count) else {
                throw .field(
                    "logging.scrubValues[\(place)]", "has \(value.utf8.count) bytes", "1 to \(ProfileLimits.scrubBytes)"
                )
            }
        }
        try WireProfile.checkCount(scrubPatterns.count, "logging.scrubPatterns", ProfileLimits.scrubs)
        for (place, pattern) in scrubPatterns.enumerated() {
            let field = "logging.scrubPatterns[\(place)]"
            guard (1...ProfileLimits.scrubBytes).contains(pattern.utf8.count) else {
                throw .field(field, "has \(pattern.utf8.count) bytes", "1 to \(ProfileLimits.scrubBytes)")
            }
            if let fault = ScrubPatternSyntax.fault(in: pattern) {
                throw .field(
                    field, "\(fault.message) at character \(fault.position + 1)",
                    "a pattern as ScrubPatternSyntax describes")
            }
        }
    }
}

extension WireDetectionProfile {
    fileprivate func validate() throws(WireError) {
        guard detectorsGiven || detectors.isEmpty else {
            throw .field(
                "detection.detectors", "has \(detectors.count) names without detectorsGiven", "detectorsGiven with them"
            )
        }
        for (name, list) in [
            ("detectors", detectors), ("systemPaths", systemPaths), ("kernelModules", kernelModules),
            ("unsignedKernelModules", unsignedKernelModules),
        ] {
            try WireProfile.checkCount(list.count, "detection.\(name)", ProfileLimits.detectionEntries)
            for (place, entry) in list.enumerated() {
                try WireProfile.checkText(entry, "detection.\(name)[\(place)]", 1...ProfileLimits.nameBytes)
            }
        }
        for (place, path) in systemPaths.enumerated() where !path.hasPrefix("/") {
            throw .field("detection.systemPaths[\(place)]", "is \"\(path)\"", "an absolute path")
        }
        try WireProfile.checkConsequence(consequence, "detection.consequence")
    }
}

extension WireTransmissionRule {
    fileprivate func validate(_ field: String) throws(WireError) {
        try WireProfile.checkName(data, "\(field).data", ProfileLimits.transmissionData)
        for (place, network) in networks.enumerated() {
            guard case .UNRECOGNIZED(let value) = network else { continue }
            throw .field(
                "\(field).networks[\(place)]", "is \(value)",
                "unknown, offline, ethernet, wifi, cellular, loopback, tunnel or other")
        }
        try WireProfile.checkCount(ssids.count, "\(field).ssids", ProfileLimits.ssids)
        for (place, ssid) in ssids.enumerated() {
            try WireProfile.checkText(ssid, "\(field).ssids[\(place)]", ProfileLimits.ssidBytes)
        }
        if hasMinimumBattery {
            try WireProfile.check(
                minimumBattery, "\(field).minimumBattery", ProfileLimits.batteryShare, "ten-thousandths")
        }
    }
}

extension WireProfile {
    static func check<Value: Comparable & CustomStringConvertible>(
        _ value: Value, _ field: String, _ range: ClosedRange<Value>, _ unit: String
    ) throws(WireError) {
        // NaN is in no range.
        guard range.contains(value) else {
            throw .field(field, "is \(value)", "\(range.lowerBound) to \(range.upperBound) \(unit)")
        }
    }

    static func checkName(_ value: String, _ field: String, _ known: [String]) throws(WireError) {
        guard known.contains(value) else {
            let shown = value.utf8.count <= ProfileLimits.idBytes ? "\"\(value)\"" : "\(value.utf8.count) bytes long"
            throw .field(field, "is \(shown)", "one of \(known.joined(separator: " "))")
        }
    }

    static func checkConsequence(_ name: String, _ field: String) throws(WireError) {
        if !name.isEmpty { try checkName(name, field, ProfileLimits.consequences) }
    }

    static func checkText(_ value: String, _ field: String, _ bytes: ClosedRange<Int>) throws(WireError) {
        guard bytes.contains(value.utf8.count) else {
            throw .field(field, "has \(value.utf8.count) bytes", "\(bytes.lowerBound) to \(bytes.upperBound)")
        }
    }

    static func checkCount(_ count: Int, _ field: String, _ limit: Int) throws(WireError) {
        guard count <= limit else { throw .field(field, "has \(count) entries", "at most \(limit)") }
    }
}

extension WireError {
    static func field(_ name: String, _ found: String, _ expected: String) -> WireError {
        WireError(.invalidField, "\(name) \(found); expected \(expected).")
    }
}

/// Limits of a profile: ranges of numbers, and the size of everything that can grow.
package enum ProfileLimits {
    /// Seconds between samples, and between transmissions: 1 s to 1 d.
    package static let intervalSeconds: ClosedRange<Double> = 1...86_400
    /// Seconds between beacons: 60 s to 1 d.
    package static let beaconSeconds: ClosedRange<UInt32> = 60...86_400
    /// Seconds an event is held: 0 to 3 d.
    package static let holdSeconds: ClosedRange<UInt32> = 0...259_200
    /// Seconds a device may be offline before the library reports it: 0 (never) to 366 d.
    package static let offlineSeconds: ClosedRange<UInt32> = 0...31_622_400
    /// The range of a battery level in ten-thousandths of a full battery.
    package static let batteryShare: ClosedRange<UInt32> = 0...10_000
    /// The range of a share in ten-thousandths of one core. More than one core is possible; 0 sets no budget.
    package static let cpuShare: ClosedRange<UInt32> = 0...10_000_000
    /// Meters: a geofence's radius. Half of the earth's circumference has 20,015,087.
    package static let radiusMeters: ClosedRange<Double> = 1...20_000_000
    /// The grid of coarse positions in degrees: 11 m to 1,100 km of latitude. A finer one would hide nothing.
    package static let positionGridDegrees: ClosedRange<Double> = 0.0001...10
    /// The grid where the profile names none, in degrees: 1.1 km of latitude.
    package static let standardPositionGrid = 0.01

    /// Modules that a profile may name, whether or not a device has them. `callLog` is reserved and refused.
    package static let modules = WireRecordKind.modules.map(\.name) + ["custom"]
    package static let transmissionData = ["status", "event", "sample", "log"]
    package static let complianceSubjects = ComplianceSubject.allCases.map(\.rawValue)
    package static let consequences = VerdictConsequence.allCases.map(\.rawValue)
    /// Privacy classes that a profile may decide.
    package static let privacyClasses = Set(FieldClass.decidable.map(\.rawValue))

    static let transmissionRules = 64
    static let ssids = 64
    /// The length of a Wi-Fi network's name (IEEE 802.11).
    static let ssidBytes = 1...32
    static let complianceRules = 256
    static let geofences = 256
    /// The corners of a geofence that is a polygon.
    package static let corners = 3...100
    /// The most entries of each list of the detection settings.
    static let detectionEntries = 512
    package static let pins = 32
    package static let authorities = EnrollmentFile.maximumAuthorities
    /// The size of one certificate in DER. A root with a key of 4,096 bits has about 1,500 bytes.
    package static let authorityBytes = 1...8192
    package static let scrubs = 256
    package static let scrubBytes = 1024
    /// The longest name of an organization, application or action.
    static let nameBytes = 255
    static let idBytes = 64
    static let payloadBytes = 256 * 1024
    /// The length of a SHA-256 digest.
    static let digestBytes = 32
}
