import WireModel

/// `/proc/meminfo`, in bytes.
struct MemInfo: Equatable {
    static let path = "/proc/meminfo"

    var total: UInt64?
    var available: UInt64?
    var free: UInt64?
    var buffers: UInt64?
    var cached: UInt64?
    var dirty: UInt64?
    var slab: UInt64?
    var slabReclaimable: UInt64?
    var slabUnreclaimable: UInt64?
    var swapTotal: UInt64?
    var swapFree: UInt64?

    init(_ bytes: UnsafeRawBufferPointer) {
        for line in CompleteLines(bytes) {
            var scanner = ByteScanner(line)
            if scanner.consume("MemTotal:") {
                total = Self.bytes(&scanner)
            } else if scanner.consume("MemAvailable:") {
                available = Self.bytes(&scanner)
            } else if scanner.consume("MemFree:") {
                free = Self.bytes(&scanner)
            } else if scanner.consume("Buffers:") {
                buffers = Self.bytes(&scanner)
            } else if scanner.consume("Cached:") {
                cached = Self.bytes(&scanner)
            } else if scanner.consume("Dirty:") {
                dirty = Self.bytes(&scanner)
            } else if scanner.consume("Slab:") {
                slab = Self.bytes(&scanner)
            } else if scanner.consume("SReclaimable:") {
                slabReclaimable = Self.bytes(&scanner)
            } else if scanner.consume("SUnreclaim:") {
                slabUnreclaimable = Self.bytes(&scanner)
            } else if scanner.consume("SwapTotal:") {
                swapTotal = Self.bytes(&scanner)
            } else if scanner.consume("SwapFree:") {
                swapFree = Self.bytes(&scanner)
            }
        }
    }

    /// What programs and the kernel use and would not give back. Kernels before 3.14 do not say what is available.
    var used: UInt64? {
        guard let total else { return nil }
        if let available { return available <= total ? total - available : nil }
        guard let free, let buffers, let cached else { return nil }
        let reusable = [free, buffers, cached].saturatingSum
        return reusable <= total ? total - reusable : nil
    }

    var swapUsed: UInt64? {
        guard let swapTotal, let swapFree, swapFree <= swapTotal else { return nil }
        return swapTotal - swapFree
    }

    /// The kernel's "kB" means 1024 bytes. A value with another unit is ignored.
    private static func bytes(_ scanner: inout ByteScanner) -> UInt64? {
        guard let count = scanner.number(), scanner.consume(" kB"), scanner.isAtEnd else { return nil }
        let (bytes, overflow) = count.multipliedReportingOverflow(by: 1_024)
        return overflow ? nil : bytes
    }
}

extension WireMemory {
    /// `nil` if the file does not say how much memory the machine has.
    init?(_ info: MemInfo) {
        guard let total = info.total else { return nil }
        self.init()
        self.total = total
        if let available = info.available { self.available = available }
        if let free = info.free { self.free = free }
        if let buffers = info.buffers { self.buffers = buffers }
        if let cached = info.cached { self.cached = cached }
        if let dirty = info.dirty { self.dirty = dirty }
        if let slab = info.slab { self.slab = slab }
        if let reclaimable = info.slabReclaimable { slabReclaimable = reclaimable }
        if let unreclaimable = info.slabUnreclaimable { slabUnreclaimable = unreclaimable }
        if let swapTotal = info.swapTotal { self.swapTotal = swapTotal }
        if let swapFree = info.swapFree { self.swapFree = swapFree }
        if let used = info.used { self.used = used }
        if let swapUsed = info.swapUsed { self.swapUsed = swapUsed }
    }
}

/// `/proc/loadavg`, in hundredths.
struct LoadAverageFile: Equatable {
    static let path = "/proc/loadavg"

    var oneMinute: UInt32
    var fiveMinutes: UInt32
    var fifteenMinutes: UInt32

