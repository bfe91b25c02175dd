import WireModel

extension CPUTimes {
    /// How the time since `earlier` was spent, in ten-thousandths that add up to exactly 10000.
    ///
    /// `nil` where no tick has passed or any counter went back (a core came back on line, the machine's idle accounting was
    /// corrected): such a difference says nothing.
    func shares(since earlier: CPUTimes, number: UInt32) -> WireCPUShares? {
        guard user >= earlier.user, nice >= earlier.nice, system >= earlier.system, idle >= earlier.idle,
            ioWait >= earlier.ioWait, irq >= earlier.irq, softIrq >= earlier.softIrq, steal >= earlier.steal
        else { return nil }
        let (total, overflow) = sum.subtractingReportingOverflow(earlier.sum)
        // Beyond this the scaling below would overflow; no machine counts that many ticks between two samples.
        guard !overflow, total > 0, total <= UInt64.max / 20_000 else { return nil }

        // Rounding the running sum instead of each share keeps the sum exact.
        var passed: UInt64 = 0
        var given: UInt64 = 0
        func share(_ delta: UInt64) -> UInt32 {
            passed += delta
            let upTo = (passed * 10_000 + total / 2) / total
            defer { given = upTo }
            return UInt32(upTo - given)
        }
        var shares = WireCPUShares()
        shares.user = share(user - earlier.user)
        shares.nice = share(nice - earlier.nice)
        shares.system = share(system - earlier.system)
        shares.idle = share(idle - earlier.idle)
        shares.ioWait = share(ioWait - earlier.ioWait)
        shares.irq = share(irq - earlier.irq)
        shares.softIrq = share(softIrq - earlier.softIrq)
        shares.steal = share(steal - earlier.steal)
        shares.number = number
        return shares
    }

    /// Wraps rather than traps on garbage; ``shares(since:number:)`` refuses what that would give.
    private var sum: UInt64 {
        user &+ nice &+ system &+ idle &+ ioWait &+ irq &+ softIrq &+ steal
    }
}
