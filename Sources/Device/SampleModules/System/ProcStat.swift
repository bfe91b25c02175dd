import WireModel

/// `/proc/stat`: processor times in ticks, and kernel activity since boot.
struct ProcStat: Equatable {
    static let path = "/proc/stat"
    /// The most cores in a sample, which must stay far below the size limit of a record.
    static let maximumCores = 4_096

    struct Core: Equatable {
        var number: UInt32
        var times: CPUTimes
    }

    var all: CPUTimes?
    /// The cores online now, in the file's order.
    var cores: [Core] = []
    var contextSwitches: UInt64?
    var interrupts: UInt64?
    /// Seconds since 1970.
    var bootTime: UInt64?
    var processesCreated: UInt64?
    var running: UInt32?
    var blocked: UInt32?

    init(_ bytes: UnsafeRawBufferPointer) {
        for line in CompleteLines(bytes) {
            var scanner = ByteScanner(line)
            if scanner.consume("cpu") {
                addTimes(scanner)
            } else if scanner.consume("intr ") {
                interrupts = scanner.number()
            } else if scanner.consume("ctxt ") {
                contextSwitches = scanner.number()
            } else if scanner.consume("btime ") {
                bootTime = scanner.number()
            } else if scanner.consume("processes ") {
                processesCreated = scanner.number()
            } else if scanner.consume("procs_running ") {
                running = scanner.number().flatMap { UInt32(exactly: $0) }
            } else if scanner.consume("procs_blocked ") {
                blocked = scanner.number().flatMap { UInt32(exactly: $0) }
            }
        }
    }

    private mutating func addTimes(_ afterName: ByteScanner) {
        var scanner = afterName
        if scanner.consume(" ") {
            all = CPUTimes(&scanner)
        } else if cores.count < Self.maximumCores, let number = scanner.number().flatMap({ UInt32(exactly: $0) }),
            let times = CPUTimes(&scanner)
        {
            cores.append(Core(number: number, times: times))
        }
    }
}

/// Ticks that one core, or all cores, spent in each state since boot. User and nice include guest time.
struct CPUTimes: Equatable {
    var user: UInt64
    var nice: UInt64
    var system: UInt64
    var idle: UInt64
    var ioWait: UInt64
    var irq: UInt64
    var softIrq: UInt64
    var steal: UInt64
}

extension CPUTimes {
    init?(_ scanner: inout ByteScanner) {
        guard let user = scanner.number(), let nice = scanner.number(), let system = scanner.number(),
            let idle = scanner.number(), let ioWait = scanner.number(), let irq = scanner.number(),
            let softIrq = scanner.number(), let steal = scanner.number()
        else { return nil }
        self.init(
            user: user, nice: nice, system: system, idle: idle, ioWait: ioWait, irq: irq, softIrq: softIrq,
            steal: steal)
    }

    /// The shares of the time since `earlier`, in ten-thousandths that add up to exactly 10000.
    ///
    /// `nil` if no tick has passed or a counter went back, because a core came back online or the kernel corrected its
    /// idle time. Such a difference has no meaning.
    func shares(since earlier: CPUTimes, number: UInt32) -> WireCPUShares? {
        guard user >= earlier.user, nice >= earlier.nice, system >= earlier.system, idle >= earlier.idle,
            ioWait >= earlier.ioWait, irq >= earlier.irq, softIrq >= earlier.softIrq, steal >= earlier.steal
        else { return nil }
        let total = [
            user - earlier.user, nice - earlier.nice, system - earlier.system, idle - earlier.idle,
            ioWait - earlier.ioWait, irq - earlier.irq, softIrq - earlier.softIrq, steal - earlier.steal,
        ].saturatingSum
        // Beyond this the scaling below would overflow. No machine counts so many ticks between two samples.
        guard total > 0, total <= UInt64.max / 20_000 else { return nil }

        // Rounding the running sum, not each share, keeps the total exact.
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

    /// The times since boot. `nil` if the system does not say how long a tick is, or if a time is impossible.
    func sinceBoot(ticksPerSecond: UInt64) -> WireCPUTimes? {
        guard ticksPerSecond > 0 else { return nil }
        let ticks = [user, nice, system, idle, ioWait, irq, softIrq, steal]
        // Beyond this the scaling below would overflow.
        guard ticks.allSatisfy({ $0 <= UInt64.max / 2_000 }) else { return nil }
        func milliseconds(_ ticks: UInt64) -> UInt64 { ticks * 1_000 / ticksPerSecond }
        var times = WireCPUTimes()
        times.user = milliseconds(user)
        times.nice = milliseconds(nice)
        times.system = milliseconds(system)
        times.idle = milliseconds(idle)
        times.ioWait = milliseconds(ioWait)
        times.interrupt = milliseconds(irq + softIrq)
        times.steal = milliseconds(steal)
        return times
    }
}
