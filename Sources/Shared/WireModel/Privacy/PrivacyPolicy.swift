/// The action for each privacy class. Technical fields are always sent, because there is no record without them.
package struct PrivacyPolicy: Equatable, Sendable {
    private var actions: [FieldClass: PrivacyAction]

    /// The compiled defaults.
    package init() {
        actions = Dictionary(uniqueKeysWithValues: FieldClass.allCases.map { ($0, $0.defaultAction) })
    }

    package subscript(_ fieldClass: FieldClass) -> PrivacyAction {
        // `init` gives every class an entry.
        actions[fieldClass] ?? .drop
    }

    /// The policy in force: the profile's decision, or else the default, and never less strict than the local setting.
    ///
    /// - Parameters:
    ///   - local: from code, file, flags and environment. It can only tighten, even if the profile decides nothing yet.
    ///   - profile: class names and actions as received. Unknown names are ignored, because they have no fields here.
    ///     `unspecified` decides nothing.
    package static func resolve(local: [FieldClass: PrivacyAction], profile: [String: WirePrivacyAction])
        -> PrivacyPolicy
    {
        var policy = PrivacyPolicy()
        for fieldClass in FieldClass.decidable {
            let decided = profile[fieldClass.rawValue].flatMap { PrivacyAction($0) } ?? fieldClass.defaultAction
            policy.actions[fieldClass] = max(decided, local[fieldClass] ?? .send)
        }
        return policy
    }
}

/// What happens to a field of a privacy class before a record is made, in ascending strictness.
///
/// The order follows what remains. A hash still shows that two values are equal. A coarse value is shared by many and
/// identifies none. A dropped value is gone. The numbers in telemetry.proto have the same order.
package enum PrivacyAction: String, CaseIterable, Comparable, Sendable {
    case send
    case hash
    case coarsen
    case drop

    /// `nil` if nothing is decided. An action of a later version counts as the strictest, because unknown is never
    /// permission.
    package init?(_ wire: WirePrivacyAction) {
        switch wire {
        case .unspecified: return nil
        case .send: self = .send
        case .hash: self = .hash
        case .coarsen: self = .coarsen
        case .drop, .UNRECOGNIZED: self = .drop
        }
    }

    private var strictness: Int {
        switch self {
        case .send: 0
        case .hash: 1
        case .coarsen: 2
        case .drop: 3
        }
    }

    package static func < (left: Self, right: Self) -> Bool { left.strictness < right.strictness }
}

/// What a field tells about a person, as far as a profile decides on it. The raw values are the names in profiles and
/// configuration files and never change.
///
/// What the actions mean for each class, and what holds where neither the profile nor a local setting decides:
///
/// | class         | fields                                           | default | hash                   | coarsen                                   |
/// |---------------|--------------------------------------------------|---------|------------------------|-------------------------------------------|
/// | `technical`   | all that says nothing of a person; always sent   | send    | -                      | -                                         |
/// | `device-name` | device name, host name                           | send    | keyed hash             | the domain of a full name, else dropped   |
/// | `user`        | e-mail, full and display name                    | send    | keyed hash             | e-mail: its domain; names: initials       |
/// | `ssid`        | network name                                     | drop    | keyed hash             | dropped                                   |
/// | `bssid`       | access point                                     | drop    | keyed hash             | its maker (first three bytes)             |
/// | `mac`         | hardware addresses, also those inside interface names (`enx...`) and IPv6 addresses | send | keyed hash | its maker (first three bytes) |
/// | `ip-address`  | own addresses, gateways, name servers            | send    | keyed hash             | IPv4 to its /24, IPv6 to its /48          |
/// | `position`    | latitude, longitude, altitude, speed, course     | drop    | dropped                | a grid of 0.01 degrees (1.1 km); no height, speed, course |
/// | `event`       | values and attributes of events                  | send    | text: keyed hash; others dropped | text dropped, numbers to two digits, dates to the UTC day |
/// | `custom`      | attributes of custom measurements, values as text | send   | keyed hash             | dropped                                   |
/// | `path`        | mount points and their devices                   | send    | keyed hash             | the first component                       |
/// | `detail`      | evidence, results and information in words       | send    | keyed hash             | dropped                                   |
///
/// A hash needs the organization's key; without one it is a drop. Numbers and positions have too few values to be
/// hidden by a hash: for them it is a drop, too. Names of events and measurements, and keys of attributes, are chosen
/// by the program's author: technical. Values of measurements are, unless they are text, figures of the program:
/// technical.
package enum FieldClass: String, CaseIterable, Hashable, Sendable {
    case technical
    case deviceName = "device-name"
    case user
    case ssid
    case bssid
    case mac
    case ipAddress = "ip-address"
    case position
    case event
    case custom
    case path
    case detail

    /// Classes that a profile or a configuration file may name.
    package static let decidable = allCases.filter { $0 != .technical }

    /// The action if nothing else decides.
    package var defaultAction: PrivacyAction {
        switch self {
        case .ssid, .bssid, .position: .drop
        case .technical, .deviceName, .user, .mac, .ipAddress, .event, .custom, .path, .detail: .send
        }
    }
}
