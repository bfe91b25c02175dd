import Foundation
import WireModel

/// A profile in the API: the names of protobuf's JSON (`sampling.sampleSeconds`), with enum values as in the rest of
/// the API (`"level": "information"`). Protobuf's own names of enum values are accepted too. A `modules` list that is
/// present, even if empty, is a decision.
enum ProfileDocument {
    /// - Throws: `Problem` `invalid-field` if a field is unknown, has another type, or cannot be set by the sender.
    ///   `WireProfile.validate` checks ranges.
    static func read(_ body: Data) throws(Problem) -> WireProfile { try read(FieldReader(body: body)) }

    static func read(_ document: FieldReader) throws(Problem) -> WireProfile {
        var fields = document
        for name in ["revision", "organization", "application", "privacyKey"] where fields.names.contains(name) {
            throw .invalidField(
                name,
                name == "privacyKey"
                    ? "is the organization's secret, which cannot be read or set."
                    : "is set by the collector; leave it out.")
        }
        var profile = WireProfile()
        if let sampling = try fields.object("sampling") { profile.sampling = try Self.sampling(sampling) }
        if var analytics = try fields.object("analytics") {
            profile.analytics = WireAnalyticsProfile()
            if let enabled = try analytics.flag("enabled") { profile.analytics.enabled = enabled }
            if let hold = try analytics.integer("holdSeconds", 0...UInt32.max) { profile.analytics.holdSeconds = hold }
            try analytics.finish()
        }
        if let logging = try fields.object("logging") { profile.logging = try Self.logging(logging) }
        if var privacy = try fields.object("privacy") {
            for name in privacy.names {
                guard let text = try privacy.text(name) else { continue }
                profile.privacy[name] = try EnumName.privacyAction.value(text, privacy.place(name))
            }
        }
        if let grid = try fields.number("positionGridDegrees") { profile.positionGridDegrees = grid }
        for rule in try fields.objects("transmission") { profile.transmission.append(try transmission(rule)) }
        if let seconds = try fields.integer("beaconSeconds", 0...UInt32.max) { profile.beaconSeconds = seconds }
        for rule in try fields.objects("compliance") { profile.compliance.append(try compliance(rule)) }
        for fence in try fields.objects("geofences") { profile.geofences.append(try geofence(fence)) }
        if let seconds = try fields.integer("offlineTimeAllowedSeconds", 0...UInt32.max) {
            profile.offlineTimeAllowedSeconds = seconds
        }
        if let allowed = try fields.flag("doNotDisturbAllowed") { profile.doNotDisturbAllowed = allowed }
        for (place, pin) in try fields.texts("certificatePins").enumerated() {
            guard let bytes = Data(base64Encoded: pin) else {
                throw .invalidField("certificatePins[\(place)]", "is not base64.")
            }
            profile.certificatePins.append(bytes)
        }
        profile.certificateAuthorities = try ProfileAuthorities.read(fields.texts("certificateAuthorities"))
        if let payload = try fields.text("customPayload") { profile.customPayload = payload }
        if let disabled = try fields.flag("telemetryDisabled") { profile.telemetryDisabled = disabled }
        if let test = try fields.flag("test") { profile.test = test }
        if var budgets = try fields.object("budgets") {
            profile.budgets = WireBudgetProfile()
            if let bytes = try budgets.integer("sentBytesPerDay", 0...UInt64.max) {
                profile.budgets.sentBytesPerDay = bytes
            }
            if let bytes = try budgets.integer("writtenBytesPerDay", 0...UInt64.max) {
                profile.budgets.writtenBytesPerDay = bytes
            }
            if let share = try budgets.integer("cpuShare", 0...UInt32.max) { profile.budgets.cpuShare = share }
            try budgets.finish()
        }
        if let detection = try fields.object("detection") { profile.detection = try Self.detection(detection) }
        try fields.finish()
        return profile
    }

    private static func detection(_ given: FieldReader) throws(Problem) -> WireDetectionProfile {
        var fields = given
        var detection = WireDetectionProfile()
        detection.detectorsGiven = fields.value("detectors") != nil
        detection.detectors = try fields.texts("detectors")
        detection.systemPaths = try fields.texts("systemPaths")
        detection.kernelModules = try fields.texts("kernelModules")
        detection.unsignedKernelModules = try fields.texts("unsignedKernelModules")
        detection.consequence = try fields.text("consequence") ?? ""
        try fields.finish()
        return detection
    }

