import CollectorAPI
import Foundation
import Hummingbird
import Registry
import WireModel

/// Shows the collector's certificates and pins. They belong to the whole collector, so this is for administrators of
/// all organizations.
struct CertificateRoutes: RouteGroup {
    let shared: RouteContext
    let server: @Sendable () -> CertificatesView.Server?
    let backupPin: @Sendable () -> Data?
    let devices: DeviceCertificates

    func add(to router: CollectorRouter) { router.people(.administrator).get("/api/v1/certificates", use: list) }

    private func list(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        guard context.person.organization == nil else {
            throw Problem.forbidden(
                "Certificates belong to the whole collector, but the token belongs to one organization.")
        }
        var view = CertificatesView()
        view.server = server()
        view.backupPin = backupPin()?.base64EncodedString()
        view.devices = CertificatesView.Devices(devices)
        return try view.response()
    }
}

extension CertificatesView.Devices {
    init(_ certificates: DeviceCertificates) {
        self.init()
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
