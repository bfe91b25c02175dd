import WireModel

extension WireProfile {
    /// Overlays this organization's profile with an application's, field by field.
    ///
    /// What the application leaves open stays. Privacy classes and module overrides are overlaid one by one. Lists of
    /// rules, geofences, pins and authorities replace the organization's lists as a whole if they are not empty. Scrub
    /// rules add up, so an application cannot uncover what the organization hides. The caller sets revision, names and
    /// key. Pure.
    func overlaid(by application: WireProfile) -> WireProfile {
        var profile = self
        if application.hasSampling { profile.sampling.overlay(application.sampling) }
        if application.analytics.hasEnabled { profile.analytics.enabled = application.analytics.enabled }
        if application.analytics.hasHoldSeconds { profile.analytics.holdSeconds = application.analytics.holdSeconds }
        if application.hasLogging { profile.logging.overlay(application.logging) }
        profile.privacy.merge(application.privacy) { $1 }
        if application.hasPositionGridDegrees { profile.positionGridDegrees = application.positionGridDegrees }
        if !application.transmission.isEmpty { profile.transmission = application.transmission }
        if application.hasBeaconSeconds { profile.beaconSeconds = application.beaconSeconds }
        if !application.compliance.isEmpty { profile.compliance = application.compliance }
        if !application.geofences.isEmpty { profile.geofences = application.geofences }
        if application.hasOfflineTimeAllowedSeconds {
            profile.offlineTimeAllowedSeconds = application.offlineTimeAllowedSeconds
        }
        if application.hasDoNotDisturbAllowed { profile.doNotDisturbAllowed = application.doNotDisturbAllowed }
        if !application.certificatePins.isEmpty { profile.certificatePins = application.certificatePins }
        if !application.certificateAuthorities.isEmpty {
            profile.certificateAuthorities = application.certificateAuthorities
        }
        if application.hasCustomPayload { profile.customPayload = application.customPayload }
        if application.hasTelemetryDisabled { profile.telemetryDisabled = application.telemetryDisabled }
        if application.hasTest { profile.test = application.test }
        if application.budgets.hasSentBytesPerDay {
            profile.budgets.sentBytesPerDay = application.budgets.sentBytesPerDay
        }
        if application.budgets.hasWrittenBytesPerDay {
            profile.budgets.writtenBytesPerDay = application.budgets.writtenBytesPerDay
        }
        if application.budgets.hasCpuShare { profile.budgets.cpuShare = application.budgets.cpuShare }
        if application.hasDetection { profile.detection.overlay(application.detection) }
        return profile
    }
}

extension WireSamplingProfile {
    fileprivate mutating func overlay(_ other: WireSamplingProfile) {
        if other.modulesGiven {
            modules = other.modules
            modulesGiven = true
        }
        if other.hasSampleSeconds { sampleSeconds = other.sampleSeconds }
        if other.hasTransmitSeconds { transmitSeconds = other.transmitSeconds }
        for override in other.overrides {
            guard let place = overrides.firstIndex(where: { $0.module == override.module }) else {
                overrides.append(override)
                continue
            }
            if override.hasSampleSeconds { overrides[place].sampleSeconds = override.sampleSeconds }
            if override.hasTransmitSeconds { overrides[place].transmitSeconds = override.transmitSeconds }
        }
    }
}

extension WireDetectionProfile {
    fileprivate mutating func overlay(_ other: WireDetectionProfile) {
        if other.detectorsGiven {
            detectors = other.detectors
            detectorsGiven = true
        }
        if !other.systemPaths.isEmpty { systemPaths = other.systemPaths }
        if !other.kernelModules.isEmpty { kernelModules = other.kernelModules }
        if !other.unsignedKernelModules.isEmpty { unsignedKernelModules = other.unsignedKernelModules }
        if !other.consequence.isEmpty { consequence = other.consequence }
    }
}

extension WireLoggingProfile {
    fileprivate mutating func overlay(_ other: WireLoggingProfile) {
        if other.hasEnabled { enabled = other.enabled }
        if other.level != .unspecified { level = other.level }
        if other.hasWifiOnly { wifiOnly = other.wifiOnly }
        scrubValues += other.scrubValues.filter { !scrubValues.contains($0) }
        scrubPatterns += other.scrubPatterns.filter { !scrubPatterns.contains($0) }
    }
}

extension WireProfile {
    /// The profile of a new organization: all modules except GPS (a device leaves out those it does not have),
    /// analytics on, logging on at level information. Intervals are left to the device.
    static var ofNewOrganization: WireProfile {
        var profile = WireProfile()
        profile.sampling.modules = ["system", "analytics", "networkData", "networkAdapter", "wlan2", "custom"]
        profile.sampling.modulesGiven = true
        profile.analytics.enabled = true
        profile.logging.enabled = true
        profile.logging.level = .information
        return profile
    }
}