    private static func sampling(_ given: FieldReader) throws(Problem) -> WireSamplingProfile {
        var fields = given
        var sampling = WireSamplingProfile()
        sampling.modulesGiven = fields.value("modules") != nil
        sampling.modules = try fields.texts("modules")
        if let isGiven = try fields.flag("modulesGiven") { sampling.modulesGiven = isGiven || sampling.modulesGiven }
        if let seconds = try fields.number("sampleSeconds") { sampling.sampleSeconds = seconds }
        if let seconds = try fields.number("transmitSeconds") { sampling.transmitSeconds = seconds }
        for var override in try fields.objects("overrides") {
            var intervals = WireModuleIntervals()
            intervals.module = try override.text("module") ?? ""
            if let seconds = try override.number("sampleSeconds") { intervals.sampleSeconds = seconds }
            if let seconds = try override.number("transmitSeconds") { intervals.transmitSeconds = seconds }
            try override.finish()
            sampling.overrides.append(intervals)
        }
        try fields.finish()
        return sampling
    }

    private static func logging(_ given: FieldReader) throws(Problem) -> WireLoggingProfile {
        var fields = given
        var logging = WireLoggingProfile()
        if let enabled = try fields.flag("enabled") { logging.enabled = enabled }
        if let level = try fields.text("level") {
            logging.level = try EnumName.logLevel.value(level, fields.place("level"))
        }
        if let isWifiOnly = try fields.flag("wifiOnly") { logging.wifiOnly = isWifiOnly }
        logging.scrubValues = try fields.texts("scrubValues")
        logging.scrubPatterns = try fields.texts("scrubPatterns")
        try fields.finish()
        return logging
    }

    private static func transmission(_ given: FieldReader) throws(Problem) -> WireTransmissionRule {
        var fields = given
        var rule = WireTransmissionRule()
        rule.data = try fields.text("data") ?? ""
        for (place, network) in try fields.texts("networks").enumerated() {
            rule.networks.append(try EnumName.networkClass.value(network, "\(fields.place("networks"))[\(place)]"))
        }
        rule.ssids = try fields.texts("ssids")
        if let metered = try fields.flag("metered") { rule.metered = metered }
        if let roaming = try fields.flag("roaming") { rule.roaming = roaming }
        if let battery = try fields.integer("minimumBattery", 0...UInt32.max) { rule.minimumBattery = battery }
        if let external = try fields.flag("externalPower") { rule.externalPower = external }
        try fields.finish()
        return rule
    }

    private static func compliance(_ given: FieldReader) throws(Problem) -> WireComplianceRule {
        var fields = given
        var rule = WireComplianceRule()
        rule.id = try fields.text("id") ?? ""
        rule.subject = try fields.text("subject") ?? ""
        rule.operator = try fields.text("operator") ?? ""
        rule.version = try fields.text("version") ?? ""
        rule.action = try fields.text("action") ?? ""
        rule.consequence = try fields.text("consequence") ?? ""
        rule.geofence = try fields.text("geofence") ?? ""
        try fields.finish()
        return rule
    }

    private static func geofence(_ given: FieldReader) throws(Problem) -> WireGeofence {
        var fields = given
        var fence = WireGeofence()
        fence.id = try fields.text("id") ?? ""
        fence.name = try fields.text("name") ?? ""
        let circle = ["latitude", "longitude", "radiusMeters"]
        if fields.value("corners") == nil {
            for name in circle where fields.value(name) == nil {
                throw .invalidField(fields.place(name), "is missing.")
            }
            fence.latitude = try fields.number("latitude") ?? .nan
            fence.longitude = try fields.number("longitude") ?? .nan
            fence.radiusMeters = try fields.number("radiusMeters") ?? .nan
        } else {
            for name in circle where fields.value(name) != nil {
                throw .invalidField(fields.place(name), "belongs to a circle, and a polygon has only corners.")
            }
            fence.corners = try corners(fields.objects("corners"), fields.place("corners"))
        }
        try fields.finish()
        return fence
    }

    private static func corners(_ given: [FieldReader], _ place: String) throws(Problem) -> [WireGeoPoint] {
        // Without corners it would be read as a circle.
        guard !given.isEmpty else {
            throw .invalidField(place, "has no entries; a polygon has \(ProfileLimits.corners.lowerBound) or more.")
        }
        var corners: [WireGeoPoint] = []
        for given in given {
            var fields = given
            var corner = WireGeoPoint()
            for name in ["latitude", "longitude"] where fields.value(name) == nil {
                throw .invalidField(fields.place(name), "is missing.")
            }
            corner.latitude = try fields.number("latitude") ?? .nan
            corner.longitude = try fields.number("longitude") ?? .nan
            try fields.finish()
            corners.append(corner)
        }
        return corners
    }
}
