extension MetricCatalog {
    private static let usage = MetricDefinition(
        name: "system.memory.usage", unit: "By", kind: .upDownCounter, description: "Memory in each state; the states overlap")

    private static let paging = MetricDefinition(
        name: "system.paging.usage", unit: "By", kind: .upDownCounter, description: "Swap space in each state")

    static let systemMemory: [CatalogEntry<WireSystemSample>] = [
        memory(
            "total",
            MetricDefinition(name: "system.memory.limit", unit: "By", kind: .upDownCounter, description: "Memory the machine has")
        ) { $0.total },
        memory(
            "available",
            MetricDefinition(
                name: "system.memory.linux.available", unit: "By", kind: .upDownCounter,
                description: "Memory for new programs without swapping, as the kernel estimates")
        ) { $0.hasAvailable ? $0.available : nil },
        memory("free", usage, ["system.memory.state": "free"]) { $0.hasFree ? $0.free : nil },
        memory("buffers", usage, ["system.memory.state": "buffers"]) { $0.hasBuffers ? $0.buffers : nil },
        memory("cached", usage, ["system.memory.state": "cached"]) { $0.hasCached ? $0.cached : nil },
        memory(
            "dirty",
            MetricDefinition(
                name: "ws1.system.memory.dirty", unit: "By", kind: .upDownCounter, description: "Memory waiting to be written to storage")
        ) { $0.hasDirty ? $0.dirty : nil },
        memory(
            "slab",
            MetricDefinition(
                name: "ws1.system.memory.slab", unit: "By", kind: .upDownCounter, description: "Memory in the kernel's object caches")
        ) { $0.hasSlab ? $0.slab : nil },
        memory(
            "swap_total",
            MetricDefinition(name: "ws1.system.paging.limit", unit: "By", kind: .upDownCounter, description: "Swap space the machine has")
        ) { $0.hasSwapTotal ? $0.swapTotal : nil },
        memory("swap_free", paging, ["system.paging.state": "free"]) { $0.hasSwapFree ? $0.swapFree : nil },
    ]

    private static func memory(
        _ field: String, _ metric: MetricDefinition, _ attributes: [String: String] = [:],
        _ read: @escaping @Sendable (WireMemory) -> UInt64?
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry(field: "memory.\(field)", metric: metric) { sample, emit in
            if sample.hasMemory, let value = read(sample.memory) { emit(Double(value), attributes) }
        }
    }
}