    init?(_ bytes: UnsafeRawBufferPointer) {
        var lines = CompleteLines(bytes)
        guard let line = lines.next() else { return nil }
        var scanner = ByteScanner(line)
        guard let one = scanner.hundredths(), let five = scanner.hundredths(), let fifteen = scanner.hundredths() else {
            return nil
        }
        oneMinute = one
        fiveMinutes = five
        fifteenMinutes = fifteen
    }
}

/// One of `/proc/pressure/*`: the share of time in which some, or all, tasks waited for a resource.
struct PressureFile: Equatable {
    /// Averages in hundredths of a per cent, the total in microseconds since boot.
    struct Line: Equatable {
        var average10: UInt32
        var average60: UInt32
        var average300: UInt32
        var total: UInt64
    }

    var some: Line?
    /// Absent for the processor before Linux 5.13.
    var full: Line?

    init(_ bytes: UnsafeRawBufferPointer) {
        for line in CompleteLines(bytes) {
            var scanner = ByteScanner(line)
            if scanner.consume("some ") {
                some = Self.line(&scanner)
            } else if scanner.consume("full ") {
                full = Self.line(&scanner)
            }
        }
    }

    private static func line(_ scanner: inout ByteScanner) -> Line? {
        guard scanner.consume("avg10="), let ten = scanner.hundredths(),
            scanner.consume(" avg60="), let sixty = scanner.hundredths(),
            scanner.consume(" avg300="), let threeHundred = scanner.hundredths(),
            scanner.consume(" total="), let total = scanner.number()
        else { return nil }
        return Line(average10: ten, average60: sixty, average300: threeHundred, total: total)
    }
}

extension FileReader {
    /// - Parameter resource: `cpu`, `memory` or `io`.
    mutating func pressure(of resource: String) -> PressureFile? {
        parse("/proc/pressure/\(resource)", maximumBytes: 4_096, keepOpen: true) { bytes in
            let file = PressureFile(bytes)
            return file.some == nil && file.full == nil ? nil : file
        }
    }
}

/// When this process started, from `/proc/self/stat`: ticks since boot.
struct ProcSelfStat: Equatable {
    static let path = "/proc/self/stat"

    var startTicks: UInt64

    init?(_ bytes: UnsafeRawBufferPointer) {
        // The name in parentheses may itself contain blanks and parentheses, so fields count from the last one.
        guard bytes.last == 0x0a, let end = bytes.lastIndex(of: 0x29) else { return nil }
        var scanner = ByteScanner(UnsafeRawBufferPointer(rebasing: bytes[(end + 1)..<(bytes.count - 1)]))
        // State is field 3, the start time field 22.
        for _ in 3..<22 {
            guard scanner.word() != nil else { return nil }
        }
        guard let ticks = scanner.number() else { return nil }
        startTicks = ticks
    }
}

/// Resident pages of this process, from `/proc/self/statm`.
struct ProcSelfMemory: Equatable {
    static let path = "/proc/self/statm"

    var residentPages: UInt64

    init?(_ bytes: UnsafeRawBufferPointer) {
        var lines = CompleteLines(bytes)
        guard let line = lines.next() else { return nil }
        var scanner = ByteScanner(line)
        guard scanner.number() != nil, let resident = scanner.number() else { return nil }
        residentPages = resident
    }
}

/// Bytes this process caused to be read from storage and written to it, from `/proc/self/io`.
struct ProcSelfIO: Equatable {
    static let path = "/proc/self/io"

    var readBytes: UInt64?
    var writtenBytes: UInt64

    init?(_ bytes: UnsafeRawBufferPointer) {
        var read: UInt64?
        for line in CompleteLines(bytes) {
            var scanner = ByteScanner(line)
            if scanner.consume("read_bytes:") {
                read = scanner.number()
            } else if scanner.consume("write_bytes:"), let written = scanner.number() {
                readBytes = read
                writtenBytes = written
                return
            }
        }
        return nil
    }
}
