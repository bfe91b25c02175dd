/// What this process has used since it started.
struct BudgetUsage: Equatable, Sendable {
    var sentBytes: UInt64 = 0
    var writtenBytes: UInt64 = 0
    var cpuMicroseconds: UInt64 = 0

    subscript(_ kind: BudgetKind) -> UInt64 {
        switch kind {
        case .sentBytes: sentBytes
        case .writtenBytes: writtenBytes
        case .cpu: cpuMicroseconds
        }
    }
}
