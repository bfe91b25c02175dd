import WireModel

/// The action for each privacy class. Technical fields are always sent, because there is no record without them.
package struct PrivacyPolicy: Equatable, Sendable {
    private var actions: [FieldClass: PrivacyAction]

    package init() { actions = Dictionary(uniqueKeysWithValues: FieldClass.allCases.map { ($0, $0.defaultAction) }) }

    package subscript(_ fieldClass: FieldClass) -> PrivacyAction {
        // `init` gives every class an entry.
        actions[fieldClass] ?? .drop
    }

    /// The policy in force: the profile's decision, or else the default, and never less strict than the local setting.
    ///
    /// - Parameters:
    ///   - local: from code, file, flags and environment. It can only tighten, even if the profile decides nothing yet.
    ///   - profile: class names and actions as received. Unknown names are ignored, because they have no fields here.
    ///     `unspecified` decides nothing. `nil`: there is no profile yet.
    package static func resolve(local: [FieldClass: PrivacyAction], profile: [String: WirePrivacyAction]?)
        -> PrivacyPolicy
    {
        var policy = PrivacyPolicy()
        for fieldClass in FieldClass.decidable {
            let standing = profile == nil ? fieldClass.actionBeforeProfile : fieldClass.defaultAction
            let decided = profile?[fieldClass.rawValue].flatMap { PrivacyAction($0) } ?? standing
            policy.actions[fieldClass] = max(decided, local[fieldClass] ?? .send)
        }
        return policy
    }
}

/// The treatment of a field of a privacy class before a record is made, in ascending strictness.
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
    init?(_ wire: WirePrivacyAction) {
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

extension FieldClass {
    /// The action if nothing else decides.
    var defaultAction: PrivacyAction {
        switch self {
        case .ssid, .bssid, .position: .drop
        case .technical, .deviceName, .user, .mac, .ipAddress, .event, .custom, .path, .detail: .send
        }
    }

    /// The action until the first profile decides: what reveals people and places is not sent. Events wait for the
    /// profile. Custom samples and results of commands are what the program and an administrator ask for.
    var actionBeforeProfile: PrivacyAction {
        switch self {
        case .deviceName, .user, .mac, .ipAddress, .ssid, .bssid, .position: .drop
        // A first component such as `/home` names nobody.
        case .path: .coarsen
        case .technical, .event, .custom, .detail: defaultAction
        }
    }
}
