extension MetricCatalog {
    /// What the program that samples costs itself.
    static let systemProcess: [CatalogEntry<WireSystemSample>] = [
        own("cpu_time_microseconds", "process.cpu.time", "s", .cumulativeCounter, "Processor time used by the sampler") {
            Double($0.cpuTimeMicroseconds) / 1_000_000
        },
        own("resident_bytes", "process.memory.usage", "By", .upDownCounter, "Memory the sampler holds") { Double($0.residentBytes) },
        own(
            "written_bytes", "process.disk.io", "By", .cumulativeCounter, "Bytes the sampler caused to be written to storage",
            ["disk.io.direction": "write"]
        ) { $0.hasWrittenBytes ? Double($0.writtenBytes) : nil },
        own("open_files", "process.unix.file_descriptor.count", "{file_descriptor}", .upDownCounter, "Files the sampler has open") {
            $0.hasOpenFiles ? Double($0.openFiles) : nil
        },
        own("uptime_microseconds", "process.uptime", "s", .gauge, "Time since the sampler started") {
            Double($0.uptimeMicroseconds) / 1_000_000
        },
    ]

    private static func own(
        _ field: String, _ name: String, _ unit: String, _ kind: MetricDefinition.Kind, _ description: String,
        _ attributes: [String: String] = [:], _ read: @escaping @Sendable (WireSelfCost) -> Double?
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry(field: "self.\(field)", metric: MetricDefinition(name: name, unit: unit, kind: kind, description: description)) {
            sample, emit in
            if sample.hasSelf_p, let value = read(sample.self_p) { emit(value, attributes) }
        }
    }
}
