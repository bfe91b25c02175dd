/// `/proc/diskstats`: what each block device, partitions included, has done since it appeared.
struct DiskStats: Equatable {
    static let path = "/proc/diskstats"
    static let maximumDevices = 4_096
    /// The kernel's unit in this file, whatever the device's own sector size.
    static let sectorBytes: UInt64 = 512

    struct Device: Equatable {
        var major: UInt64
        var minor: UInt64
        var name: String
        var reads: UInt64
        var writes: UInt64
        var sectorsRead: UInt64
        var sectorsWritten: UInt64
        var busyMilliseconds: UInt64
    }

    var devices: [Device] = []
    /// Lines that were not understood.
    var oddLines = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        for line in CompleteLines(bytes) {
            guard let device = Self.device(line) else {
                oddLines += 1
                continue
            }
            guard devices.count < Self.maximumDevices else { return }
            devices.append(device)
        }
    }

    private static func device(_ line: UnsafeRawBufferPointer) -> Device? {
        var scanner = ByteScanner(line)
        guard let major = scanner.number(), let minor = scanner.number(), let name = scanner.word(),
            let reads = scanner.number(), scanner.number() != nil, let sectorsRead = scanner.number(), scanner.number() != nil,
            let writes = scanner.number(), scanner.number() != nil, let sectorsWritten = scanner.number(), scanner.number() != nil,
            scanner.number() != nil, let busy = scanner.number()
        else { return nil }
        return Device(
            major: major, minor: minor, name: name.text, reads: reads, writes: writes, sectorsRead: sectorsRead,
            sectorsWritten: sectorsWritten, busyMilliseconds: busy)
    }
}
