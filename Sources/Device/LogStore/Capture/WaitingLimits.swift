import WireModel

/// How much memory lines may wait in, and who is refused first when it gets full.
///
/// Verbose lines are taken while less than half of it is used, information up to three quarters, warnings up to all of it. An error, which its
/// caller writes itself, may go over it by an eighth: what is there then are errors of threads that all wait for the disk.
struct WaitingLimits: Equatable, Sendable {
    let bytes: Int

    func admits(_ level: LogLevel, used: Int, adding: Int) -> Bool {
        let limit =
            switch level {
            case .verbose: bytes / 2
            case .information: bytes / 4 * 3
            case .warning: bytes
            case .error: bytes / 8 * 9
            }
        return used + adding <= limit
    }
}
