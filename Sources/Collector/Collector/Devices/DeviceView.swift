import CollectorAPI
import Foundation
import JSON
import RecordViews
import Registry
import TelemetryBasics
import WireModel

extension DeviceView {
    /// - Parameter role: the viewer's role.
    init(_ device: DeviceRow, for role: PersonRole, lineage: DeviceLineage? = nil, now: Int64) throws {
        self.init()
        id = device.id.description
        organization = device.organization
        name = device.newestName
        kind = device.kind.name
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

extension DeviceCertificateView {
    init(_ certificate: DeviceCertificate) {
        self.init()
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
