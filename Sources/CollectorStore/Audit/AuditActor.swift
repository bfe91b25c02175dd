/// Who did something that the audit trail tells of.
package struct AuditActor: Equatable, Sendable {
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

    /// Whoever runs `ws1collector` on the collector's machine: who may write its files may do everything.
    package static let commandLine = AuditActor(name: "command line")

    /// The device that the entry is about, with its enrollment token or credential.
    package static let device = AuditActor(name: "device")
}
