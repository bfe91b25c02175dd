/// Ticks a core, or all of them, spent in each state since boot. Guest time is inside user and nice.
struct CPUTimes: Equatable {
    var user: UInt64
    var nice: UInt64
    var system: UInt64
    var idle: UInt64
    var ioWait: UInt64
    var irq: UInt64
    var softIrq: UInt64
    var steal: UInt64

    init?(_ scanner: inout ByteScanner) {
        guard let user = scanner.number(), let nice = scanner.number(), let system = scanner.number(), let idle = scanner.number(),
            let ioWait = scanner.number(), let irq = scanner.number(), let softIrq = scanner.number(), let steal = scanner.number()
        else { return nil }
        self.init(user: user, nice: nice, system: system, idle: idle, ioWait: ioWait, irq: irq, softIrq: softIrq, steal: steal)
    }

    init(
        user: UInt64, nice: UInt64, system: UInt64, idle: UInt64, ioWait: UInt64, irq: UInt64, softIrq: UInt64, steal: UInt64
    ) {
        self.user = user
        self.nice = nice
        self.system = system
        self.idle = idle
        self.ioWait = ioWait
        self.irq = irq
        self.softIrq = softIrq
        self.steal = steal
    }
}
