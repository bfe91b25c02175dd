import WireModel

extension WireProfile {
    /// The profile of a new organization: all modules but GPS (a device leaves out those it does not offer), analytics on, logging on at
    /// information; intervals are left to the device.
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
