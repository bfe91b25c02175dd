/// When a failed request is sent again. All requests of object storage may be: each has the same effect however often
/// it is made.
struct RetryPlan: Equatable, Sendable {
    /// The wait before the second attempt.
    var firstPause: Duration
    var longestPause: Duration = .seconds(2)
    /// The timeout of the call with all its attempts.
    var totalTimeout: Duration

    /// - Parameters:
    ///   - attempts: made so far, 1 or more.
    ///   - elapsed: since the call began.
    ///   - roll: 0...1, so that collectors refused together do not return together.
    /// - Returns: the pause before the next attempt; `nil` if there is no time for another.
    func pause(after attempts: Int, elapsed: Duration, roll: Double) -> Duration? {
        let doubled = firstPause * (1 << min(max(attempts - 1, 0), 16))
        let pause = min(doubled, longestPause) * (0.5 + 0.5 * roll)
        return elapsed + pause < totalTimeout ? pause : nil
    }
}
