/// How long one request is tried again while a collector says it is busy.
struct BusyPatience {
    /// Of all pauses together; a collector that asks for more is left to whoever started the command (exit code 75).
    static let most = Duration.seconds(60)
    private static let least = Duration.milliseconds(100)

    private var waited = Duration.zero

    /// - Parameters:
    ///   - asked: by the collector.
    ///   - roll: 0 to 1; a quarter more at most, so that many who were told the same do not come back as one.
    /// - Returns: `nil` where patience is over.
    mutating func pause(_ asked: Duration, roll: Double) -> Duration? {
        let pause = max(asked, Self.least) * (1 + roll / 4)
        guard waited + pause <= Self.most else { return nil }
        waited += pause
        return pause
    }
}
