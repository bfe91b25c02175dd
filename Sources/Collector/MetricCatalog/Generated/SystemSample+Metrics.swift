// Written by Tools/generate-wire from Schemas/wire/v1. Do not edit.
import WireModel

extension Definitions {
    static let system_cpu_logical_count = MetricDefinition(
        name: "system.cpu.logical.count", unit: "{cpu}", kind: .upDownCounter,
        description: "Logical cores on line")
    static let ws1_system_boot_time = MetricDefinition(
        name: "ws1.system.boot_time", unit: "s", kind: .gauge,
        description: "Start of the machine since 1970")
    static let system_uptime = MetricDefinition(
        name: "system.uptime", unit: "s", kind: .gauge,
        description: "Time since the machine started, suspend included")
    static let ws1_system_sample_interval = MetricDefinition(
        name: "ws1.system.sample.interval", unit: "s", kind: .gauge,
        description: "Time since the previous sample")
    static let system_cpu_utilization = MetricDefinition(
        name: "system.cpu.utilization", unit: "1", kind: .gauge,
        description: "Share of time spent in each mode since the previous sample, over all cores")
    static let ws1_system_core_utilization = MetricDefinition(
        name: "ws1.system.core.utilization", unit: "1", kind: .gauge,
        description: "Share of time spent in each mode since the previous sample, per core")
    static let system_cpu_load_average_1m = MetricDefinition(
        name: "system.cpu.load_average.1m", unit: "{thread}", kind: .gauge,
        description: "Average number of runnable and uninterruptible threads over 1m")
    static let system_cpu_load_average_5m = MetricDefinition(
        name: "system.cpu.load_average.5m", unit: "{thread}", kind: .gauge,
        description: "Average number of runnable and uninterruptible threads over 5m")
    static let system_cpu_load_average_15m = MetricDefinition(
        name: "system.cpu.load_average.15m", unit: "{thread}", kind: .gauge,
        description: "Average number of runnable and uninterruptible threads over 15m")
    static let ws1_system_context_switches = MetricDefinition(
        name: "ws1.system.context_switches", unit: "{switch}", kind: .deltaCounter,
        description: "Context switches")
    static let ws1_system_interrupts = MetricDefinition(
        name: "ws1.system.interrupts", unit: "{interrupt}", kind: .deltaCounter,
        description: "Interrupts serviced")
    static let ws1_system_process_created_increase = MetricDefinition(
        name: "ws1.system.process.created.increase", unit: "{process}", kind: .deltaCounter,
        description: "Processes and threads created since the previous sample")
    static let ws1_system_thread_count = MetricDefinition(
        name: "ws1.system.thread.count", unit: "{thread}", kind: .upDownCounter,
        description: "Threads in each state")
    static let system_process_created = MetricDefinition(
        name: "system.process.created", unit: "{process}", kind: .cumulativeCounter,
        description: "Processes and threads created since boot")
    static let ws1_system_pressure_average = MetricDefinition(
        name: "ws1.system.pressure.average", unit: "1", kind: .gauge,
        description: "Share of time in which some or all tasks waited for a resource, averaged by the kernel")
    static let ws1_system_pressure_time = MetricDefinition(
        name: "ws1.system.pressure.time", unit: "s", kind: .cumulativeCounter,
        description: "Time since boot in which some or all tasks waited for a resource")
    static let system_memory_limit = MetricDefinition(
        name: "system.memory.limit", unit: "By", kind: .upDownCounter,
        description: "Memory of the machine")
    static let system_memory_linux_available = MetricDefinition(
        name: "system.memory.linux.available", unit: "By", kind: .upDownCounter,
        description: "Kernel's estimate of memory for new programs without swapping")
    static let system_memory_usage = MetricDefinition(
        name: "system.memory.usage", unit: "By", kind: .upDownCounter,
        description: "Memory in each state; the states overlap")
    static let system_memory_utilization = MetricDefinition(
        name: "system.memory.utilization", unit: "1", kind: .gauge,
        description: "Share of the memory in each state; the states overlap")
    static let ws1_system_memory_dirty = MetricDefinition(
        name: "ws1.system.memory.dirty", unit: "By", kind: .upDownCounter,
        description: "Memory waiting to be written to storage")
    static let ws1_system_memory_slab = MetricDefinition(
        name: "ws1.system.memory.slab", unit: "By", kind: .upDownCounter,
        description: "Memory in the kernel's object caches, of both states")
    static let ws1_system_paging_limit = MetricDefinition(
        name: "ws1.system.paging.limit", unit: "By", kind: .upDownCounter,
        description: "Swap space of the machine")
    static let system_paging_usage = MetricDefinition(
        name: "system.paging.usage", unit: "By", kind: .upDownCounter,
        description: "Swap space in each state")
    static let system_paging_utilization = MetricDefinition(
        name: "system.paging.utilization", unit: "1", kind: .gauge,
        description: "Share of the swap space in each state")
    static let system_memory_linux_slab_usage = MetricDefinition(
        name: "system.memory.linux.slab.usage", unit: "By", kind: .upDownCounter,
        description: "Memory in the kernel's object caches, by state")
    static let system_filesystem_limit = MetricDefinition(
        name: "system.filesystem.limit", unit: "By", kind: .upDownCounter,
        description: "Size of the file system")
    static let system_filesystem_usage = MetricDefinition(
        name: "system.filesystem.usage", unit: "By", kind: .upDownCounter,
        description: "Space in each state; free is available to ordinary users")
    static let system_filesystem_utilization = MetricDefinition(
        name: "system.filesystem.utilization", unit: "1", kind: .gauge,
        description: "Share of the file system in each state")
    static let ws1_system_filesystem_inodes_limit = MetricDefinition(
        name: "ws1.system.filesystem.inodes.limit", unit: "{inode}", kind: .upDownCounter,
        description: "Files that the file system can hold, if the number is fixed")
    static let ws1_system_filesystem_inodes_free = MetricDefinition(
        name: "ws1.system.filesystem.inodes.free", unit: "{inode}", kind: .upDownCounter,
        description: "Files that the file system can still take, if the number is fixed")
    static let ws1_system_disk_operations_increase = MetricDefinition(
        name: "ws1.system.disk.operations.increase", unit: "{operation}", kind: .deltaCounter,
        description: "Operations completed since the previous sample")
    static let ws1_system_disk_io_increase = MetricDefinition(
        name: "ws1.system.disk.io.increase", unit: "By", kind: .deltaCounter,
        description: "Bytes read from and written to the device since the previous sample")
    static let ws1_system_disk_io_time_increase = MetricDefinition(
        name: "ws1.system.disk.io_time.increase", unit: "s", kind: .deltaCounter,
        description: "Time in which the device was busy since the previous sample")
    static let system_disk_operations = MetricDefinition(
        name: "system.disk.operations", unit: "{operation}", kind: .cumulativeCounter,
        description: "Operations completed since the device appeared")
    static let system_disk_io = MetricDefinition(
        name: "system.disk.io", unit: "By", kind: .cumulativeCounter,
        description: "Bytes read from and written to the device since the device appeared")
    static let system_disk_io_time = MetricDefinition(
        name: "system.disk.io_time", unit: "s", kind: .cumulativeCounter,
        description: "Time in which the device was busy since the device appeared")
    static let system_disk_merged = MetricDefinition(
        name: "system.disk.merged", unit: "{operation}", kind: .cumulativeCounter,
        description: "Operations merged into others before they reached the device since the device appeared")
    static let system_disk_operation_time = MetricDefinition(
        name: "system.disk.operation_time", unit: "s", kind: .cumulativeCounter,
        description: "Time that operations took, each counted by itself since the device appeared")
    static let system_disk_limit = MetricDefinition(
        name: "system.disk.limit", unit: "By", kind: .upDownCounter,
        description: "Size of the device")
    static let ws1_power_external = MetricDefinition(
        name: "ws1.power.external", unit: "1", kind: .gauge,
        description: "1 while external power is on line, else 0")
    static let hw_battery_charge = MetricDefinition(
        name: "hw.battery.charge", unit: "1", kind: .gauge,
        description: "Remaining share of the batteries' charge")
    static let hw_status = MetricDefinition(
        name: "hw.status", unit: "1", kind: .upDownCounter,
        description: "1 for the present state of the hardware, 0 for others")
    static let ws1_battery_cycles = MetricDefinition(
        name: "ws1.battery.cycles", unit: "{cycle}", kind: .gauge,
        description: "Charge cycles of the most used battery")
    static let ws1_battery_health = MetricDefinition(
        name: "ws1.battery.health", unit: "1", kind: .gauge,
        description: "Full charge as a share of the design charge")
    static let hw_temperature = MetricDefinition(
        name: "hw.temperature", unit: "Cel", kind: .gauge,
        description: "Temperature of each sensor")
    static let ws1_sampler_cpu_time = MetricDefinition(
        name: "ws1.sampler.cpu.time", unit: "s", kind: .cumulativeCounter,
        description: "Processor time used by the sampler")
    static let process_memory_usage = MetricDefinition(
        name: "process.memory.usage", unit: "By", kind: .upDownCounter,
        description: "Resident memory of the sampler")
    static let process_disk_io = MetricDefinition(
        name: "process.disk.io", unit: "By", kind: .cumulativeCounter,
        description: "Bytes that the sampler read from and wrote to storage")
    static let process_unix_file_descriptor_count = MetricDefinition(
        name: "process.unix.file_descriptor.count", unit: "{file_descriptor}", kind: .upDownCounter,
        description: "Open files of the sampler")
    static let process_uptime = MetricDefinition(
        name: "process.uptime", unit: "s", kind: .gauge,
        description: "Time since the sampler started")
    static let ws1_sampler_sent = MetricDefinition(
        name: "ws1.sampler.sent", unit: "By", kind: .cumulativeCounter,
        description: "Compressed bytes that the sampler sent to the collector")
    static let ws1_sampler_queue_written = MetricDefinition(
        name: "ws1.sampler.queue.written", unit: "By", kind: .cumulativeCounter,
        description: "Bytes written to the queue's file and its log")
    static let ws1_sampler_records_made = MetricDefinition(
        name: "ws1.sampler.records.made", unit: "{record}", kind: .cumulativeCounter,
        description: "Records made")
    static let ws1_sampler_records_lost = MetricDefinition(
        name: "ws1.sampler.records.lost", unit: "{record}", kind: .cumulativeCounter,
        description: "Records dropped")
    static let ws1_sampler_slowdown = MetricDefinition(
        name: "ws1.sampler.slowdown", unit: "1", kind: .gauge,
        description: "Factor by which a budget lengthens intervals")
    static let ws1_sampler_budget_used = MetricDefinition(
        name: "ws1.sampler.budget.used", unit: "1", kind: .gauge,
        description: "Use of the budget that slows the sampler down, in its unit")
    static let ws1_sampler_budget_allowed = MetricDefinition(
        name: "ws1.sampler.budget.allowed", unit: "1", kind: .gauge,
        description: "Limit of the budget that slows the sampler down, in its unit")
    static let process_cpu_time = MetricDefinition(
        name: "process.cpu.time", unit: "s", kind: .cumulativeCounter,
        description: "Processor time of the sampler in each mode")
    static let system_cpu_time = MetricDefinition(
        name: "system.cpu.time", unit: "s", kind: .cumulativeCounter,
        description: "Time that all cores spent in each mode since boot")
}

