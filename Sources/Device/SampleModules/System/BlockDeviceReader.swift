import WireModel

/// What whole disks did between two samples. Partitions are left out (their disk counts them), as are devices that never
/// did anything.
struct BlockDeviceReader: Sendable {
    static let maximumDevices = 256
    private static let wholeDevices = "/sys/block"

    private var previous: [String: DiskStats.Device] = [:]
    /// Device names seen so far, and whether each is a whole device.
    private var isWhole: [String: Bool] = [:]

    mutating func read(_ reader: inout FileReader, maximumBytes: Int) -> [WireBlockDevice] {
        let stats = reader.parse(DiskStats.path, maximumBytes: maximumBytes, keepOpen: true) { DiskStats($0) }
        guard let stats else {
            previous = [:]
            return []
        }
        if stats.oddLines > 0 { reader.noteMalformed(DiskStats.path) }

        let active = stats.devices.filter { !$0.isIdleSinceBoot }
        if active.contains(where: { isWhole[$0.name] == nil }) { sortOut(active, &reader) }
        var activities: [WireBlockDevice] = []
        var current: [String: DiskStats.Device] = [:]
        for device in active where isWhole[device.name] == true && current.count < Self.maximumDevices {
            current[device.name] = device
            if let before = previous[device.name], let activity = device.activity(since: before) { activities.append(activity) }
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
