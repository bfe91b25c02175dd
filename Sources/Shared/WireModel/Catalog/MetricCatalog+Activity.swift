extension MetricCatalog {
    static let systemActivity: [CatalogEntry<WireSystemSample>] =
        [
            CatalogEntry(
                field: "uptime_seconds",
                metric: MetricDefinition(
                    name: "system.uptime", unit: "s", kind: .gauge, description: "Time since the machine started, counting suspend")
            ) { sample, emit in emit(Double(sample.uptimeSeconds), [:]) },
            CatalogEntry(
                field: "interval_microseconds",
                metric: MetricDefinition(
                    name: "ws1.system.sample.interval", unit: "s", kind: .gauge, description: "Time since the sample before")
            ) { sample, emit in
                if sample.hasIntervalMicroseconds { emit(Double(sample.intervalMicroseconds) / 1_000_000, [:]) }
            },
            CatalogEntry(
                field: "identity.logical_cores",
                metric: MetricDefinition(
                    name: "system.cpu.logical.count", unit: "{cpu}", kind: .upDownCounter, description: "Logical cores on line")
            ) { sample, emit in
                if sample.hasIdentity, sample.identity.logicalCores > 0 { emit(Double(sample.identity.logicalCores), [:]) }
            },
            CatalogEntry(
                field: "identity.boot_time",
                metric: MetricDefinition(
                    name: "ws1.system.boot_time", unit: "s", kind: .gauge, description: "When the machine started, since 1970")
            ) { sample, emit in
                if sample.hasIdentity, sample.identity.bootTime != 0 { emit(Double(sample.identity.bootTime) / 1_000_000, [:]) }
            },
            activity("context_switches", "ws1.system.context_switches", "{switch}", .deltaCounter, "Context switches") {
                $0.hasContextSwitches ? $0.contextSwitches : nil
            },
            activity("interrupts", "ws1.system.interrupts", "{interrupt}", .deltaCounter, "Interrupts serviced") {
                $0.hasInterrupts ? $0.interrupts : nil
            },
            activity("processes_created", "system.process.created", "{process}", .deltaCounter, "Processes and threads created") {
                $0.hasProcessesCreated ? $0.processesCreated : nil
            },
            activity(
                "running", "system.process.count", "{process}", .upDownCounter, "Processes in each state", ["process.state": "running"]
            ) {
                $0.hasRunning ? UInt64($0.running) : nil
            },
            activity(
                "blocked", "system.process.count", "{process}", .upDownCounter, "Processes in each state", ["process.state": "blocked"]
            ) {
                $0.hasBlocked ? UInt64($0.blocked) : nil
            },
        ] + pressure

    private static func activity(
        _ field: String, _ name: String, _ unit: String, _ kind: MetricDefinition.Kind, _ description: String,
        _ attributes: [String: String] = [:], _ read: @escaping @Sendable (WireActivity) -> UInt64?
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry(
            field: "activity.\(field)", metric: MetricDefinition(name: name, unit: unit, kind: kind, description: description)
        ) { sample, emit in
            if sample.hasActivity, let value = read(sample.activity) { emit(Double(value), attributes) }
        }
    }

    private static let pressureAverage = MetricDefinition(
        name: "ws1.system.pressure.average", unit: "1", kind: .gauge,
        description: "Share of time in which some or all tasks waited for a resource, averaged by the kernel")

    private static let pressureTime = MetricDefinition(
        name: "ws1.system.pressure.time", unit: "s", kind: .cumulativeCounter,
        description: "Time since boot in which some or all tasks waited for a resource")

    private static let pressure: [CatalogEntry<WireSystemSample>] = {
        let resources: [(String, @Sendable (WirePressure) -> WirePressureResource?)] = [
            ("cpu", { $0.hasCpu ? $0.cpu : nil }), ("memory", { $0.hasMemory ? $0.memory : nil }), ("io", { $0.hasIo ? $0.io : nil }),
        ]
        let scopes: [(String, @Sendable (WirePressureResource) -> WirePressureLine?)] = [
            ("some", { $0.hasSome ? $0.some : nil }), ("full", { $0.hasFull ? $0.full : nil }),
        ]
        let averages: [(String, String, @Sendable (WirePressureLine) -> UInt32)] = [
            ("average_10_seconds", "10s", { $0.average10Seconds }), ("average_60_seconds", "60s", { $0.average60Seconds }),
            ("average_300_seconds", "300s", { $0.average300Seconds }),
        ]
        var entries: [CatalogEntry<WireSystemSample>] = []
        for (resource, ofSample) in resources {
            for (scope, ofResource) in scopes {
                let attributes = ["ws1.pressure.resource": resource, "ws1.pressure.scope": scope]
                let line: @Sendable (WireSystemSample) -> WirePressureLine? = { sample in
                    sample.hasPressure ? ofSample(sample.pressure).flatMap(ofResource) : nil
                }
                let path = "pressure.\(resource).\(scope)"
                for (field, window, read) in averages {
                    let windowed = attributes.merging(["ws1.pressure.window": window]) { first, _ in first }
                    entries.append(
                        CatalogEntry(field: "\(path).\(field)", metric: pressureAverage) { sample, emit in
                            if let line = line(sample) { emit(Double(read(line)) / 10_000, windowed) }
                        })
                }
                entries.append(
                    CatalogEntry(field: "\(path).total_microseconds", metric: pressureTime) { sample, emit in
                        if let line = line(sample) { emit(Double(line.totalMicroseconds) / 1_000_000, attributes) }
                    })
            }
        }
        return entries
    }()
}
