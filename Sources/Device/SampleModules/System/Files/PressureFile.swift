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
            if scanner.take("some ") {
                some = Self.line(&scanner)
            } else if scanner.take("full ") {
                full = Self.line(&scanner)
            }
        }
    }

    private static func line(_ scanner: inout ByteScanner) -> Line? {
        guard scanner.take("avg10="), let ten = scanner.hundredths(),
            scanner.take(" avg60="), let sixty = scanner.hundredths(),
            scanner.take(" avg300="), let threeHundred = scanner.hundredths(),
            scanner.take(" total="), let total = scanner.number()
        else { return nil }
        return Line(average10: ten, average60: sixty, average300: threeHundred, total: total)
    }
}
