import WireModel

/// The known facts about this device, in the fields of ws1's `DeviceInformationController`. A field says `unknown` as
/// long as nothing has reported it, and `notApplicable` where it has no meaning here.
public struct DeviceInformation: Equatable, Sendable {
    /// A field: its value, or why there is none.
    public enum Field<Value: Equatable & Sendable>: Equatable, Sendable, CustomStringConvertible {
        case known(Value)
        /// Nothing has reported it yet.
        case unknown
        /// It has no meaning in this system.
        case notApplicable

        /// The value in words.
        public var description: String {
            switch self {
            case .known(let value): "\(value)"
            case .unknown: "unknown"
            case .notApplicable: "not applicable"
            }
        }
    }

    /// The device's standing in its organization.
    public enum Enrollment: Equatable, Sendable, CustomStringConvertible {
        case enrolled, unenrolled, wipePending

        /// The value in words.
        public var description: String {
            switch self {
            case .enrolled: "enrolled"
            case .unenrolled: "unenrolled"
            case .wipePending: "wipe pending"
            }
        }
    }

    /// Whether the device is enrolled.
    public var enrollment: Field<Enrollment> = .unknown
    /// Whether device and application follow the profile's rules of compliance. Unknown if there are none, or if one
    /// cannot be judged and none is broken.
    public var isCompliant: Field<Bool> = .unknown
    /// Whether a detector found signs of compromise.
    public var isCompromised: Field<Bool> = .unknown
    /// Whether an organization manages the device.
    public var isManaged: Field<Bool> = .unknown
    /// `managed` by an organization, or `unmanaged`. The usage event `launch` says the same.
    public var managementType: Field<String> { Self.managementType(isManaged) }
    /// The organization's name.
    public var organization: Field<String> = .unknown
    /// The organization's id: its name, which is unique at a collector.
    public var organizationID: Field<String> = .unknown
    /// The collector's address (ws1: device services URL).
    public var collector: Field<String> = .unknown
    /// The library signs nobody on.
    public var singleSignOn: Field<Bool> = .notApplicable
    /// The collector's version (ws1: console version).
    public var collectorVersion: Field<String> = .unknown
    /// Devices are not checked out to persons.
    public var isSharedDevice: Field<Bool> = .notApplicable
    /// Whether the collector speaks the version of this library.
    public var isSupported: Field<Bool> = .unknown

    static func managementType(_ isManaged: Field<Bool>) -> Field<String> {
        switch isManaged {
        case .known(let isManaged): .known(isManaged ? "managed" : "unmanaged")
        case .unknown: .unknown
        case .notApplicable: .notApplicable
        }
    }

    /// All fields in words, by name.
    public var described: [String: String] {
        [
            "enrollment": "\(enrollment)", "compliant": "\(isCompliant)", "compromised": "\(isCompromised)",
            "managed": "\(isManaged)", "managementType": "\(managementType)", "organization": "\(organization)",
            "organizationID": "\(organizationID)", "collector": "\(collector)", "singleSignOn": "\(singleSignOn)",
            "collectorVersion": "\(collectorVersion)", "sharedDevice": "\(isSharedDevice)",
            "supported": "\(isSupported)",
        ]
    }

    /// - Parameters:
    ///   - present: what a beacon would report now, with verdicts.
    ///   - collector: its address; empty for none.
    ///   - collectorVersion: of its newest answer.
    init(present: WireBeacon, organization name: String?, collector url: String, collectorVersion version: String?) {
        switch present.enrollment {
        case .enrolled: enrollment = .known(.enrolled)
        case .unenrolled: enrollment = .known(.unenrolled)
        case .wipePending: enrollment = .known(.wipePending)
        case .unknown, .UNRECOGNIZED: break
        }
        let verdicts = [present.deviceCompliance, present.applicationCompliance]
        if verdicts.contains(.nonCompliant) {
            isCompliant = .known(false)
        } else if verdicts.contains(.compliant), !present.rules.contains(where: { $0.state == .unknown }) {
            isCompliant = .known(true)
        }
        isCompromised = Field(present.compromised)
        isManaged = Field(present.managed)
        if let name {
            organization = .known(name)
            organizationID = .known(name)
        }
        if !url.isEmpty { collector = .known(url) }
        if let version {
            collectorVersion = .known(version)
            isSupported = .known(Int(version.prefix { $0 != "." }) == WireNames.majorVersion)
        }
    }
}

extension DeviceInformation.Field<Bool> {
    init(_ verdict: WireVerdict) {
        switch verdict {
        case .yes: self = .known(true)
        case .no: self = .known(false)
        case .unknown, .UNRECOGNIZED: self = .unknown
        }
    }
}

/// An application that the organization has assigned to this device.
public struct ApplicationAssignment: Equatable, Sendable {
    /// Whether an application is assigned to this device.
    public enum Status: String, Codable, Sendable {
        case assigned
        case notAssigned = "not assigned"
        /// The organization keeps no list of assignments.
        case notApplicable = "not applicable"
    }

    /// Bundle ids of the applications that are assigned to this device; `nil` if the organization keeps no list.
    public let applications: [String]?

    /// - Parameter application: bundle id.
    public func status(of application: String) -> Status {
        guard let applications else { return .notApplicable }
        return applications.contains(application) ? .assigned : .notAssigned
    }
}
