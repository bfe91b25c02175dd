/// `/proc/stat`: processor times in ticks, and kernel activity since boot.
struct ProcStat: Equatable {
    static let path = "/proc/stat"
    /// More cores than this are left out; the sample must stay far below the size of a record.
    static let maximumCores = 4_096

    struct Core: Equatable {
        var number: UInt32
        var times: CPUTimes
    }

    var all: CPUTimes?
    /// On line now, in the file's order.
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
            if scanner.take("cpu") {
                addTimes(scanner)
            } else if scanner.take("intr ") {
                interrupts = scanner.number()
            } else if scanner.take("ctxt ") {
                contextSwitches = scanner.number()
            } else if scanner.take("btime ") {
                bootTime = scanner.number()
            } else if scanner.take("processes ") {
                processesCreated = scanner.number()
            } else if scanner.take("procs_running ") {
                running = scanner.number().flatMap { UInt32(exactly: $0) }
            } else if scanner.take("procs_blocked ") {
                blocked = scanner.number().flatMap { UInt32(exactly: $0) }
            }
        }
    }

    private mutating func addTimes(_ afterName: ByteScanner) {
        var scanner = afterName
        if scanner.take(" ") {
            all = CPUTimes(&scanner)
        } else if cores.count < Self.maximumCores, let number = scanner.number().flatMap({ UInt32(exactly: $0) }),
            let times = CPUTimes(&scanner)
        {
            cores.append(Core(number: number, times: times))
        }
    }
}
