import CollectorStore
import Foundation
import Hummingbird
import WireModel

/// Shows the collector's certificates and pins. They belong to the whole collector, so this is for administrators of
/// all organizations.
struct CertificateRoutes: Sendable {
    let server: @Sendable () -> ServerCertificates?
    let backupPin: @Sendable () -> Data?
    let devices: DeviceCertificates

    func add(to router: CollectorRouter) { router.people(.administrator).get("/api/v1/certificates", use: list) }

    private func list(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        guard context.person.organization == nil else {
            throw Problem.forbidden(
                "Certificates belong to the whole collector, but the token belongs to one organization.")
        }
        return try CertificatesView(
            server: server(), backupPin: backupPin()?.base64EncodedString(), devices: .init(devices)
        ).response()
    }
}

struct CertificatesView: Encodable {
    struct Devices: Encodable {
        var certificates: String
        /// The rest is absent if devices have no certificates.
        var authorityFile: String?
        /// The issuing one first.
        var authorities: [CertificateFacts]?
        var validDays: Int?

        init(_ certificates: DeviceCertificates) {
            self.certificates =
                switch certificates {
                case .off: "off"
                case .optional: "optional"
                case .required: "required"
                }
            authorityFile = certificates.authority?.file
            authorities = certificates.authority?.facts
            validDays = certificates.authority?.days
        }
    }

    /// `null` if the collector serves plain HTTP.
    var server: ServerCertificates?
    /// Absent if nobody has made a backup key.
    var backupPin: String?
    var devices: Devices

    private enum Key: CodingKey { case server, backupPin, devices }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(server, forKey: .server)
        try container.encodeIfPresent(backupPin, forKey: .backupPin)
        try container.encode(devices, forKey: .devices)
    }
}
