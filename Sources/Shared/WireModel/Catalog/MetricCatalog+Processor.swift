extension MetricCatalog {
    private static let utilization = MetricDefinition(
        name: "system.cpu.utilization", unit: "1", kind: .gauge,
        description: "Share of time spent in each mode since the sample before, over all cores or per core")

    private typealias Share = (field: String, mode: String, read: @Sendable (WireCPUShares) -> UInt32)

    private static let shares: [Share] = [
        ("user", "user", { $0.user }), ("nice", "nice", { $0.nice }), ("system", "system", { $0.system }), ("idle", "idle", { $0.idle }),
        ("io_wait", "iowait", { $0.ioWait }), ("irq", "interrupt", { $0.irq }), ("soft_irq", "softirq", { $0.softIrq }),
        ("steal", "steal", { $0.steal }),
    ]

    static let systemProcessor: [CatalogEntry<WireSystemSample>] =
        shares.map { share in
            CatalogEntry(field: "cpu.\(share.field)", metric: utilization) { sample, emit in
                if sample.hasCpu { emit(Double(share.read(sample.cpu)) / 10_000, ["cpu.mode": share.mode]) }
            }
        }
        + shares.map { share in
            CatalogEntry(field: "cores.\(share.field)", metric: utilization) { sample, emit in
                for core in sample.cores {
                    emit(Double(share.read(core)) / 10_000, ["cpu.mode": share.mode, "cpu.logical_number": String(core.number)])
                }
            }
        }
        + [
            load("one_minute", "1m") { $0.oneMinute },
            load("five_minutes", "5m") { $0.fiveMinutes },
            load("fifteen_minutes", "15m") { $0.fifteenMinutes },
        ]

    private static func load(
        _ field: String, _ window: String, _ read: @escaping @Sendable (WireLoadAverage) -> UInt32
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry(
            field: "load.\(field)",
            metric: MetricDefinition(
                name: "system.cpu.load_average.\(window)", unit: "{thread}", kind: .gauge,
                description: "Average number of runnable and uninterruptible threads over \(window)")
        ) { sample, emit in
            if sample.hasLoad { emit(Double(read(sample.load)) / 100, [:]) }
        }
    }
}
