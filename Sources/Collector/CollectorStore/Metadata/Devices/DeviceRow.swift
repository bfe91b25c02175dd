import Crypto
import FoundationEssentials
import WireModel

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

/// A device that was revoked, and the token that it last enrolled with, where that is known.
package struct DeviceRevocation: Equatable, Sendable {
    package var device: DeviceRow
    package var token: TokenRow?
}

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

/// A client certificate that this collector has issued to a device. The device keeps the certificate itself.
///
/// Only certificates that are remembered here are accepted, so no revocation list is needed. A device may have several,
/// because an answer that carries one may be lost. The first use of one removes those issued before it.
package struct DeviceCertificate: Equatable, Sendable {
    /// SHA-256 of the certificate's DER form.
    package var fingerprint: Data
    /// Big-endian, 16 bytes.
    package var serial: Data
    /// Microseconds since 1970 by the collector's clock, as is `expires`.
    package var issued: Int64
    package var expires: Int64
    /// When the device first connected with it; `nil`: not yet.
    package var used: Int64?

    package init(fingerprint: Data, serial: Data, issued: Int64, expires: Int64, used: Int64? = nil) {
        self.fingerprint = fingerprint
        self.serial = serial
        self.issued = issued
        self.expires = expires
        self.used = used
    }
}

/// Other devices that are, or may be, the same machine.
package struct DeviceLineage: Equatable, Sendable {
    /// The most of either kind.
    static let maximum = 16

    /// As administrators have said, the nearest first; their logs are shown with the device's own.
    package var predecessors: [DeviceID]
    /// Later enrollments of the same machine and application that succeed no device yet; they inherit nothing by
    /// themselves.
    package var possibleSuccessors: [DeviceID] = []
}

/// Whether a device reports as often as it said it would. Pure: derived from its beacon schedule and the time of its
/// newest beacon.
package enum ReportingState: String, Sendable, CaseIterable {
    /// Enrolled, without a beacon schedule.
    case enrolled
    case reporting
    /// Two beacons are missing.
    case late
    /// Five beacons are missing.
    case silent
    /// It has unenrolled.
    case left
    /// An administrator has revoked it.
    case revoked

    /// Beacons missed.
    package static let lateAfter: Int64 = 2
    package static let silentAfter: Int64 = 5

    /// Beacons are counted from the newest that came, or from the enrollment while none has.
    package init(of device: DeviceRow, at now: Int64) {
        self.init(
            hasLeft: device.left != nil, isRevoked: device.revoked != nil,
            expectedBeaconSeconds: device.expectedBeaconSeconds,
            lastBeacon: device.lastBeacon, enrolled: device.enrolled, at: now)
    }

    init(
        hasLeft: Bool, isRevoked: Bool, expectedBeaconSeconds: UInt32?, lastBeacon: Int64?, enrolled: Int64,
        at now: Int64
    ) {
        if hasLeft {
            self = .left
        } else if isRevoked {
            self = .revoked
        } else if let seconds = expectedBeaconSeconds, seconds > 0 {
            let (elapsed, isOver) = now.subtractingReportingOverflow(max(lastBeacon ?? .min, enrolled))
            let interval = Int64(seconds) * 1_000_000
            // A quarter of an interval for the way: a beacon that is due at this moment has not been missed.
            let missed = isOver ? Self.silentAfter : (elapsed - interval / 4) / interval
            self = missed >= Self.silentAfter ? .silent : missed >= Self.lateAfter ? .late : .reporting
        } else {
            self = .enrolled
        }
    }
}