extension WireSystemSample: CatalogedSample {
    package static let metricCatalog = entries()

    private static func entries() -> [CatalogEntry<WireSystemSample>] {
        var entries: [CatalogEntry<WireSystemSample>] = []
        entries.append(
            CatalogEntry(field: "identity.logical_cores", metric: Definitions.system_cpu_logical_count) {
                sample, emit in
                if sample.identity.logicalCores != 0 {
                    emit(Double(sample.identity.logicalCores), [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "identity.boot_time", metric: Definitions.ws1_system_boot_time) { sample, emit in
                if sample.identity.bootTime != 0 {
                    emit(Double(sample.identity.bootTime) / 1_000_000, [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "uptime_seconds", metric: Definitions.system_uptime) { sample, emit in
                emit(Double(sample.uptimeSeconds), [:], nil)
            })
        entries.append(
            CatalogEntry(field: "interval_microseconds", metric: Definitions.ws1_system_sample_interval) {
                sample, emit in
                if sample.hasIntervalMicroseconds {
                    emit(Double(sample.intervalMicroseconds) / 1_000_000, [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cpu.user", metric: Definitions.system_cpu_utilization) { sample, emit in
                if sample.hasCpu {
                    emit(Double(sample.cpu.user) / 10_000, ["cpu.mode": .text("user")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cpu.nice", metric: Definitions.system_cpu_utilization) { sample, emit in
                if sample.hasCpu {
                    emit(Double(sample.cpu.nice) / 10_000, ["cpu.mode": .text("nice")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cpu.system", metric: Definitions.system_cpu_utilization) { sample, emit in
                if sample.hasCpu {
                    emit(Double(sample.cpu.system) / 10_000, ["cpu.mode": .text("system")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cpu.idle", metric: Definitions.system_cpu_utilization) { sample, emit in
                if sample.hasCpu {
                    emit(Double(sample.cpu.idle) / 10_000, ["cpu.mode": .text("idle")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cpu.io_wait", metric: Definitions.system_cpu_utilization) { sample, emit in
                if sample.hasCpu {
                    emit(Double(sample.cpu.ioWait) / 10_000, ["cpu.mode": .text("iowait")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cpu.irq", metric: Definitions.system_cpu_utilization) { sample, emit in
                if sample.hasCpu {
                    emit(
                        (Double(sample.cpu.irq) + Double(sample.cpu.softIrq)) / 10_000,
                        ["cpu.mode": .text("interrupt")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cpu.steal", metric: Definitions.system_cpu_utilization) { sample, emit in
                if sample.hasCpu {
                    emit(Double(sample.cpu.steal) / 10_000, ["cpu.mode": .text("steal")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cores.user", metric: Definitions.ws1_system_core_utilization) { sample, emit in
                for element in sample.cores {
                    emit(
                        Double(element.user) / 10_000,
                        ["cpu.mode": .text("user"), "cpu.logical_number": .integer(Int64(clamping: element.number))],
                        nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cores.nice", metric: Definitions.ws1_system_core_utilization) { sample, emit in
                for element in sample.cores {
                    emit(
                        Double(element.nice) / 10_000,
                        ["cpu.mode": .text("nice"), "cpu.logical_number": .integer(Int64(clamping: element.number))],
                        nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cores.system", metric: Definitions.ws1_system_core_utilization) { sample, emit in
                for element in sample.cores {
                    emit(
                        Double(element.system) / 10_000,
                        ["cpu.mode": .text("system"), "cpu.logical_number": .integer(Int64(clamping: element.number))],
                        nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cores.idle", metric: Definitions.ws1_system_core_utilization) { sample, emit in
                for element in sample.cores {
                    emit(
                        Double(element.idle) / 10_000,
                        ["cpu.mode": .text("idle"), "cpu.logical_number": .integer(Int64(clamping: element.number))],
                        nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cores.io_wait", metric: Definitions.ws1_system_core_utilization) { sample, emit in
                for element in sample.cores {
                    emit(
                        Double(element.ioWait) / 10_000,
                        ["cpu.mode": .text("iowait"), "cpu.logical_number": .integer(Int64(clamping: element.number))],
                        nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cores.irq", metric: Definitions.ws1_system_core_utilization) { sample, emit in
                for element in sample.cores {
                    emit(
                        (Double(element.irq) + Double(element.softIrq)) / 10_000,
                        [
                            "cpu.mode": .text("interrupt"),
                            "cpu.logical_number": .integer(Int64(clamping: element.number)),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cores.steal", metric: Definitions.ws1_system_core_utilization) { sample, emit in
                for element in sample.cores {
                    emit(
                        Double(element.steal) / 10_000,
                        ["cpu.mode": .text("steal"), "cpu.logical_number": .integer(Int64(clamping: element.number))],
                        nil)
                }
            })
        entries.append(
            CatalogEntry(field: "load.one_minute", metric: Definitions.system_cpu_load_average_1m) { sample, emit in
                if sample.hasLoad {
                    emit(Double(sample.load.oneMinute) / 100, [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "load.five_minutes", metric: Definitions.system_cpu_load_average_5m) { sample, emit in
                if sample.hasLoad {
                    emit(Double(sample.load.fiveMinutes) / 100, [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "load.fifteen_minutes", metric: Definitions.system_cpu_load_average_15m) {
                sample, emit in
                if sample.hasLoad {
                    emit(Double(sample.load.fifteenMinutes) / 100, [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "activity.context_switches", metric: Definitions.ws1_system_context_switches) {
                sample, emit in
                if sample.activity.hasContextSwitches {
                    emit(Double(sample.activity.contextSwitches), [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "activity.interrupts", metric: Definitions.ws1_system_interrupts) { sample, emit in
                if sample.activity.hasInterrupts {
                    emit(Double(sample.activity.interrupts), [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "activity.processes_created", metric: Definitions.ws1_system_process_created_increase) {
                sample, emit in
                if sample.activity.hasProcessesCreated {
                    emit(Double(sample.activity.processesCreated), [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "activity.running", metric: Definitions.ws1_system_thread_count) { sample, emit in
                if sample.activity.hasRunning {
                    emit(Double(sample.activity.running), ["ws1.system.thread.state": .text("running")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "activity.blocked", metric: Definitions.ws1_system_thread_count) { sample, emit in
                if sample.activity.hasBlocked {
                    emit(Double(sample.activity.blocked), ["ws1.system.thread.state": .text("blocked")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "activity.processes_created_since_boot", metric: Definitions.system_process_created) {
                sample, emit in
                if sample.activity.hasProcessesCreatedSinceBoot {
                    emit(Double(sample.activity.processesCreatedSinceBoot), [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "pressure.cpu.some.average_10_seconds", metric: Definitions.ws1_system_pressure_average)
            { sample, emit in
                if sample.pressure.cpu.hasSome {
                    emit(
                        Double(sample.pressure.cpu.some.average10Seconds) / 10_000,
                        [
                            "ws1.pressure.resource": .text("cpu"), "ws1.pressure.scope": .text("some"),
                            "ws1.pressure.window": .text("10s"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "pressure.cpu.some.average_60_seconds", metric: Definitions.ws1_system_pressure_average)
            { sample, emit in
                if sample.pressure.cpu.hasSome {
                    emit(
                        Double(sample.pressure.cpu.some.average60Seconds) / 10_000,
                        [
                            "ws1.pressure.resource": .text("cpu"), "ws1.pressure.scope": .text("some"),
                            "ws1.pressure.window": .text("60s"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(
                field: "pressure.cpu.some.average_300_seconds", metric: Definitions.ws1_system_pressure_average
            ) { sample, emit in
                if sample.pressure.cpu.hasSome {
                    emit(
                        Double(sample.pressure.cpu.some.average300Seconds) / 10_000,
                        [
                            "ws1.pressure.resource": .text("cpu"), "ws1.pressure.scope": .text("some"),
                            "ws1.pressure.window": .text("300s"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "pressure.cpu.some.total_microseconds", metric: Definitions.ws1_system_pressure_time) {
                sample, emit in
                if sample.pressure.cpu.hasSome {
                    emit(
                        Double(sample.pressure.cpu.some.totalMicroseconds) / 1_000_000,
                        ["ws1.pressure.resource": .text("cpu"), "ws1.pressure.scope": .text("some")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "pressure.cpu.full.average_10_seconds", metric: Definitions.ws1_system_pressure_average)
            { sample, emit in
                if sample.pressure.cpu.hasFull {
                    emit(
                        Double(sample.pressure.cpu.full.average10Seconds) / 10_000,
                        [
                            "ws1.pressure.resource": .text("cpu"), "ws1.pressure.scope": .text("full"),
                            "ws1.pressure.window": .text("10s"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "pressure.cpu.full.average_60_seconds", metric: Definitions.ws1_system_pressure_average)
            { sample, emit in
                if sample.pressure.cpu.hasFull {
                    emit(
                        Double(sample.pressure.cpu.full.average60Seconds) / 10_000,
                        [
                            "ws1.pressure.resource": .text("cpu"), "ws1.pressure.scope": .text("full"),
                            "ws1.pressure.window": .text("60s"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(
                field: "pressure.cpu.full.average_300_seconds", metric: Definitions.ws1_system_pressure_average
            ) { sample, emit in
                if sample.pressure.cpu.hasFull {
                    emit(
                        Double(sample.pressure.cpu.full.average300Seconds) / 10_000,
                        [
                            "ws1.pressure.resource": .text("cpu"), "ws1.pressure.scope": .text("full"),
                            "ws1.pressure.window": .text("300s"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "pressure.cpu.full.total_microseconds", metric: Definitions.ws1_system_pressure_time) {
                sample, emit in
                if sample.pressure.cpu.hasFull {
                    emit(
                        Double(sample.pressure.cpu.full.totalMicroseconds) / 1_000_000,
                        ["ws1.pressure.resource": .text("cpu"), "ws1.pressure.scope": .text("full")], nil)
                }
            })
        entries.append(
            CatalogEntry(
                field: "pressure.memory.some.average_10_seconds", metric: Definitions.ws1_system_pressure_average
            ) { sample, emit in
                if sample.pressure.memory.hasSome {
                    emit(
                        Double(sample.pressure.memory.some.average10Seconds) / 10_000,
                        [
                            "ws1.pressure.resource": .text("memory"), "ws1.pressure.scope": .text("some"),
                            "ws1.pressure.window": .text("10s"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(
                field: "pressure.memory.some.average_60_seconds", metric: Definitions.ws1_system_pressure_average
            ) { sample, emit in
                if sample.pressure.memory.hasSome {
                    emit(
                        Double(sample.pressure.memory.some.average60Seconds) / 10_000,
                        [
                            "ws1.pressure.resource": .text("memory"), "ws1.pressure.scope": .text("some"),
                            "ws1.pressure.window": .text("60s"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(
                field: "pressure.memory.some.average_300_seconds", metric: Definitions.ws1_system_pressure_average
            ) { sample, emit in
                if sample.pressure.memory.hasSome {
                    emit(
                        Double(sample.pressure.memory.some.average300Seconds) / 10_000,
                        [
                            "ws1.pressure.resource": .text("memory"), "ws1.pressure.scope": .text("some"),
                            "ws1.pressure.window": .text("300s"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "pressure.memory.some.total_microseconds", metric: Definitions.ws1_system_pressure_time)
            { sample, emit in
                if sample.pressure.memory.hasSome {
                    emit(
                        Double(sample.pressure.memory.some.totalMicroseconds) / 1_000_000,
                        ["ws1.pressure.resource": .text("memory"), "ws1.pressure.scope": .text("some")], nil)
                }
            })
        entries.append(
            CatalogEntry(
                field: "pressure.memory.full.average_10_seconds", metric: Definitions.ws1_system_pressure_average
            ) { sample, emit in
                if sample.pressure.memory.hasFull {
                    emit(
                        Double(sample.pressure.memory.full.average10Seconds) / 10_000,
                        [
                            "ws1.pressure.resource": .text("memory"), "ws1.pressure.scope": .text("full"),
                            "ws1.pressure.window": .text("10s"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(
                field: "pressure.memory.full.average_60_seconds", metric: Definitions.ws1_system_pressure_average
            ) { sample, emit in
                if sample.pressure.memory.hasFull {
                    emit(
                        Double(sample.pressure.memory.full.average60Seconds) / 10_000,
                        [
                            "ws1.pressure.resource": .text("memory"), "ws1.pressure.scope": .text("full"),
                            "ws1.pressure.window": .text("60s"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(
                field: "pressure.memory.full.average_300_seconds", metric: Definitions.ws1_system_pressure_average
            ) { sample, emit in
                if sample.pressure.memory.hasFull {
                    emit(
                        Double(sample.pressure.memory.full.average300Seconds) / 10_000,
                        [
                            "ws1.pressure.resource": .text("memory"), "ws1.pressure.scope": .text("full"),
                            "ws1.pressure.window": .text("300s"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "pressure.memory.full.total_microseconds", metric: Definitions.ws1_system_pressure_time)
            { sample, emit in
                if sample.pressure.memory.hasFull {
                    emit(
                        Double(sample.pressure.memory.full.totalMicroseconds) / 1_000_000,
                        ["ws1.pressure.resource": .text("memory"), "ws1.pressure.scope": .text("full")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "pressure.io.some.average_10_seconds", metric: Definitions.ws1_system_pressure_average)
            { sample, emit in
                if sample.pressure.io.hasSome {
                    emit(
                        Double(sample.pressure.io.some.average10Seconds) / 10_000,
                        [
                            "ws1.pressure.resource": .text("io"), "ws1.pressure.scope": .text("some"),
                            "ws1.pressure.window": .text("10s"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "pressure.io.some.average_60_seconds", metric: Definitions.ws1_system_pressure_average)
            { sample, emit in
                if sample.pressure.io.hasSome {
                    emit(
                        Double(sample.pressure.io.some.average60Seconds) / 10_000,
                        [
                            "ws1.pressure.resource": .text("io"), "ws1.pressure.scope": .text("some"),
                            "ws1.pressure.window": .text("60s"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "pressure.io.some.average_300_seconds", metric: Definitions.ws1_system_pressure_average)
            { sample, emit in
                if sample.pressure.io.hasSome {
                    emit(
                        Double(sample.pressure.io.some.average300Seconds) / 10_000,
                        [
                            "ws1.pressure.resource": .text("io"), "ws1.pressure.scope": .text("some"),
                            "ws1.pressure.window": .text("300s"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "pressure.io.some.total_microseconds", metric: Definitions.ws1_system_pressure_time) {
                sample, emit in
                if sample.pressure.io.hasSome {
                    emit(
                        Double(sample.pressure.io.some.totalMicroseconds) / 1_000_000,
                        ["ws1.pressure.resource": .text("io"), "ws1.pressure.scope": .text("some")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "pressure.io.full.average_10_seconds", metric: Definitions.ws1_system_pressure_average)
            { sample, emit in
                if sample.pressure.io.hasFull {
                    emit(
                        Double(sample.pressure.io.full.average10Seconds) / 10_000,
                        [
                            "ws1.pressure.resource": .text("io"), "ws1.pressure.scope": .text("full"),
                            "ws1.pressure.window": .text("10s"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "pressure.io.full.average_60_seconds", metric: Definitions.ws1_system_pressure_average)
            { sample, emit in
                if sample.pressure.io.hasFull {
                    emit(
                        Double(sample.pressure.io.full.average60Seconds) / 10_000,
                        [
                            "ws1.pressure.resource": .text("io"), "ws1.pressure.scope": .text("full"),
                            "ws1.pressure.window": .text("60s"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "pressure.io.full.average_300_seconds", metric: Definitions.ws1_system_pressure_average)
            { sample, emit in
                if sample.pressure.io.hasFull {
                    emit(
                        Double(sample.pressure.io.full.average300Seconds) / 10_000,
                        [
                            "ws1.pressure.resource": .text("io"), "ws1.pressure.scope": .text("full"),
                            "ws1.pressure.window": .text("300s"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "pressure.io.full.total_microseconds", metric: Definitions.ws1_system_pressure_time) {
                sample, emit in
                if sample.pressure.io.hasFull {
                    emit(
                        Double(sample.pressure.io.full.totalMicroseconds) / 1_000_000,
                        ["ws1.pressure.resource": .text("io"), "ws1.pressure.scope": .text("full")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.total", metric: Definitions.system_memory_limit) { sample, emit in
                if sample.hasMemory {
                    emit(Double(sample.memory.total), [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.available", metric: Definitions.system_memory_linux_available) { sample, emit in
                if sample.memory.hasAvailable {
                    emit(Double(sample.memory.available), [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.free", metric: Definitions.system_memory_usage) { sample, emit in
                if sample.memory.hasFree {
                    emit(Double(sample.memory.free), ["system.memory.state": .text("free")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.free", metric: Definitions.system_memory_utilization) { sample, emit in
                if sample.memory.hasFree, sample.memory.total != 0 {
                    emit(
                        Double(sample.memory.free) / Double(sample.memory.total),
                        ["system.memory.state": .text("free")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.buffers", metric: Definitions.system_memory_usage) { sample, emit in
                if sample.memory.hasBuffers {
                    emit(Double(sample.memory.buffers), ["system.memory.state": .text("buffers")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.buffers", metric: Definitions.system_memory_utilization) { sample, emit in
                if sample.memory.hasBuffers, sample.memory.total != 0 {
                    emit(
                        Double(sample.memory.buffers) / Double(sample.memory.total),
                        ["system.memory.state": .text("buffers")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.cached", metric: Definitions.system_memory_usage) { sample, emit in
                if sample.memory.hasCached {
                    emit(Double(sample.memory.cached), ["system.memory.state": .text("cached")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.cached", metric: Definitions.system_memory_utilization) { sample, emit in
                if sample.memory.hasCached, sample.memory.total != 0 {
                    emit(
                        Double(sample.memory.cached) / Double(sample.memory.total),
                        ["system.memory.state": .text("cached")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.dirty", metric: Definitions.ws1_system_memory_dirty) { sample, emit in
                if sample.memory.hasDirty {
                    emit(Double(sample.memory.dirty), [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.slab", metric: Definitions.ws1_system_memory_slab) { sample, emit in
                if sample.memory.hasSlab {
                    emit(Double(sample.memory.slab), [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.swap_total", metric: Definitions.ws1_system_paging_limit) { sample, emit in
                if sample.memory.hasSwapTotal {
                    emit(Double(sample.memory.swapTotal), [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.swap_free", metric: Definitions.system_paging_usage) { sample, emit in
                if sample.memory.hasSwapFree {
                    emit(Double(sample.memory.swapFree), ["system.paging.state": .text("free")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.swap_free", metric: Definitions.system_paging_utilization) { sample, emit in
                if sample.memory.hasSwapFree, sample.memory.swapTotal != 0 {
                    emit(
                        Double(sample.memory.swapFree) / Double(sample.memory.swapTotal),
                        ["system.paging.state": .text("free")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.used", metric: Definitions.system_memory_usage) { sample, emit in
                if sample.memory.hasUsed {
                    emit(Double(sample.memory.used), ["system.memory.state": .text("used")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.used", metric: Definitions.system_memory_utilization) { sample, emit in
                if sample.memory.hasUsed, sample.memory.total != 0 {
                    emit(
                        Double(sample.memory.used) / Double(sample.memory.total),
                        ["system.memory.state": .text("used")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.slab_reclaimable", metric: Definitions.system_memory_linux_slab_usage) {
                sample, emit in
                if sample.memory.hasSlabReclaimable {
                    emit(
                        Double(sample.memory.slabReclaimable), ["system.memory.linux.slab.state": .text("reclaimable")],
                        nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.slab_unreclaimable", metric: Definitions.system_memory_linux_slab_usage) {
                sample, emit in
                if sample.memory.hasSlabUnreclaimable {
                    emit(
                        Double(sample.memory.slabUnreclaimable),
                        ["system.memory.linux.slab.state": .text("unreclaimable")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.swap_used", metric: Definitions.system_paging_usage) { sample, emit in
                if sample.memory.hasSwapUsed {
                    emit(Double(sample.memory.swapUsed), ["system.paging.state": .text("used")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "memory.swap_used", metric: Definitions.system_paging_utilization) { sample, emit in
                if sample.memory.hasSwapUsed, sample.memory.swapTotal != 0 {
                    emit(
                        Double(sample.memory.swapUsed) / Double(sample.memory.swapTotal),
                        ["system.paging.state": .text("used")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "file_systems.size", metric: Definitions.system_filesystem_limit) { sample, emit in
                for element in sample.fileSystems {
                    emit(
                        Double(element.size),
                        [
                            "system.filesystem.mountpoint": .text(element.mountPoint),
                            "system.filesystem.type": .text(element.type), "system.device": .text(element.device),
                            "system.filesystem.mode": .text(element.readOnly ? "ro" : "rw"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "file_systems.used", metric: Definitions.system_filesystem_usage) { sample, emit in
                for element in sample.fileSystems {
                    emit(
                        Double(element.used),
                        [
                            "system.filesystem.state": .text("used"),
                            "system.filesystem.mountpoint": .text(element.mountPoint),
                            "system.filesystem.type": .text(element.type), "system.device": .text(element.device),
                            "system.filesystem.mode": .text(element.readOnly ? "ro" : "rw"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "file_systems.used", metric: Definitions.system_filesystem_utilization) {
                sample, emit in
                for element in sample.fileSystems {
                    if element.size != 0 {
                        emit(
                            Double(element.used) / Double(element.size),
                            [
                                "system.filesystem.state": .text("used"),
                                "system.filesystem.mountpoint": .text(element.mountPoint),
                                "system.filesystem.type": .text(element.type), "system.device": .text(element.device),
                                "system.filesystem.mode": .text(element.readOnly ? "ro" : "rw"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "file_systems.available", metric: Definitions.system_filesystem_usage) { sample, emit in
                for element in sample.fileSystems {
                    emit(
                        Double(element.available),
                        [
                            "system.filesystem.state": .text("free"),
                            "system.filesystem.mountpoint": .text(element.mountPoint),
                            "system.filesystem.type": .text(element.type), "system.device": .text(element.device),
                            "system.filesystem.mode": .text(element.readOnly ? "ro" : "rw"),
                        ], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "file_systems.available", metric: Definitions.system_filesystem_utilization) {
                sample, emit in
                for element in sample.fileSystems {
                    if element.size != 0 {
                        emit(
                            Double(element.available) / Double(element.size),
                            [
                                "system.filesystem.state": .text("free"),
                                "system.filesystem.mountpoint": .text(element.mountPoint),
                                "system.filesystem.type": .text(element.type), "system.device": .text(element.device),
                                "system.filesystem.mode": .text(element.readOnly ? "ro" : "rw"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "file_systems.inodes", metric: Definitions.ws1_system_filesystem_inodes_limit) {
                sample, emit in
                for element in sample.fileSystems {
                    if element.inodes != 0 {
                        emit(
                            Double(element.inodes),
                            [
                                "system.filesystem.mountpoint": .text(element.mountPoint),
                                "system.filesystem.type": .text(element.type), "system.device": .text(element.device),
                                "system.filesystem.mode": .text(element.readOnly ? "ro" : "rw"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "file_systems.inodes_free", metric: Definitions.ws1_system_filesystem_inodes_free) {
                sample, emit in
                for element in sample.fileSystems {
                    if element.inodes != 0 {
                        emit(
                            Double(element.inodesFree),
                            [
                                "system.filesystem.mountpoint": .text(element.mountPoint),
                                "system.filesystem.type": .text(element.type), "system.device": .text(element.device),
                                "system.filesystem.mode": .text(element.readOnly ? "ro" : "rw"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "file_systems.reserved", metric: Definitions.system_filesystem_usage) { sample, emit in
                for element in sample.fileSystems {
                    if element.hasReserved {
                        emit(
                            Double(element.reserved),
                            [
                                "system.filesystem.state": .text("reserved"),
                                "system.filesystem.mountpoint": .text(element.mountPoint),
                                "system.filesystem.type": .text(element.type), "system.device": .text(element.device),
                                "system.filesystem.mode": .text(element.readOnly ? "ro" : "rw"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "file_systems.reserved", metric: Definitions.system_filesystem_utilization) {
                sample, emit in
                for element in sample.fileSystems {
                    if element.hasReserved, element.size != 0 {
                        emit(
                            Double(element.reserved) / Double(element.size),
                            [
                                "system.filesystem.state": .text("reserved"),
                                "system.filesystem.mountpoint": .text(element.mountPoint),
                                "system.filesystem.type": .text(element.type), "system.device": .text(element.device),
                                "system.filesystem.mode": .text(element.readOnly ? "ro" : "rw"),
                            ], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "block_devices.reads", metric: Definitions.ws1_system_disk_operations_increase) {
                sample, emit in
                for element in sample.blockDevices {
                    emit(
                        Double(element.reads),
                        ["disk.io.direction": .text("read"), "system.device": .text(element.name)], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "block_devices.writes", metric: Definitions.ws1_system_disk_operations_increase) {
                sample, emit in
                for element in sample.blockDevices {
                    emit(
                        Double(element.writes),
                        ["disk.io.direction": .text("write"), "system.device": .text(element.name)], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "block_devices.read_bytes", metric: Definitions.ws1_system_disk_io_increase) {
                sample, emit in
                for element in sample.blockDevices {
                    emit(
                        Double(element.readBytes),
                        ["disk.io.direction": .text("read"), "system.device": .text(element.name)], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "block_devices.written_bytes", metric: Definitions.ws1_system_disk_io_increase) {
                sample, emit in
                for element in sample.blockDevices {
                    emit(
                        Double(element.writtenBytes),
                        ["disk.io.direction": .text("write"), "system.device": .text(element.name)], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "block_devices.busy_microseconds", metric: Definitions.ws1_system_disk_io_time_increase)
            { sample, emit in
                for element in sample.blockDevices {
                    emit(Double(element.busyMicroseconds) / 1_000_000, ["system.device": .text(element.name)], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "block_devices.total.reads", metric: Definitions.system_disk_operations) {
                sample, emit in
                for element in sample.blockDevices {
                    if element.hasTotal {
                        emit(
                            Double(element.total.reads),
                            ["disk.io.direction": .text("read"), "system.device": .text(element.name)],
                            (element.total.hasCountedMicroseconds ? element.total.countedMicroseconds : nil))
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "block_devices.total.writes", metric: Definitions.system_disk_operations) {
                sample, emit in
                for element in sample.blockDevices {
                    if element.hasTotal {
                        emit(
                            Double(element.total.writes),
                            ["disk.io.direction": .text("write"), "system.device": .text(element.name)],
                            (element.total.hasCountedMicroseconds ? element.total.countedMicroseconds : nil))
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "block_devices.total.read_bytes", metric: Definitions.system_disk_io) { sample, emit in
                for element in sample.blockDevices {
                    if element.hasTotal {
                        emit(
                            Double(element.total.readBytes),
                            ["disk.io.direction": .text("read"), "system.device": .text(element.name)],
                            (element.total.hasCountedMicroseconds ? element.total.countedMicroseconds : nil))
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "block_devices.total.written_bytes", metric: Definitions.system_disk_io) {
                sample, emit in
                for element in sample.blockDevices {
                    if element.hasTotal {
                        emit(
                            Double(element.total.writtenBytes),
                            ["disk.io.direction": .text("write"), "system.device": .text(element.name)],
                            (element.total.hasCountedMicroseconds ? element.total.countedMicroseconds : nil))
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "block_devices.total.busy_milliseconds", metric: Definitions.system_disk_io_time) {
                sample, emit in
                for element in sample.blockDevices {
                    if element.hasTotal {
                        emit(
                            Double(element.total.busyMilliseconds) / 1_000, ["system.device": .text(element.name)],
                            (element.total.hasCountedMicroseconds ? element.total.countedMicroseconds : nil))
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "block_devices.total.merged_reads", metric: Definitions.system_disk_merged) {
                sample, emit in
                for element in sample.blockDevices {
                    if element.hasTotal {
                        emit(
                            Double(element.total.mergedReads),
                            ["disk.io.direction": .text("read"), "system.device": .text(element.name)],
                            (element.total.hasCountedMicroseconds ? element.total.countedMicroseconds : nil))
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "block_devices.total.merged_writes", metric: Definitions.system_disk_merged) {
                sample, emit in
                for element in sample.blockDevices {
                    if element.hasTotal {
                        emit(
                            Double(element.total.mergedWrites),
                            ["disk.io.direction": .text("write"), "system.device": .text(element.name)],
                            (element.total.hasCountedMicroseconds ? element.total.countedMicroseconds : nil))
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "block_devices.total.read_milliseconds", metric: Definitions.system_disk_operation_time)
            { sample, emit in
                for element in sample.blockDevices {
                    if element.hasTotal {
                        emit(
                            Double(element.total.readMilliseconds) / 1_000,
                            ["disk.io.direction": .text("read"), "system.device": .text(element.name)],
                            (element.total.hasCountedMicroseconds ? element.total.countedMicroseconds : nil))
                    }
                }
            })
        entries.append(
            CatalogEntry(
                field: "block_devices.total.write_milliseconds", metric: Definitions.system_disk_operation_time
            ) { sample, emit in
                for element in sample.blockDevices {
                    if element.hasTotal {
                        emit(
                            Double(element.total.writeMilliseconds) / 1_000,
                            ["disk.io.direction": .text("write"), "system.device": .text(element.name)],
                            (element.total.hasCountedMicroseconds ? element.total.countedMicroseconds : nil))
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "block_devices.size", metric: Definitions.system_disk_limit) { sample, emit in
                for element in sample.blockDevices {
                    if element.hasSize {
                        emit(Double(element.size), ["system.device": .text(element.name)], nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "power.external_power", metric: Definitions.ws1_power_external) { sample, emit in
                if sample.power.hasExternalPower {
                    emit(sample.power.externalPower ? 1 : 0, [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "power.battery_level", metric: Definitions.hw_battery_charge) { sample, emit in
                if sample.power.hasBatteryLevel {
                    emit(Double(sample.power.batteryLevel) / 10_000, ["hw.id": .text("battery")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "power.state", metric: Definitions.hw_status) { sample, emit in
                if sample.hasPower {
                    let present: String? =
                        switch sample.power.state {
                        case .charging: "charging"
                        case .discharging: "discharging"
                        case .notCharging, .full: "ok"
                        default: nil
                        }
                    for state in present == nil ? [] : ["charging", "discharging", "ok"] {
                        var own: MetricAttributes = ["hw.id": .text("battery"), "hw.type": .text("battery")]
                        own["hw.state"] = .text(state)
                        emit(state == present ? 1 : 0, own, nil)
                    }
                }
            })
        entries.append(
            CatalogEntry(field: "power.cycle_count", metric: Definitions.ws1_battery_cycles) { sample, emit in
                if sample.power.hasCycleCount {
                    emit(Double(sample.power.cycleCount), [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "power.health", metric: Definitions.ws1_battery_health) { sample, emit in
                if sample.power.hasHealth {
                    emit(Double(sample.power.health) / 10_000, [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "temperatures.millidegrees", metric: Definitions.hw_temperature) { sample, emit in
                for element in sample.temperatures {
                    emit(Double(element.millidegrees) / 1_000, ["hw.id": .text(element.sensor)], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "self.cpu_time_microseconds", metric: Definitions.ws1_sampler_cpu_time) {
                sample, emit in
                if sample.hasSelf_p {
                    emit(Double(sample.self_p.cpuTimeMicroseconds) / 1_000_000, [:], sample.self_p.uptimeMicroseconds)
                }
            })
        entries.append(
            CatalogEntry(field: "self.resident_bytes", metric: Definitions.process_memory_usage) { sample, emit in
                if sample.hasSelf_p {
                    emit(Double(sample.self_p.residentBytes), [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "self.written_bytes", metric: Definitions.process_disk_io) { sample, emit in
                if sample.self_p.hasWrittenBytes {
                    emit(
                        Double(sample.self_p.writtenBytes), ["disk.io.direction": .text("write")],
                        sample.self_p.uptimeMicroseconds)
                }
            })
        entries.append(
            CatalogEntry(field: "self.open_files", metric: Definitions.process_unix_file_descriptor_count) {
                sample, emit in
                if sample.self_p.hasOpenFiles {
                    emit(Double(sample.self_p.openFiles), [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "self.uptime_microseconds", metric: Definitions.process_uptime) { sample, emit in
                if sample.hasSelf_p {
                    emit(Double(sample.self_p.uptimeMicroseconds) / 1_000_000, [:], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "self.sent_bytes", metric: Definitions.ws1_sampler_sent) { sample, emit in
                if sample.self_p.hasSentBytes {
                    emit(Double(sample.self_p.sentBytes), [:], sample.self_p.uptimeMicroseconds)
                }
            })
        entries.append(
            CatalogEntry(field: "self.queue_written_bytes", metric: Definitions.ws1_sampler_queue_written) {
                sample, emit in
                if sample.self_p.hasQueueWrittenBytes {
                    emit(Double(sample.self_p.queueWrittenBytes), [:], sample.self_p.uptimeMicroseconds)
                }
            })
        entries.append(
            CatalogEntry(field: "self.records_made", metric: Definitions.ws1_sampler_records_made) { sample, emit in
                if sample.self_p.hasRecordsMade {
                    emit(Double(sample.self_p.recordsMade), [:], sample.self_p.uptimeMicroseconds)
                }
            })
        entries.append(
            CatalogEntry(field: "self.records_lost", metric: Definitions.ws1_sampler_records_lost) { sample, emit in
                if sample.self_p.hasRecordsLost {
                    emit(Double(sample.self_p.recordsLost), [:], sample.self_p.uptimeMicroseconds)
                }
            })
        entries.append(
            CatalogEntry(field: "self.slowdown.factor", metric: Definitions.ws1_sampler_slowdown) { sample, emit in
                if sample.self_p.hasSlowdown {
                    emit(
                        Double(sample.self_p.slowdown.factor) / 100,
                        ["ws1.budget": .text(sample.self_p.slowdown.budget)], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "self.slowdown.used", metric: Definitions.ws1_sampler_budget_used) { sample, emit in
                if sample.self_p.hasSlowdown {
                    emit(Double(sample.self_p.slowdown.used), ["ws1.budget": .text(sample.self_p.slowdown.budget)], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "self.slowdown.allowed", metric: Definitions.ws1_sampler_budget_allowed) {
                sample, emit in
                if sample.self_p.hasSlowdown {
                    emit(
                        Double(sample.self_p.slowdown.allowed), ["ws1.budget": .text(sample.self_p.slowdown.budget)],
                        nil)
                }
            })
        entries.append(
            CatalogEntry(field: "self.cpu_user_microseconds", metric: Definitions.process_cpu_time) { sample, emit in
                if sample.self_p.hasCpuUserMicroseconds {
                    emit(
                        Double(sample.self_p.cpuUserMicroseconds) / 1_000_000, ["cpu.mode": .text("user")],
                        sample.self_p.uptimeMicroseconds)
                }
            })
        entries.append(
            CatalogEntry(field: "self.cpu_system_microseconds", metric: Definitions.process_cpu_time) { sample, emit in
                if sample.self_p.hasCpuSystemMicroseconds {
                    emit(
                        Double(sample.self_p.cpuSystemMicroseconds) / 1_000_000, ["cpu.mode": .text("system")],
                        sample.self_p.uptimeMicroseconds)
                }
            })
        entries.append(
            CatalogEntry(field: "self.read_bytes", metric: Definitions.process_disk_io) { sample, emit in
                if sample.self_p.hasReadBytes {
                    emit(
                        Double(sample.self_p.readBytes), ["disk.io.direction": .text("read")],
                        sample.self_p.uptimeMicroseconds)
                }
            })
        entries.append(
            CatalogEntry(field: "cpu_time.user", metric: Definitions.system_cpu_time) { sample, emit in
                if sample.hasCpuTime {
                    emit(Double(sample.cpuTime.user) / 1_000, ["cpu.mode": .text("user")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cpu_time.nice", metric: Definitions.system_cpu_time) { sample, emit in
                if sample.hasCpuTime {
                    emit(Double(sample.cpuTime.nice) / 1_000, ["cpu.mode": .text("nice")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cpu_time.system", metric: Definitions.system_cpu_time) { sample, emit in
                if sample.hasCpuTime {
                    emit(Double(sample.cpuTime.system) / 1_000, ["cpu.mode": .text("system")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cpu_time.idle", metric: Definitions.system_cpu_time) { sample, emit in
                if sample.hasCpuTime {
                    emit(Double(sample.cpuTime.idle) / 1_000, ["cpu.mode": .text("idle")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cpu_time.io_wait", metric: Definitions.system_cpu_time) { sample, emit in
                if sample.hasCpuTime {
                    emit(Double(sample.cpuTime.ioWait) / 1_000, ["cpu.mode": .text("iowait")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cpu_time.interrupt", metric: Definitions.system_cpu_time) { sample, emit in
                if sample.hasCpuTime {
                    emit(Double(sample.cpuTime.interrupt) / 1_000, ["cpu.mode": .text("interrupt")], nil)
                }
            })
        entries.append(
            CatalogEntry(field: "cpu_time.steal", metric: Definitions.system_cpu_time) { sample, emit in
                if sample.hasCpuTime {
                    emit(Double(sample.cpuTime.steal) / 1_000, ["cpu.mode": .text("steal")], nil)
                }
            })
        return entries
    }

    package var sampleInterval: UInt64? {
        hasIntervalMicroseconds ? intervalMicroseconds : nil
    }
}
