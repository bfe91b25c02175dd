/// `/proc/net/wireless`: link quality of drivers that know only the older wireless extensions.
struct WirelessFile: Equatable {
    static let path = "/proc/net/wireless"
    static let maximumInterfaces = 32

    struct Interface: Equatable {
        var name: String
        /// dBm; absent where the driver counts in units of its own.
        var signal: Int32?
        var noise: Int32?
        /// Packets given up after all retries.
        var retryDiscards: UInt64
        var missedBeacons: UInt64
    }

    /// dBm; the file shows "no such figure" as -256 or as a positive number.
    private static let levels: ClosedRange<Int64> = -200 ... -1

    var interfaces: [Interface] = []

    init(_ bytes: UnsafeRawBufferPointer) {
        for line in CompleteLines(bytes) where interfaces.count < Self.maximumInterfaces {
            guard let colon = line.firstIndex(of: 0x3a) else { continue }
            let name = UnsafeRawBufferPointer(rebasing: line[..<colon]).trimmed
            var scanner = ByteScanner(UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]))
            // Status, link; a dot says that a figure is fresh.
            guard !name.isEmpty, scanner.word() != nil, scanner.word() != nil, let level = Self.figure(&scanner),
                let noise = Self.figure(&scanner), scanner.number() != nil, scanner.number() != nil, scanner.number() != nil,
                let retries = scanner.number(), scanner.number() != nil, let beacons = scanner.number()
            else { continue }
            interfaces.append(
                Interface(
                    name: name.text, signal: Self.levels.contains(level) ? Int32(level) : nil,
                    noise: Self.levels.contains(noise) ? Int32(noise) : nil, retryDiscards: retries, missedBeacons: beacons))
        }
    }

    private static func figure(_ scanner: inout ByteScanner) -> Int64? {
        let figure = scanner.signedNumber()
        _ = scanner.take(".")
        return figure
    }
}
