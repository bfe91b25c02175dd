extension MetricCatalog {
    private static let batteryState = MetricDefinition(
        name: "hw.status", unit: "1", kind: .upDownCounter, description: "1 for the state the hardware is in")

    static let systemHardware: [CatalogEntry<WireSystemSample>] = [
        power(
            "external_power",
            MetricDefinition(
                name: "ws1.power.external", unit: "1", kind: .gauge, description: "1 while external power is on line, else 0")
        ) { $0.hasExternalPower ? ($0.externalPower ? 1 : 0) : nil },
        power(
            "battery_level",
            MetricDefinition(
                name: "hw.battery.charge", unit: "1", kind: .gauge, description: "Remaining share of the batteries' charge"),
            ["hw.type": "battery"]
        ) { $0.hasBatteryLevel ? Double($0.batteryLevel) / 10_000 : nil },
        CatalogEntry(field: "power.state", metric: batteryState) { sample, emit in
            guard sample.hasPower, let name = stateName(sample.power.state) else { return }
            emit(1, ["hw.type": "battery", "hw.state": name])
        },
        power(
            "cycle_count",
            MetricDefinition(
                name: "ws1.battery.cycles", unit: "{cycle}", kind: .gauge, description: "Charge cycles of the most used battery")
        ) { $0.hasCycleCount ? Double($0.cycleCount) : nil },
        power(
            "health",
            MetricDefinition(
                name: "ws1.battery.health", unit: "1", kind: .gauge, description: "Full charge as a share of the design charge")
        ) { $0.hasHealth ? Double($0.health) / 10_000 : nil },
        CatalogEntry(
            field: "temperatures.millidegrees",
            metric: MetricDefinition(name: "hw.temperature", unit: "Cel", kind: .gauge, description: "Temperature of each sensor")
        ) { sample, emit in
            for temperature in sample.temperatures {
                emit(Double(temperature.millidegrees) / 1_000, ["hw.id": temperature.sensor, "hw.type": "temperature"])
            }
        },
    ]

    private static func power(
        _ field: String, _ metric: MetricDefinition, _ attributes: [String: String] = [:],
        _ read: @escaping @Sendable (WirePower) -> Double?
    ) -> CatalogEntry<WireSystemSample> {
        CatalogEntry(field: "power.\(field)", metric: metric) { sample, emit in
            if sample.hasPower, let value = read(sample.power) { emit(value, attributes) }
        }
    }

    /// `nil` where the state is unknown or of a later version.
    private static func stateName(_ state: WirePowerState) -> String? {
        switch state {
        case .charging: "charging"
        case .discharging: "discharging"
        case .notCharging: "not_charging"
        case .full: "full"
        case .unknown, .UNRECOGNIZED: nil
        }
    }
}
