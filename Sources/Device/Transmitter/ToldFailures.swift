/// Which failures the log was told of, so that two that take turns do not fill it. Pure; times are microseconds since
/// boot.
///
/// A client certificate that the collector does not take is such a case: each other connection goes without it, and is
/// refused for another reason.
struct ToldFailures {
    private static let hour: UInt64 = 3600 * 1_000_000
    /// Lines in an hour.
    private static let greatestCount = 32

    private var told: [String: UInt64] = [:]

    /// - Parameter former: why the attempt before this failed; `nil`: it did not.
    /// - Returns: whether the log is to be told. One that lasts is told once; one that comes again, once an hour.
    mutating func tell(_ why: String, after former: String?, now: UInt64) -> Bool {
        guard why != former else { return false }
        told = told.filter { now &- $0.value < Self.hour }
        guard told[why] == nil, told.count < Self.greatestCount else { return false }
        told[why] = now
        return true
    }

    /// All that was due is sent: what fails from now on is news.
    mutating func sentAll() { told = [:] }
}
