import WireModel

/// Who did something that the audit trail tells of.
package struct AuditActor: Equatable, Sendable, Codable {
    package var name: String
    /// The id of the token it was done with; `nil` where it was done without one.
    package var token: String?
    package var role: PersonRole?

    package init(name: String, token: String? = nil, role: PersonRole? = nil) {
        self.name = name
        self.token = token
        self.role = role
    }

    package init(_ person: Person) {
        self.init(name: person.name, token: person.tokenID, role: person.role)
    }

    /// A device, with its own credential or an enrollment token.
    package static func device(_ id: DeviceID) -> AuditActor { AuditActor(name: "device \(id)") }

    /// Whoever runs `ws1collector` on the collector's machine: who may write its files may do everything.
    package static let commandLine = AuditActor(name: "command line")
}
