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
        own("sent_bytes", "ws1.sampler.sent", "By", .cumulativeCounter, "Compressed bytes the sampler sent to its collector") {
            $0.hasSentBytes ? Double($0.sentBytes) : nil
        },
        own("queue_written_bytes", "ws1.sampler.queue.written", "By", .cumulativeCounter, "Bytes written to the queue's file and its log") {
            $0.hasQueueWrittenBytes ? Double($0.queueWrittenBytes) : nil
        },
        own("records_made", "ws1.sampler.records.made", "{record}", .cumulativeCounter, "Records made") {
            $0.hasRecordsMade ? Double($0.recordsMade) : nil
        },
        own("records_lost", "ws1.sampler.records.lost", "{record}", .cumulativeCounter, "Records dropped for whatever reason") {
            $0.hasRecordsLost ? Double($0.recordsLost) : nil
        },
        slowdown("factor", "ws1.sampler.slowdown", "So many times longer intervals are, to keep a budget") { Double($0.factor) / 100 },
        slowdown("used", "ws1.sampler.budget.used", "What is used of the budget that slows the sampler down, in its unit") {
            Double($0.used)
        },
        slowdown("allowed", "ws1.sampler.budget.allowed", "What the budget that slows the sampler down allows, in its unit") {
            Double($0.allowed)
        },
    ]

    private static func slowdown(
        _ field: String, _ name: String, _ description: String, _ read: @escaping @Sendable (WireSlowdown) -> Double
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry(
            field: "self.slowdown.\(field)",
            metric: MetricDefinition(name: name, unit: "1", kind: .gauge, description: description)
        ) { sample, emit in
            guard sample.hasSelf_p, sample.self_p.hasSlowdown else { return }
            emit(read(sample.self_p.slowdown), ["ws1.budget": sample.self_p.slowdown.budget])
        }
    }

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
