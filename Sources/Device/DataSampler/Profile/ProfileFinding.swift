import Privacy
import SampleModules
import WireModel

/// A setting of the profile that this device does not apply: a name for the collector, and text for people.
///
/// Every setting of a profile is either applied, or has a finding. A profile with a value that cannot be right is
/// refused as a whole instead (`WireProfile.validate`).
struct ProfileFinding: Equatable, Sendable {
    /// Stable, in kebab-case, at most 64 bytes. The collector counts devices by it.
    var name: String
    var text: String

    fileprivate static let geofencesNotAvailable = "geofences-not-available"

    /// Returns the parts of a valid profile that are not applied. Pure.
    /// - Parameter settings: those that were made of it.
    static func of(
        _ profile: WireProfile, local: DataSamplerConfiguration, settings: DeviceSettings
    ) -> [ProfileFinding] {
        var findings: [ProfileFinding] = []
        func add(_ name: String, _ text: String) { findings.append(ProfileFinding(name: name, text: text)) }
        if profile.sampling.modulesGiven {
            for (module, reason) in settings.unavailable.sorted(by: { $0.key < $1.key }) {
                add("module-not-sampled-\(module)", "the profile names module \(module), which is off: \(reason)")
            }
        }
        for module in Set(profile.sampling.overrides.map(\.module)).sorted()
        where SampleModuleName(rawValue: module) != nil && settings.unavailable[module] == nil {
            do throws(SampleModuleError) { _ = try SampleModuleName(configurationName: module) } catch {
                add("module-not-sampled-\(module)", "the profile has intervals of module \(module): \(error.message)")
            }
        }
        if !profile.geofences.isEmpty, local.locationSource == nil, local.gpsd == nil {
            add(
                geofencesNotAvailable,
                """
                geofences of the profile (\(profile.geofences.count)) are not watched, because there is no source of \
                the location: name gpsd's address, or give the library a locationSource
                """)
        }
        let unknown = profile.detection.detectors.filter { name in
            BuiltInDetector(rawValue: name) == nil && !local.detectors.contains { $0.name == name }
        }
        if !unknown.isEmpty {
            add(
                "detectors-not-available",
                "the profile names detectors that this version does not have: \(unknown.joined(separator: ", "))")
        }
        if !profile.certificatePins.isEmpty, CollectorRoute.isPlain(local.collectorURL) {
            add(
                "certificate-pins-without-tls",
                "the certificate pins of the profile have no effect: the collector is reached without TLS")
        }
        if !profile.certificateAuthorities.isEmpty, CollectorRoute.isPlain(local.collectorURL) {
            add(
                "certificate-authorities-without-tls",
                "the certificate authorities of the profile have no effect: the collector is reached without TLS")
        }
        if profile.privacyKey.isEmpty, profile.privacy.values.contains(.hash) {
            add("privacy-key-missing", "personal fields that the profile would hash are dropped: it has no key")
        }
        if profile.hasUnknownFields {
            add(
                "unknown-settings",
                "the profile has settings that this version (\(DataSampler.version)) does not know: update it")
        }
        if profile.analytics.enabled, settings.eventRefusal == .module {
            add(
                "analytics-without-module",
                "the profile enables analytics, but events need the sample module analytics, which is not among the "
                    + "modules")
        }
        for (name, what) in decidedElsewhere(profile, local, settings) {
            add(name, "\(what) of the profile does not hold: this device's own setting stands")
        }
        return findings
    }

    /// Settings that the profile gives, and that a stricter local one or a call of the program overrides.
    private static func decidedElsewhere(
        _ profile: WireProfile, _ local: DataSamplerConfiguration, _ settings: DeviceSettings
    ) -> [(name: String, what: String)] {
        let (analytics, logging) = (profile.analytics, profile.logging)
        let privacy = PrivacyPolicy.resolve(local: [:], profile: profile.privacy)
        let isPrivacyStricter = profile.privacy.keys.contains { name in
            FieldClass(rawValue: name).map { privacy[$0] != settings.privacy[$0] } ?? false
        }
        let overridden: [(Bool, String, String)] = [
            (analytics.enabled && !settings.analyticsEnabled, "analytics-off-locally", "analytics"),
            (logging.enabled && !settings.logging.enabled, "logging-off-locally", "logging"),
            (
                logging.hasWifiOnly && !logging.wifiOnly && settings.logging.wifiOnly, "logs-wifi-only-locally",
                "sending logs over any network"
            ),
            (isPrivacyStricter, "privacy-stricter-locally", "what becomes of personal fields"),
            (
                profile.hasTelemetryDisabled && !profile.telemetryDisabled && settings.telemetryDisabled,
                "telemetry-disabled-locally", "telemetry"
            ),
            (profile.hasTest && !profile.test && settings.test, "test-locally", "data that is not test data"),
            (
                profile.hasBeaconSeconds && settings.sources["beaconInterval"] == .call, "beacon-interval-of-program",
                "the beacon interval"
            ),
        ]
        return overridden.filter(\.0).map { (name: $0.1, what: $0.2) }
    }
}

extension SamplerCore {
    /// The parts of the profile that are not applied, certificate pins and authorities included.
    func profileFindings(_ settings: DeviceSettings) -> [ProfileFinding] {
        let pins = pins.finding(settings.pins).map { ProfileFinding(name: $0.name, text: $0.text) }
        var (location, geofences) = (ProfileFinding?.none, ProfileFinding?.none)
        if !settings.geofences.isEmpty, let obstacle = self.location.obstacle {
            geofences = ProfileFinding(
                name: ProfileFinding.geofencesNotAvailable,
                text: "geofences of the profile are not watched: \(obstacle)")
        }
        if settings.modules.contains(.gps), settings.sources["modules"] == .profile,
            let obstacle = self.location.obstacle
        {
            location = ProfileFinding(
                name: "module-not-sampled-gps",
                text: "the profile names module gps, which has no position to sample: \(obstacle)")
        }
        return [pins, authorities.finding, location, geofences].compactMap { $0 } + settings.findings
    }
}
