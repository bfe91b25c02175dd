extension FieldClasses {
    private static let cpuShares = MessageFields(
        "CPUShares",
        [
            .technical(1, "user"), .technical(2, "nice"), .technical(3, "system"), .technical(4, "idle"), .technical(5, "io_wait"),
            .technical(6, "irq"), .technical(7, "soft_irq"), .technical(8, "steal"), .technical(9, "number"),
        ])

    private static let loadAverage = MessageFields(
        "LoadAverage", [.technical(1, "one_minute"), .technical(2, "five_minutes"), .technical(3, "fifteen_minutes")])

    private static let activity = MessageFields(
        "Activity",
        [
            .technical(1, "context_switches"), .technical(2, "interrupts"), .technical(3, "processes_created"), .technical(4, "running"),
            .technical(5, "blocked"),
        ])

    private static let pressureLine = MessageFields(
        "PressureLine",
        [
            .technical(1, "average_10_seconds"), .technical(2, "average_60_seconds"), .technical(3, "average_300_seconds"),
            .technical(4, "total_microseconds"),
        ])

    private static let pressureResource = MessageFields(
        "PressureResource", [.message(1, "some", pressureLine), .message(2, "full", pressureLine)])

    private static let pressure = MessageFields(
        "Pressure",
        [.message(1, "cpu", pressureResource), .message(2, "memory", pressureResource), .message(3, "io", pressureResource)])

    private static let memory = MessageFields(
        "Memory",
        [
            .technical(1, "total"), .technical(2, "available"), .technical(3, "free"), .technical(4, "buffers"), .technical(5, "cached"),
            .technical(6, "dirty"), .technical(7, "slab"), .technical(8, "swap_total"), .technical(9, "swap_free"),
        ])

    private static let fileSystem = MessageFields(
        "FileSystem",
        [
            // Removable media are mounted under the name of the person who put them in.
            .personal(1, "mount_point", .path, .path), .technical(2, "type"), .personal(3, "device", .path, .path), .technical(4, "size"),
            .technical(5, "used"), .technical(6, "available"), .technical(7, "inodes"), .technical(8, "inodes_free"),
            .technical(9, "read_only"),
        ])

    private static let blockDevice = MessageFields(
        "BlockDevice",
        [
            .technical(1, "name"), .technical(2, "reads"), .technical(3, "writes"), .technical(4, "read_bytes"),
            .technical(5, "written_bytes"), .technical(6, "busy_microseconds"),
        ])

    private static let temperature = MessageFields("Temperature", [.technical(1, "sensor"), .technical(2, "millidegrees")])

    static let systemSample = MessageFields(
        "SystemSample",
        [
            .message(1, "identity", systemIdentity), .technical(2, "uptime_seconds"), .technical(3, "interval_microseconds"),
            .message(4, "cpu", cpuShares), .message(5, "cores", cpuShares), .message(6, "load", loadAverage),
            .message(7, "activity", activity), .message(8, "pressure", pressure), .message(9, "memory", memory),
            .message(10, "file_systems", fileSystem), .message(11, "block_devices", blockDevice), .message(12, "power", power),
            .message(13, "temperatures", temperature), .message(14, "self", selfCost),
        ])

    static let analyticsSample = MessageFields(
        "AnalyticsSample",
        [
            .technical(1, "launches"), .technical(2, "sessions"), .technical(3, "use_microseconds"), .technical(4, "events_recorded"),
            .technical(5, "events_sent"), .technical(6, "events_held"), .technical(7, "events_dropped"),
            .technical(8, "interval_microseconds"),
        ])
}
