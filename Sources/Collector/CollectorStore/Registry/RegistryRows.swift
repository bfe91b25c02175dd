import FoundationEssentials
import WireModel

/// What a person or script may do; each role may do what the ones before it may. The raw value is on disk.
package enum PersonRole: Int, Sendable, Comparable, CaseIterable, Codable {
    case viewer = 1
    case `operator` = 2
    case administrator = 3

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Who holds a person's token.
package struct Person: Equatable, Sendable {
    package var name: String
    package var role: PersonRole
    /// `nil`: all organizations.
    package var organization: String?
    /// Of the token, as the list of tokens has it.
    package var tokenID = ""
}

/// A device as it enrolled, and - where asked for - what its newest records say of it.
package struct DeviceRow: Equatable, Sendable {
    package var id: DeviceID
    package var organization: String
    package var name: String
    package var operatingSystem: WireOperatingSystem
    package var agentVersion: String
    /// Bundle id; empty for the agent itself.
    package var application: String
    package var machineHash: String
    package var test: Bool
    /// First and latest enrollment, microseconds since 1970 by the collector's clock, as are all times here.
    package var created: Int64
    package var enrolled: Int64
    /// When an administrator revoked it; `nil` while it is welcome.
    package var revoked: Int64?
    /// When it unenrolled; `nil` while it is enrolled.
    package var left: Int64?
    /// 16 bytes, another one at every enrollment; empty for a device that enrolled at a collector before it gave any.
    package var enrollmentID = Data()
    /// Whose logs are its own too, by an administrator's word.
    package var predecessor: DeviceID?
    /// The id of the token that it last enrolled with; `nil` where that was before the registry kept it.
    package var enrollmentToken: String?
    /// When its newest beacon came.
    package var lastBeacon: Int64?
    /// The beacon schedule it says it keeps; 0: none, `nil`: never said.
    package var expectedBeaconSeconds: UInt32?
    package var lastSeen: Int64?
    /// The revision of its profile that it runs; `nil`: never said.
    package var profileRevision: UInt64?
    package var beacon: WireBeacon?
    package var identity: WireSystemIdentity?
    /// In the order of their issue; only in the row of one device, not in those of a list.
    package var certificates: [DeviceCertificate] = []
}

package struct DevicePage: Equatable, Sendable {
    package var devices: [DeviceRow]
    /// Opaque; `nil` at the end.
    package var next: String?
}

package enum DeviceAuthentication: Equatable, Sendable {
    /// Without beacon and identity.
    case device(DeviceRow)
    case unknown
    /// By an administrator, or deleted.
    case revoked
    /// It has unenrolled by itself.
    case left
}

package struct EnrollResult: Equatable, Sendable {
    package var deviceID: DeviceID
    /// The device's secret, said once and not kept.
    package var credential: String
    package var organization: String
    package var profileRevision: UInt64
    /// The id asked for was kept.
    package var deviceKept: Bool
    /// 16 bytes; commands belong to it.
    package var enrollmentID: Data
}

package struct OrganizationRow: Equatable, Sendable {
    package var name: String
    package var created: Int64
    package var devices: Int
    /// The newest over its own and its applications' profiles.
    package var profileRevision: UInt64
}

package enum EnrollError: Error, Equatable, Sendable {
    case tokenUnknown, tokenExpired, tokenUsedUp, tokenRevoked
    /// The id is known and the previous credential does not prove it, or it belongs to another organization.
    case deviceConflict
    /// An administrator has revoked the device.
    case deviceRevoked
    case store(StoreError)
}

package struct TokenRow: Equatable, Sendable {
    package enum Kind: Int, Sendable, CaseIterable {
        case enrollment = 1
        case person = 2
    }

    package var id: String
    package var kind: Kind
    /// The person's name, or the enrollment token's note.
    package var name: String
    /// Of a person.
    package var role: PersonRole?
    package var organization: String?
    package var created: Int64
    package var expires: Int64?
    package var maximumUses: Int?
    package var uses: Int
    package var revoked: Int64?
}

/// A device that was revoked, and the token that it last enrolled with, where that is known.
package struct DeviceRevocation: Equatable, Sendable {
    package var device: DeviceRow
    package var token: TokenRow?

    package init(device: DeviceRow, token: TokenRow?) {
        self.device = device
        self.token = token
    }
}

/// What the very first start made; the secrets are said here and nowhere again.
package struct FirstStart: Equatable, Sendable {
    package var enrollmentToken: String
    package var administratorToken: String
}
