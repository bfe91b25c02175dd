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
    var swapTotal: UInt64?
    var swapFree: UInt64?

    init(_ bytes: UnsafeRawBufferPointer) {
        for line in CompleteLines(bytes) {
            var scanner = ByteScanner(line)
            if scanner.take("MemTotal:") {
                total = Self.bytes(&scanner)
            } else if scanner.take("MemAvailable:") {
                available = Self.bytes(&scanner)
            } else if scanner.take("MemFree:") {
                free = Self.bytes(&scanner)
            } else if scanner.take("Buffers:") {
                buffers = Self.bytes(&scanner)
            } else if scanner.take("Cached:") {
                cached = Self.bytes(&scanner)
            } else if scanner.take("Dirty:") {
                dirty = Self.bytes(&scanner)
            } else if scanner.take("Slab:") {
                slab = Self.bytes(&scanner)
            } else if scanner.take("SwapTotal:") {
                swapTotal = Self.bytes(&scanner)
            } else if scanner.take("SwapFree:") {
                swapFree = Self.bytes(&scanner)
            }
        }
    }

    /// The kernel's "kB" are 1024 bytes. Another unit would be another meaning, and is not taken.
    private static func bytes(_ scanner: inout ByteScanner) -> UInt64? {
        guard let count = scanner.number(), scanner.take(" kB"), scanner.isAtEnd else { return nil }
        let (bytes, overflow) = count.multipliedReportingOverflow(by: 1_024)
        return overflow ? nil : bytes
    }
}
