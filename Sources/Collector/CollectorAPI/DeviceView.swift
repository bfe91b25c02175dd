import JSON

/// A device, as people see it.
package struct DeviceView: Codable, Sendable {
    package var id = ""
    package var organization = ""
    package var name = ""
    /// `enrolled`, or `otlp` for a resource of OTLP. Absent from a collector of before 1.1.
    package var kind: String?
    package var state = ""
    package var agentVersion = ""
    package var application = ""
    package var test = false
    package var createdAt = ""
    package var enrolledAt = ""
    package var revokedAt: String?
    package var leftAt: String?
    package var lastSeenAt: String?
    package var lastBeaconAt: String?
    /// The schedule from which `state` is derived.
    package var expectedBeaconSeconds: UInt32?
    /// The profile revision that the device applies.
    package var profileRevision: UInt64?
    /// The device whose logs are shown with its own.
    package var predecessor: String?
    /// The id of its last enrollment token.
    package var enrollmentToken: String?
    /// The revoked enrollment token. Only in the answer that revoked the device.
    package var token: TokenView?
    /// The devices whose predecessor it is. Only if a single device is requested.
    package var successors: [String]?
    /// Devices that may be this one, enrolled again. Only if a single device is requested.
    package var possibleSuccessors: [String]?
    /// Devices that this one may have been before. Only if a single device is requested.
    package var possiblePredecessors: [String]?
    /// Its valid client certificates in the order of issue. Only if a single device is requested.
    package var certificates: [DeviceCertificateView]?
    /// Where it is. Only if a single device is read; absent if its newest records do not tell.
    package var location: DeviceLocationView?
    /// Its connection to the message broker. Only if a single device is requested, by a collector that serves a broker.
    package var brokerConnection: BrokerConnectionView?
    /// The following members are messages of telemetry.proto.
    package var operatingSystem: JSONValue?
    package var beacon: JSONValue?
    package var verdicts: JSONValue?
    package var identity: JSONValue?

    package init() {}
}

/// A device's connection to the message broker, as people see it.
package struct BrokerConnectionView: Codable, Equatable, Sendable {
    /// The device's name at the broker.
    package var name = ""
    /// `connected`, `lost` or `stopped`.
    package var state = ""
    /// When this state began; absent if that was before the collector came to the broker.
    package var since: String?

    package init() {}
}

/// A device's client certificate, as people see it.
package struct DeviceCertificateView: Codable, Equatable, Sendable {
    /// Hexadecimal.
    package var serial = ""
    package var issuedAt = ""
    package var expiresAt = ""
    /// When the device first used it; absent until then.
    package var usedAt: String?

    package init() {}
}

/// The data that the deletion of a device removed or would remove.
package struct DeviceDeletionView: Codable, Equatable, Sendable {
    package var deleted = false
    package var device = ""
    package var organization = ""
    package var name = ""
    /// Chunks of its logs. They are erased with its records.
    package var logChunks = 0
    package var logRawBytes = 0
    /// The value to send as `confirm`. Only while nothing is deleted.
    package var confirm: String?

    package init() {}
}

/// A device's do-not-disturb, as people see it.
package struct DoNotDisturbView: Codable, Equatable, Sendable {
    package enum Decider: String, Codable, Sendable {
        case device
        case person
    }

    /// The newest decision; off if nobody has decided.
    package var on = false
    /// Whether the device's newest profile allows it. Otherwise the decision has no effect.
    package var allowed = false
    /// The state that the device's newest beacon reports; absent if it reports none.
    package var reported: Bool?
    /// Counts the device's decisions.
    package var revision: UInt64 = 0
    /// Absent if nobody has decided, as is `setAt`.
    package var setBy: Decider?
    /// The name of the person's token; absent for the device.
    package var person: String?
    package var setAt: String?

    package init() {}
}

extension APIOperation where Answer == Page<DeviceView> {
    package static var listDevices: Self { Self("GET", "/api/v1/devices") }
}

extension APIOperation where Answer == DeviceView {
    package static func getDevice(_ device: String) -> Self { Self("GET", path(of: device)) }
    package static func revokeDevice(_ device: String) -> Self { Self("POST", path(of: device, "/revoke")) }
    package static func reinstateDevice(_ device: String) -> Self { Self("POST", path(of: device, "/reinstate")) }
    package static func setPredecessor(_ device: String) -> Self { Self("POST", path(of: device, "/predecessor")) }
}

extension APIOperation where Answer == DeviceDeletionView {
    package static func deleteDevice(_ device: String) -> Self { Self("DELETE", path(of: device)) }
}

extension APIOperation where Answer == DoNotDisturbView {
    package static func getDoNotDisturb(_ device: String) -> Self { Self("GET", path(of: device, "/do-not-disturb")) }
    package static func setDoNotDisturb(_ device: String) -> Self { Self("PUT", path(of: device, "/do-not-disturb")) }
}

extension APIOperation {
    fileprivate static func path(of device: String, _ rest: String = "") -> String {
        "/api/v1/devices/\(device.percentEncoded)\(rest)"
    }
}
