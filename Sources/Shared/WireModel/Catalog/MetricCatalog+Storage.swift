extension MetricCatalog {
    private static let fileSystemUsage = MetricDefinition(
        name: "system.filesystem.usage", unit: "By", kind: .upDownCounter,
        description: "Space in each state; free is what an ordinary user may still take")

    private static let operations = MetricDefinition(
        name: "system.disk.operations", unit: "{operation}", kind: .deltaCounter, description: "Operations completed")

    private static let io = MetricDefinition(
        name: "system.disk.io", unit: "By", kind: .deltaCounter, description: "Bytes read from and written to the device")

    static let systemStorage: [CatalogEntry<WireSystemSample>] = [
        fileSystem(
            "size",
            MetricDefinition(name: "system.filesystem.limit", unit: "By", kind: .upDownCounter, description: "Size of the file system")
        ) { $0.size },
        fileSystem("used", fileSystemUsage, ["system.filesystem.state": "used"]) { $0.used },
        fileSystem("available", fileSystemUsage, ["system.filesystem.state": "free"]) { $0.available },
        fileSystem(
            "inodes",
            MetricDefinition(
                name: "ws1.system.filesystem.inodes.limit", unit: "{inode}", kind: .upDownCounter,
                description: "Files the file system can hold, where it has a fixed number")
        ) { $0.inodes > 0 ? $0.inodes : nil },
        fileSystem(
            "inodes_free",
            MetricDefinition(
                name: "ws1.system.filesystem.inodes.free", unit: "{inode}", kind: .upDownCounter,
                description: "Files the file system can still take, where it has a fixed number")
        ) { $0.inodes > 0 ? $0.inodesFree : nil },
        disk("reads", operations, ["disk.io.direction": "read"]) { Double($0.reads) },
        disk("writes", operations, ["disk.io.direction": "write"]) { Double($0.writes) },
        disk("read_bytes", io, ["disk.io.direction": "read"]) { Double($0.readBytes) },
        disk("written_bytes", io, ["disk.io.direction": "write"]) { Double($0.writtenBytes) },
        disk(
            "busy_microseconds",
            MetricDefinition(
                name: "system.disk.io_time", unit: "s", kind: .deltaCounter, description: "Time in which the device had work")
        ) { Double($0.busyMicroseconds) / 1_000_000 },
    ]

    private static func fileSystem(
        _ field: String, _ metric: MetricDefinition, _ attributes: [String: String] = [:],
        _ read: @escaping @Sendable (WireFileSystem) -> UInt64?
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry(field: "file_systems.\(field)", metric: metric) { sample, emit in
            for fileSystem in sample.fileSystems {
                guard let value = read(fileSystem) else { continue }
                var all = attributes
                all["system.device"] = fileSystem.device
                all["system.filesystem.mountpoint"] = fileSystem.mountPoint
                all["system.filesystem.type"] = fileSystem.type
                all["system.filesystem.mode"] = fileSystem.readOnly ? "ro" : "rw"
                emit(Double(value), all)
            }
        }
    }

    private static func disk(
        _ field: String, _ metric: MetricDefinition, _ attributes: [String: String] = [:],
        _ read: @escaping @Sendable (WireBlockDevice) -> Double
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry(field: "block_devices.\(field)", metric: metric) { sample, emit in
            for device in sample.blockDevices {
                var all = attributes
                all["system.device"] = device.name
                emit(read(device), all)
            }
        }
    }
}
