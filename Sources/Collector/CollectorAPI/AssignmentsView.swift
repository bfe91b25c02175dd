/// An organization's list of assigned applications, as people see it.
package struct AssignmentsView: Codable, Equatable, Sendable {
    package struct Group: Codable, Equatable, Sendable {
        package var name: String
        package var devices: [String]

        package init(name: String, devices: [String]) { (self.name, self.devices) = (name, devices) }
    }

    package struct Application: Codable, Equatable, Sendable {
        package var application: String
        /// Absent for all devices.
        package var group: String?

        package init(application: String, group: String?) { (self.application, self.group) = (application, group) }
    }

    package var organization = ""
    package var revision: UInt64 = 0
    package var changedAt = ""
    package var groups: [Group] = []
    package var applications: [Application] = []

    package init() {}
}

extension APIOperation where Answer == AssignmentsView {
    package static func getAssignments(_ organization: String) -> Self {
        Self("GET", "/api/v1/assignments/\(organization.percentEncoded)")
    }

    package static func putAssignments(_ organization: String) -> Self {
        Self("PUT", "/api/v1/assignments/\(organization.percentEncoded)")
    }
}
