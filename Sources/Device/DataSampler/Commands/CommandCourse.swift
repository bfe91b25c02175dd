/// How a command does that goes on by itself.
enum CommandCourse: Equatable, Sendable {
    /// - Parameters:
    ///   - progress: ten-thousandths.
    ///   - waitsFor: what keeps it from going on, for people; empty: nothing.
    case progressed(UInt32, waitsFor: String)
    /// - Parameter detail: for people.
    case ended(CommandLedgerStateMachine.State, String)

    var isEnd: Bool {
        switch self {
        case .progressed: false
        case .ended: true
        }
    }
}
