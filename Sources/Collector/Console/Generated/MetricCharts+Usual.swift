// Written by Tools/generate-wire from Schemas/wire/v1. Do not edit.

extension MetricCharts {
    /// The charts of a machine.
    static let usual = [
        Group(
            id: "processor", title: "Processor", metrics: ["system.cpu.utilization"],
            isStacked: true,
            rest: ("cpu.mode", "idle")),
        Group(
            id: "memory", title: "Memory", metrics: ["system.memory.linux.available", "system.memory.limit"],
            isStacked: false,
            rest: nil),
        Group(
            id: "file-systems", title: "File systems: used", metrics: ["system.filesystem.usage"],
            isStacked: false,
            rest: ("system.filesystem.state", "free")),
        Group(
            id: "disks", title: "Disks", metrics: ["system.disk.io"],
            isStacked: false,
            rest: nil),
        Group(
            id: "network", title: "Network", metrics: ["system.network.io"],
            isStacked: false,
            rest: nil),
    ]
}
