/// When this process started, from `/proc/self/stat`: ticks since boot.
struct ProcSelfStat: Equatable {
    static let path = "/proc/self/stat"

    var startTicks: UInt64

    init?(_ bytes: UnsafeRawBufferPointer) {
        // The name in parentheses may hold blanks and parentheses itself: count from the last one.
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

/// Bytes this process caused to be written to storage, from `/proc/self/io`.
struct ProcSelfIO: Equatable {
    static let path = "/proc/self/io"

    var writtenBytes: UInt64

    init?(_ bytes: UnsafeRawBufferPointer) {
        for line in CompleteLines(bytes) {
            var scanner = ByteScanner(line)
            if scanner.take("write_bytes:"), let written = scanner.number() {
                writtenBytes = written
                return
            }
        }
        return nil
    }
}
