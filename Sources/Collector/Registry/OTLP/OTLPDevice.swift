import RecordStore
import WireModel

/// Who sends OTLP, by its token.
package struct OTLPSender: Equatable, Sendable {
    /// The token's id in the list of tokens.
    package var tokenID: String
    package var organization: String

    package init(tokenID: String, organization: String) {
        self.tokenID = tokenID
        self.organization = organization
    }
}

/// A resource of OTLP as a device: what the registry keeps of it, as its first request says.
package struct OTLPDevice: Equatable, Sendable {
    /// Computed from the resource, so every collector finds the same one.
    package var id: DeviceID
    package var name: String
    package var operatingSystem: WireOperatingSystem
    /// Name and version of the SDK that sends.
    package var agentVersion: String
    package var application: String

    package init(
        id: DeviceID, name: String = "", operatingSystem: WireOperatingSystem = WireOperatingSystem(),
        agentVersion: String = "", application: String = ""
    ) {
        self.id = id
        self.name = name
        self.operatingSystem = operatingSystem
        self.agentVersion = agentVersion
        self.application = application
    }

    /// Cuts every text between characters to what is stored, as those of an enrollment.
    var bounded: OTLPDevice {
        func cut(_ text: String) -> String { text.cut(toBytes: WireEnrollRequest.textBytes) }
        var device = self
        device.name = cut(name)
        device.agentVersion = cut(agentVersion)
        device.application = cut(application)
        device.operatingSystem.name = cut(operatingSystem.name)
        device.operatingSystem.distribution = cut(operatingSystem.distribution)
        device.operatingSystem.version = cut(operatingSystem.version)
        device.operatingSystem.kernel = cut(operatingSystem.kernel)
        device.operatingSystem.architecture = cut(operatingSystem.architecture)
        return device
    }
}

/// Whether the records of a resource are stored.
package enum OTLPStanding: Equatable, Sendable {
    /// The row without beacon and identity.
    case welcome(DeviceRow)
    case revoked
    /// An administrator deleted it. It would otherwise come back with its next request.
    case deleted
}

package enum OTLPDeviceError: StoreRefusal, Equatable, Sendable {
    /// The token has made as many devices today (UTC) as it may. `wait`: when to ask again, in microseconds; not before
    /// tomorrow, unless others are named. `isFirst`: whether this collector says it the first time today.
    case tooMany(limit: Int, wait: Int64, isFirst: Bool)
    case store(StoreError)
}
