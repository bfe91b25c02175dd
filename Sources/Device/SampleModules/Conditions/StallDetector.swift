/// Whether the machine stalls, from its pressure figures (kernel, Documentation/accounting/psi.rst). Pure.
///
/// A stall begins above one share and ends below half of it, so that it does not flutter. The averages are those of the last ten seconds, in
/// hundredths of a per cent. Waiting for a processor is no stall: a machine that computes all day is healthy, and sending costs it little.
struct StallDetector: Equatable, Sendable {
    /// A tenth of the time nobody got on because memory had to be reclaimed first.
    static let memoryFull: UInt32 = 10_00
    /// Half the time nobody got on because of the disk.
    static let diskFull: UInt32 = 50_00

    private var isStalled = false

    /// - Returns: `nil` where the kernel tells nothing.
    mutating func stalled(memory: PressureFile?, disk: PressureFile?) -> Bool? {
        let shares = [
            (memory?.full?.average10, Self.memoryFull), (disk?.full?.average10, Self.diskFull),
        ].compactMap { share, limit in share.map { ($0, limit) } }
        guard !shares.isEmpty else {
            isStalled = false
            return nil
        }
        isStalled = shares.contains { share, limit in share >= (isStalled ? limit / 2 : limit) }
        return isStalled
    }
}
