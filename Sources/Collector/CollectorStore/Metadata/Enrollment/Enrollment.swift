import FoundationEssentials
import WireModel

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

package enum EnrollError: Error, Equatable, Sendable {
    case tokenUnknown, tokenExpired, tokenUsedUp, tokenRevoked
    /// The id is known and the previous credential does not prove it, or it belongs to another organization.
    case deviceConflict
    /// An administrator has revoked the device.
    case deviceRevoked
    case store(StoreError)
}

extension WireEnrollRequest {
    /// What a device says of itself is kept up to this many bytes of each text: a list of devices must not grow by one
    /// of them.
    static let textBytes = 255

    /// With every text cut, at a character's end, to what is kept. The machine's hash is left alone: cut, two machines
    /// could be one.
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
    /// At most so many bytes of it, cut at a character's end.
    func cut(toBytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        // A scalar ends where the next begins.
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
