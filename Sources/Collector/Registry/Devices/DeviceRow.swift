import Crypto
import FoundationEssentials
import WireModel

/// A device as it enrolled and, if requested, what its newest records report.
package struct DeviceRow: Equatable, Sendable {
    package enum Kind: Int, Sendable, CaseIterable {
        /// It has an agent or the library, and enrolled with them.
        case enrolled = 0
        /// It is a resource of OTLP: its sender has a token, and neither enrolls nor asks for anything.
        case otlp = 1

        /// The name for people.
        package var name: String {
            switch self {
            case .enrolled: "enrolled"
            case .otlp: "otlp"
            }
        }
    }

    package var id: DeviceID
    package var kind = Kind.enrolled
    package var organization: String
    /// The name from its enrollment.
    package var name: String
    package var operatingSystem: WireOperatingSystem
    package var agentVersion: String
    /// Bundle id; empty for the agent itself.
    package var application: String
    package var machineHash: String
    package var test: Bool
    /// First and latest enrollment, in microseconds since 1970 by the collector's clock, like all times here. Of a
    /// resource of OTLP: when its first request came.
    package var created: Int64
    package var enrolled: Int64
    /// When an administrator revoked it; `nil` if not revoked.
    package var revoked: Int64?
    /// When it was unenrolled; `nil` while enrolled.
    package var left: Int64?
    /// 16 bytes that change with every enrollment. Empty for a device that enrolled before the collector issued any.
    package var enrollmentID = Data()
    /// Another device whose logs belong to this one, as an administrator stated.
    package var predecessor: DeviceID?
    /// The id of its last enrollment token; `nil` if that was before the collector stored it. Of a resource of OTLP:
    /// the token that its first request had.
    package var enrollmentToken: String?
    package var doNotDisturb = DeviceDoNotDisturb()
    /// When its newest beacon came.
    package var lastBeacon: Int64?
    /// Its beacon interval; 0 for none, `nil` if never reported.
    package var expectedBeaconSeconds: UInt32?
    package var lastSeen: Int64?
    /// The profile revision that it applies; `nil` if never reported.
    package var profileRevision: UInt64?
    package var beacon: WireBeacon?
    /// `nil` if no beacon had any.
    package var verdicts: DeviceVerdicts?
    package var identity: WireSystemIdentity?
    /// The certificates in the order of issue. Only if a single device is requested.
    package var certificates: [DeviceCertificate] = []
}

package struct DevicePage: Equatable, Sendable {
    package var devices: [DeviceRow]
    /// Opaque; `nil` at the end.
    package var next: String?
}

package enum DeviceAuthentication: Equatable, Sendable {
    /// The row without beacon and identity.
    case device(DeviceRow)
    case unknown
    /// Revoked or deleted by an administrator.
    case revoked
    /// It was unenrolled by itself.
    case left
}

/// A revoked device, and its last enrollment token if known.
package struct DeviceRevocation: Equatable, Sendable {
    package var device: DeviceRow
    package var token: TokenRow?
}

extension DeviceRow {
    /// The name from its newest beacon, or from its enrollment. Many a machine gets its name only after that, for
    /// instance from cloud-init.
    package var newestName: String {
        guard let newest = beacon?.deviceName, !newest.isEmpty else { return name }
        return newest.cut(toBytes: WireEnrollRequest.textBytes)
    }

    /// The version from its newest beacon, or from its enrollment.
    package var newestAgentVersion: String {
        guard let version = beacon?.libraryVersion, !version.isEmpty else { return agentVersion }
        return version
    }

    /// The system from its newest beacon, or from its enrollment.
    package var newestOperatingSystem: WireOperatingSystem {
        guard let beacon, beacon.hasOperatingSystem else { return operatingSystem }
        return beacon.operatingSystem
    }

    /// The compliance of device and application together, as last reported. If one is not compliant, neither is the
    /// whole.
    package var compliance: WireCompliance {
        guard let reported = verdicts?.beacon else { return .unknown }
        let both = [reported.deviceCompliance, reported.applicationCompliance]
        return both.contains(.nonCompliant) ? .nonCompliant : both.contains(.compliant) ? .compliant : .unknown
    }

