/// Why a fleet cannot begin.
package enum FleetUnready: Error, Equatable {
    package enum Token: Sendable {
        case person
        case enrollment
    }

    /// No answer came.
    case unreachable
    case refused(Token, status: Int)
}
