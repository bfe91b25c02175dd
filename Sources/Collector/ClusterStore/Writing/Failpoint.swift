#if FAILPOINTS
import FoundationEssentials
import Glibc
import Synchronization
#endif

/// Kills this process between two steps of the rule, for tests of what a crash leaves.
///
/// `WS1_TEST_FAILPOINT=inserted:3` in the environment sends SIGKILL to the process when it gets to that place for the
/// third time. Without the variable nothing happens.
///
/// Only debug builds contain this (`FAILPOINTS` in Package.swift). In a release build ``reach()`` is empty, so nobody
/// can kill a collector through its environment. `Tools/checks/failpoints` checks the shipped programs.
enum Failpoint: String, CaseIterable {
    /// The claim is committed, and nothing is inserted.
    case claimed
    /// The slices are inserted, and no mark has moved.
    case inserted
    /// The marks have moved, and nobody is answered.
    case moved
    /// Rows of the tables for people are written, and their entry is still in the outbox.
    case filled
    /// A day is recorded as being dropped; its floors are in ClickHouse; they are in PostgreSQL.
    case dropBegun = "drop-begun", floorsCopied = "floors-copied", floorsTaken = "floors-taken"

    #if FAILPOINTS
    /// The name has more than 15 bytes. The compiler turns a shorter text into instructions, and then
    /// `Tools/checks/failpoints` could not find it in a program.
    private static let variable = "WS1_TEST_FAILPOINT"

    private static let armed: (point: Failpoint, visits: Int)? = {
        guard let text = ProcessInfo.processInfo.environment[variable] else { return nil }
        let parts = text.split(separator: ":")
        guard let name = parts.first, let point = Failpoint(rawValue: String(name)) else { return nil }
        return (point, parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
    }()
    private static let visits = Atomic(0)

    /// Does not return if the environment says so.
    func reach() {
        guard let armed = Self.armed, armed.point == self else { return }
        guard Self.visits.wrappingAdd(1, ordering: .relaxed).newValue == armed.visits else { return }
        kill(getpid(), SIGKILL)
    }
    #else
    @inline(__always) func reach() {}
    #endif
}
