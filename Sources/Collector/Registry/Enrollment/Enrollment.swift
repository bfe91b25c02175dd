import FoundationEssentials
import RecordStore
import WireModel

package struct EnrollResult: Equatable, Sendable {
    package var deviceID: DeviceID
    /// The device's secret, returned once and not stored.
    package var credential: String
    package var organization: String
    package var profileRevision: UInt64
    /// The device keeps the id that it asked for.
    package var deviceKept: Bool
    /// 16 bytes; commands belong to it.
    package var enrollmentID: Data
}

package enum EnrollError: StoreRefusal, Equatable, Sendable {
    case tokenUnknown, tokenExpired, tokenUsedUp, tokenRevoked
    /// The id is known and the former credential does not prove it, or it belongs to another organization.
    case deviceConflict
    /// An administrator revoked the device.
    case deviceRevoked
    case store(StoreError)
}

extension WireEnrollRequest {
    /// The most bytes stored of each text that a device reports about itself, so one device cannot inflate a list.
    package static let textBytes = 255

    /// The public key for wipe certificates; `nil` if the device has none.
    var wipeKey: Data? { wipeSigningKey.isEmpty ? nil : wipeSigningKey }

    /// Cuts every text between characters to what is stored. The machine's hash is not cut, because two machines could
    /// then look like one.
    var bounded: WireEnrollRequest {
        var request = self
        request.deviceName = deviceName.cut(toBytes: Self.textBytes)
        request.agentVersion = agentVersion.cut(toBytes: Self.textBytes)
        request.application = application.cut(toBytes: Self.textBytes)
        if hasOperatingSystem {
            request.operatingSystem.name = operatingSystem.name.cut(toBytes: Self.textBytes)
            request.operatingSystem.distribution = operatingSystem.distribution.cut(toBytes: Self.textBytes)
            request.operatingSystem.version = operatingSystem.version.cut(toBytes: Self.textBytes)
            request.operatingSystem.kernel = operatingSystem.kernel.cut(toBytes: Self.textBytes)
            request.operatingSystem.architecture = operatingSystem.architecture.cut(toBytes: Self.textBytes)
        }
        return request
    }
}

extension String {
    /// Cut between characters to at most that many bytes.
    package func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        // A scalar ends where the next begins.
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
