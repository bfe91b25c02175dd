import CollectorStore
import Foundation
import JSON
import RecordViews
import TelemetryBasics
import WireModel

/// A device, as people see it.
struct DeviceView: Encodable {
    var id: String
    var organization: String
    var name: String
    var state: String
    var agentVersion: String
    var application: String
    var test: Bool
    var createdAt: String
    var enrolledAt: String
    var revokedAt: String?
    var leftAt: String?
    var lastSeenAt: String?
    var lastBeaconAt: String?
    /// The schedule from which `state` is derived.
    var expectedBeaconSeconds: UInt32?
    /// The profile revision that the device applies.
    var profileRevision: UInt64?
    /// The device whose logs are shown with its own.
    var predecessor: String?
    /// The id of its last enrollment token.
    var enrollmentToken: String?
    /// The revoked enrollment token. Only in the answer that revoked the device.
    var token: TokenView?
    /// The devices whose predecessor it is. Only if a single device is requested.
    var successors: [String]?
    /// Devices that may be this one, enrolled again. Only if a single device is requested.
    var possibleSuccessors: [String]?
    /// Devices that this one may have been before. Only if a single device is requested.
    var possiblePredecessors: [String]?
    /// Its valid client certificates in the order of issue. Only if a single device is requested.
    var certificates: [DeviceCertificateView]?
    var operatingSystem: JSONValue?
    var beacon: JSONValue?
    var verdicts: JSONValue?
    var identity: JSONValue?

    /// - Parameter role: the viewer's role.
    init(_ device: DeviceRow, for role: PersonRole, lineage: DeviceLineage? = nil, now: Int64) throws {
        id = device.id.description
        organization = device.organization
        name = device.newestName
        state = ReportingState(of: device, at: now).rawValue
        agentVersion = device.newestAgentVersion
        application = device.application
        test = device.test
        createdAt = Timestamp.text(device.created)
        enrolledAt = Timestamp.text(device.enrolled)
        revokedAt = device.revoked.map(Timestamp.text)
        leftAt = device.left.map(Timestamp.text)
        lastSeenAt = device.lastSeen.map(Timestamp.text)
        lastBeaconAt = device.lastBeacon.map(Timestamp.text)
        expectedBeaconSeconds = device.expectedBeaconSeconds.flatMap { $0 > 0 ? $0 : nil }
        profileRevision = device.profileRevision
        predecessor = device.predecessor?.description
        enrollmentToken = device.enrollmentToken
        successors = lineage?.successors.map(\.description)
        possibleSuccessors = lineage?.possibleSuccessors.map(\.description)
        possiblePredecessors = lineage?.possiblePredecessors.map(\.description)
        certificates = device.certificates.isEmpty ? nil : device.certificates.map(DeviceCertificateView.init)
        operatingSystem = try MessageView.json(device.newestOperatingSystem)
        beacon = try device.beacon.map { try MessageView.json($0.seen(by: role)) }
        verdicts = try device.verdicts?.view
        identity = try device.identity.map(MessageView.json)
    }
}

/// A device's client certificate, as people see it.
struct DeviceCertificateView: Encodable {
    /// Hexadecimal.
    var serial: String
    var issuedAt: String
    var expiresAt: String
    /// When the device first used it; absent until then.
    var usedAt: String?

    init(_ certificate: DeviceCertificate) {
        serial = certificate.serial.hexadecimal
        issuedAt = Timestamp.text(certificate.issued)
        expiresAt = Timestamp.text(certificate.expires)
        usedAt = certificate.used.map(Timestamp.text)
    }
}

extension DeviceVerdicts {
    fileprivate var view: JSONValue {
        get throws {
            guard case .object(var members) = try MessageView.json(beacon) else { return .null }
            // The JSON of a message leaves out what is unknown.
            for name in ["deviceCompliance", "applicationCompliance", "compromised"] where members[name] == nil {
                members[name] = .text("unknown")
            }
            members["reportedAt"] = .text(Timestamp.text(at))
            return .object(members)
        }
    }
}
