/// What kind of log a line belongs to.
public enum LogType: String, CaseIterable, Codable, Sendable {
    /// What programs say while they run.
    case application
    /// What is known of a session that ended by a crash.
    case crash

    /// `nil` for unspecified (all types) or unknown.
    package init?(_ wire: WireLogType) {
        switch wire {
        case .application: self = .application
        case .crash: self = .crash
        default: return nil
        }
    }

    package var wire: WireLogType {
        switch self {
        case .application: .application
        case .crash: .crash
        }
    }
}
