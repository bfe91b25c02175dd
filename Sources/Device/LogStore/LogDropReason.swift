/// Why lines are not, or no longer, in a log store. Every line that passed the level is in the store or counted under one of these, but for
/// what a process that was killed had not handed to the kernel yet.
public enum LogDropReason: String, CaseIterable, Comparable, Sendable {
    /// The store was over its limit in bytes, or the ring over its own: oldest segment first.
    case sizeCap = "size-cap"
    /// The segment was older than lines are kept.
    case ageCap = "age-cap"
    /// Somebody deleted them, or the files under a running program.
    case deleted
    /// A process died while the line was being written.
    case torn
    /// The disk or a quota was full.
    case diskFull = "disk-full"
    /// The directory could not be written for another reason: read-only, not there, not ours.
    case unwritable
    /// Lines came faster than the disk took them, and the memory for waiting lines was full.
    case overload

    /// In the order of this list.
    public static func < (left: LogDropReason, right: LogDropReason) -> Bool { left.position < right.position }

    private var position: Int { Self.allCases.firstIndex(of: self)! }
}
