import WireModel

/// How the device stands with its organization, as a beacon tells it.
enum EnrollmentStanding: Equatable, Sendable {
    /// It has no credential, and nobody has said that it left.
    case unknown
    case enrolled(organization: String)
    /// A wipe was ordered and is not done yet.
    case wipePending(organization: String)
    /// It left: one last beacon tells it.
    case unenrolled(organization: String)

    var wire: WireEnrollmentState {
        switch self {
        case .unknown: .unknown
        case .enrolled: .enrolled
        case .wipePending: .wipePending
        case .unenrolled: .unenrolled
        }
    }

    /// The organization group; empty where it is not known.
    var organization: String {
        switch self {
        case .unknown: ""
        case .enrolled(let name), .wipePending(let name), .unenrolled(let name): name
        }
    }

    /// Whether an organization manages the device: its profile and commands hold here. That is what enrolling means, so an enrolled device
    /// is managed until the wipe it was ordered is done, one that left is not, and of one that never enrolled nothing is known - another
    /// program may manage it.
    var managed: WireVerdict {
        switch self {
        case .unknown: .unknown
        case .enrolled, .wipePending: .yes
        case .unenrolled: .no
        }
    }
}