    /// The confirmation for deleting this enrollment of the device. It changes when the device enrolls again.
    package var deletionConfirmation: String {
        Data(SHA256.hash(data: id.data + enrollmentID + Data("\(enrolled)".utf8)).prefix(16)).hexadecimal
    }
}

/// A client certificate that this collector issued to a device. Only the device stores the certificate itself.
///
/// Only certificates recorded here are accepted, so no revocation list is needed. A device may have several, because an
/// answer with one may be lost. The first use of one removes those issued before it.
package struct DeviceCertificate: Equatable, Sendable {
    /// SHA-256 of the certificate's DER form.
    package var fingerprint: Data
    /// Big-endian, 16 bytes.
    package var serial: Data
    /// Microseconds since 1970 by the collector's clock, as is `expires`.
    package var issued: Int64
    package var expires: Int64
    /// When the device first used it; `nil` if never.
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
    /// The most devices of either kind.
    package static let maximum = 16

    /// Predecessors stated by administrators, the nearest first. Their logs are shown with the device's own.
    package var predecessors: [DeviceID]
    /// The devices whose predecessor it is.
    package var successors: [DeviceID]
    /// Later enrollments of the same machine and application that have no predecessor yet. They inherit nothing by
    /// themselves.
    package var possibleSuccessors: [DeviceID] = []
    /// Earlier enrollments of the same machine and application, the newest first, unless a predecessor is stated. It
    /// inherits nothing from them by itself.
    package var possiblePredecessors: [DeviceID] = []
}

/// Whether a device reports as often as its schedule requires. Pure: derived from its beacon interval and the time of
/// its newest beacon.
package enum ReportingState: String, Sendable, CaseIterable {
    /// Enrolled, without a beacon schedule.
    case enrolled
    case reporting
    /// Two beacons are missing.
    case late
    /// Five beacons are missing.
    case silent
    /// Its newest beacon said that telemetry is switched off, so that none follows.
    case off
    /// It was unenrolled.
    case left
    /// An administrator revoked it.
    case revoked
    /// It is a resource of OTLP, of which nobody expects a beacon.
    case otlp

    /// Its place among all cases.
    package var place: Int {
        switch self {
        case .enrolled: 0
        case .reporting: 1
        case .late: 2
        case .silent: 3
        case .off: 4
        case .left: 5
        case .revoked: 6
        case .otlp: 7
        }
    }

    /// The number of missing beacons.
    package static let lateAfter: Int64 = 2
    package static let silentAfter: Int64 = 5

    /// Beacons are counted from the newest one, or from the enrollment before the first.
    package init(of device: DeviceRow, at now: Int64) {
        self.init(
            kind: device.kind, hasLeft: device.left != nil, isRevoked: device.revoked != nil,
            isOff: device.beacon?.telemetryDisabled ?? false,
            expectedBeaconSeconds: device.expectedBeaconSeconds,
            lastBeacon: device.lastBeacon, enrolled: device.enrolled, at: now)
    }

    init(
        kind: DeviceRow.Kind, hasLeft: Bool, isRevoked: Bool, isOff: Bool, expectedBeaconSeconds: UInt32?,
        lastBeacon: Int64?, enrolled: Int64, at now: Int64
    ) {
        if hasLeft {
            self = .left
        } else if isRevoked {
            self = .revoked
        } else if kind == .otlp {
            self = .otlp
        } else if isOff {
            self = .off
        } else if let seconds = expectedBeaconSeconds, seconds > 0 {
            let (elapsed, isOver) = now.subtractingReportingOverflow(max(lastBeacon ?? .min, enrolled))
            let interval = Int64(seconds) * 1_000_000
            // A quarter of an interval is for the way: a beacon that is due now is not missing yet.
            let missed = isOver ? Self.silentAfter : (elapsed - interval / 4) / interval
            self = missed >= Self.silentAfter ? .silent : missed >= Self.lateAfter ? .late : .reporting
        } else {
            self = .enrolled
        }
    }
}
