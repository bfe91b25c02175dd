/// How many devices run a revision of a profile.
package struct ProfileAdoption: Equatable, Sendable {
    package struct Key: Hashable, Sendable {
        /// Of the devices; empty: the agent itself.
        package var application: String
        /// What they say they run; `nil`: they have not said.
        package var revision: UInt64?

        package init(application: String, revision: UInt64?) {
            self.application = application
            self.revision = revision
        }
    }

    package var key: Key
    package var devices: Int
    /// How many of them do not do all of it, by the name of what they do not do.
    package var findings: [String: Int]

    package init(key: Key, devices: Int, findings: [String: Int] = [:]) {
        self.key = key
        self.devices = devices
        self.findings = findings
    }
}
