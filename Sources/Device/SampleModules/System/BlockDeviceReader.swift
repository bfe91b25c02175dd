import WireModel

/// The activity of whole disks between two samples. Partitions are left out because their disk counts them. Devices
/// that never did anything are left out too.
struct BlockDeviceReader: Sendable {
    static let maximumDevices = 256
    private static let wholeDevices = "/sys/block"

    private var previous: [String: DiskStats.Device] = [:]
    /// Known device names, and whether each is a whole device.
    private var isWhole: [String: Bool] = [:]

    mutating func read(_ reader: inout FileReader, maximumBytes: Int) -> [WireBlockDevice] {
        let stats = reader.parse(DiskStats.path, maximumBytes: maximumBytes, keepOpen: true) { DiskStats($0) }
        guard let stats else {
            previous = [:]
            return []
        }
        if stats.oddLines > 0 { reader.recordMalformed(DiskStats.path) }

        let active = stats.devices.filter { !$0.isIdleSinceBoot }
        if active.contains(where: { isWhole[$0.name] == nil }) { sortOut(active, &reader) }
        var activities: [WireBlockDevice] = []
        var current: [String: DiskStats.Device] = [:]
        for device in active where isWhole[device.name] == true && current.count < Self.maximumDevices {
            current[device.name] = device
            if let before = previous[device.name], let activity = device.activity(since: before) {
                activities.append(activity)
            }
        }
        previous = current
        return activities
    }

    private mutating func sortOut(_ devices: [DiskStats.Device], _ reader: inout FileReader) {
        let whole = Set(reader.list(Self.wholeDevices, maximumEntries: DiskStats.maximumDevices))
        isWhole = [:]
        for device in devices {
            // A slash in a device's name is written as an exclamation mark in /sys.
            isWhole[device.name] = whole.contains(String(device.name.map { $0 == "/" ? "!" : $0 }))
        }
    }
}

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
    /// Lines that could not be parsed.
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
            let reads = scanner.number(), scanner.number() != nil, let sectorsRead = scanner.number(),
            scanner.number() != nil,
            let writes = scanner.number(), scanner.number() != nil, let sectorsWritten = scanner.number(),
            scanner.number() != nil,
            scanner.number() != nil, let busy = scanner.number()
        else { return nil }
        return Device(
            major: major, minor: minor, name: name.text, reads: reads, writes: writes, sectorsRead: sectorsRead,
            sectorsWritten: sectorsWritten, busyMilliseconds: busy)
    }
}

extension DiskStats.Device {
    /// Has never done anything: an unused loop, memory or floppy device.
    var isIdleSinceBoot: Bool { reads == 0 && writes == 0 }

    /// The activity since `earlier`; `nil` if it is another device of that name, or if a counter went back or wrapped.
    func activity(since earlier: DiskStats.Device) -> WireBlockDevice? {
        guard major == earlier.major, minor == earlier.minor, reads >= earlier.reads, writes >= earlier.writes,
            sectorsRead >= earlier.sectorsRead, sectorsWritten >= earlier.sectorsWritten,
            busyMilliseconds >= earlier.busyMilliseconds
        else { return nil }
        let readBytes = (sectorsRead - earlier.sectorsRead).multipliedReportingOverflow(by: DiskStats.sectorBytes)
        let writtenBytes = (sectorsWritten - earlier.sectorsWritten).multipliedReportingOverflow(
            by: DiskStats.sectorBytes)
        let busy = (busyMilliseconds - earlier.busyMilliseconds).multipliedReportingOverflow(by: 1_000)
        guard !readBytes.overflow, !writtenBytes.overflow, !busy.overflow else { return nil }
        var activity = WireBlockDevice()
        activity.name = name
        activity.reads = reads - earlier.reads
        activity.writes = writes - earlier.writes
        activity.readBytes = readBytes.partialValue
        activity.writtenBytes = writtenBytes.partialValue
        activity.busyMicroseconds = busy.partialValue
        return activity
    }
}
