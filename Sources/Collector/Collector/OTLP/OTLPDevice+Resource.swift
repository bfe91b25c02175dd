import FoundationEssentials
import OTLP
import RecordStore
import Registry
import WireModel

extension OTLPDevice {
    /// The device that a resource is in an organization, and what the resource says of it.
    init(_ resource: OTLPResource, organization: String) {
        let identity = OTLPResourceIdentity(resource)
        let id = DeviceID(
            hashing: "ws1 otlp device",
            [Data(organization.utf8), Data(identity.rule.rawValue.utf8), Data(identity.value)])
        let service = resource.text("service.name")
        var system = WireOperatingSystem()
        system.name = resource.text("os.type") ?? ""
        system.distribution = resource.text("os.name") ?? ""
        system.version = resource.text("os.version") ?? ""
        system.architecture = resource.text("host.arch") ?? ""
        let sdk = ["telemetry.sdk.name", "telemetry.sdk.language", "telemetry.sdk.version"].compactMap {
            resource.text($0)
        }
        let name: String? =
            switch identity.rule {
            case .host: resource.text("host.name") ?? resource.text("host.id")
            case .serviceInstance, .attributes: service ?? resource.text("host.name")
            }
        self.init(
            id: id, name: name ?? "", operatingSystem: system, agentVersion: sdk.joined(separator: " "),
            // Several services are one device if they name its host.
            application: identity.rule == .host ? "" : service ?? "")
    }
}
