import WireModel

/// The activity of whole disks: between two samples, and since each appeared. Partitions are left out because their
/// disk counts them. Devices that never did anything are left out too.
struct BlockDeviceReader: Sendable {
    static let maximumDevices = 256
    private static let wholeDevices = "/sys/block"

    private var previous: [String: DiskStats.Device] = [:]
    /// When each device began to count, in microseconds since boot, of those that came while the reader was at work.
    private var began: [String: UInt64] = [:]
    /// When ``previous`` was read; `nil` before the first time and after a failure.
    private var readAt: UInt64?
    /// Known device names, and whether each is a whole device.
    private var isWhole: [String: Bool] = [:]
    /// Bytes of whole devices that say so, as they were when a device came last.
    private var sizes: [String: UInt64] = [:]

    /// - Parameter now: microseconds since boot.
    mutating func read(_ reader: inout FileReader, maximumBytes: Int, now: UInt64) -> [WireBlockDevice] {
        let stats = reader.parse(DiskStats.path, maximumBytes: maximumBytes, keepOpen: true) { DiskStats($0) }
        guard let stats else {
            (previous, began, readAt) = ([:], [:], nil)
            return []
        }
        if stats.oddLines > 0 { reader.recordMalformed(DiskStats.path) }

        let active = stats.devices.filter { !$0.isIdleSinceBoot }
        let isNew = active.contains { device in
            isWhole[device.name] == nil || previous[device.name].map { device.hasRestarted(since: $0) } == true
        }
        if isNew { sortOut(active, &reader) }
        var activities: [WireBlockDevice] = []
        var current: [String: DiskStats.Device] = [:]
        var began: [String: UInt64] = [:]
        for device in active where isWhole[device.name] == true && current.count < Self.maximumDevices {
            current[device.name] = device
            guard let before = previous[device.name] else {
                // It had done nothing when the file was read before, or was not there, or found no room.
                began[device.name] = previous.count < Self.maximumDevices ? readAt : nil
                continue
            }
            began[device.name] = device.hasRestarted(since: before) ? readAt : self.began[device.name]
            guard var activity = device.activity(since: before) else { continue }
            if let size = sizes[device.name] { activity.size = size }
            if let total = device.total {
                activity.total = total
                if let began = began[device.name], began <= now { activity.total.countedMicroseconds = now - began }
            }
            activities.append(activity)
        }
        (previous, self.began, readAt) = (current, began, now)
        return activities
    }

    private mutating func sortOut(_ devices: [DiskStats.Device], _ reader: inout FileReader) {
        let whole = Set(reader.list(Self.wholeDevices, maximumEntries: DiskStats.maximumDevices))
        (isWhole, sizes) = ([:], [:])
        for device in devices {
            // A slash in a device's name is written as an exclamation mark in /sys.
            let entry = String(device.name.map { $0 == "/" ? "!" : $0 })
            isWhole[device.name] = whole.contains(entry)
            // A drive without a medium has size 0.
            guard whole.contains(entry), sizes.count < Self.maximumDevices,
                let sectors = reader.signedNumber("\(Self.wholeDevices)/\(entry)/size").flatMap(UInt64.init(exactly:)),
                sectors > 0
            else { continue }
            let (bytes, overflow) = sectors.multipliedReportingOverflow(by: DiskStats.sectorBytes)
            if !overflow { sizes[device.name] = bytes }
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
        var mergedReads: UInt64
        var sectorsRead: UInt64
        var readMilliseconds: UInt64
        var writes: UInt64
        var mergedWrites: UInt64
        var sectorsWritten: UInt64
        var writeMilliseconds: UInt64
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
            let reads = scanner.number(), let mergedReads = scanner.number(), let sectorsRead = scanner.number(),
            let readTime = scanner.number(), let writes = scanner.number(), let mergedWrites = scanner.number(),
            let sectorsWritten = scanner.number(), let writeTime = scanner.number(),
            // Operations under way.
            scanner.number() != nil, let busy = scanner.number()
        else { return nil }
        return Device(
            major: major, minor: minor, name: name.text, reads: reads, mergedReads: mergedReads,
            sectorsRead: sectorsRead, readMilliseconds: readTime, writes: writes, mergedWrites: mergedWrites,
            sectorsWritten: sectorsWritten, writeMilliseconds: writeTime, busyMilliseconds: busy)
    }
}

extension DiskStats.Device {
    /// Has never done anything: an unused loop, memory or floppy device.
    var isIdleSinceBoot: Bool { reads == 0 && writes == 0 }

    /// Whether it counts anew: it was taken out and put in again, or is another one. Times that go back have only
    /// wrapped.
    func hasRestarted(since earlier: DiskStats.Device) -> Bool {
        major != earlier.major || minor != earlier.minor || reads < earlier.reads || writes < earlier.writes
            || sectorsRead < earlier.sectorsRead || sectorsWritten < earlier.sectorsWritten
    }

    /// What it did since it appeared; `nil` for impossible figures.
    var total: WireBlockDeviceTotals? {
        let readBytes = sectorsRead.multipliedReportingOverflow(by: DiskStats.sectorBytes)
        let writtenBytes = sectorsWritten.multipliedReportingOverflow(by: DiskStats.sectorBytes)
        guard !readBytes.overflow, !writtenBytes.overflow else { return nil }
        var total = WireBlockDeviceTotals()
        total.reads = reads
        total.writes = writes
        total.readBytes = readBytes.partialValue
        total.writtenBytes = writtenBytes.partialValue
        total.busyMilliseconds = busyMilliseconds
        total.mergedReads = mergedReads
        total.mergedWrites = mergedWrites
        total.readMilliseconds = readMilliseconds
        total.writeMilliseconds = writeMilliseconds
        return total
    }

    /// The activity since `earlier`; `nil` if it is another device of that name, or if a counter went back or wrapped.
    func activity(since earlier: DiskStats.Device) -> WireBlockDevice? {
        guard !hasRestarted(since: earlier), busyMilliseconds >= earlier.busyMilliseconds else { return nil }
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
