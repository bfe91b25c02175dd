import Crypto
import FoundationEssentials
import WireModel

extension DeviceRow {
    /// As its newest beacon says it, or as it enrolled.
    package var newestAgentVersion: String {
        guard let version = beacon?.libraryVersion, !version.isEmpty else { return agentVersion }
        return version
    }

    /// As its newest beacon says it, or as it enrolled.
    package var newestOperatingSystem: WireOperatingSystem {
        guard let beacon, beacon.hasOperatingSystem else { return operatingSystem }
        return beacon.operatingSystem
    }

    /// Of device and application together: one that is not compliant decides.
    package var compliance: WireCompliance {
        guard let beacon else { return .unknown }
        let both = [beacon.deviceCompliance, beacon.applicationCompliance]
        return both.contains(.nonCompliant) ? .nonCompliant : both.contains(.compliant) ? .compliant : .unknown
    }

    /// What a deletion of this enrollment of the device is confirmed with; another after it enrolled again.
    package var deletionConfirmation: String {
        Data(SHA256.hash(data: id.data + enrollmentID + Data("\(enrolled)".utf8)).prefix(16)).hexadecimal
    }
}
