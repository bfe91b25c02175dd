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
        guard let one = scanner.hundredths(), let five = scanner.hundredths(), let fifteen = scanner.hundredths() else { return nil }
        oneMinute = one
        fiveMinutes = five
        fifteenMinutes = fifteen
    }
}
