import WireModel

/// What all power supplies of a machine say together.
enum PowerSummary {
    /// - Returns: `nil` for a machine that has neither batteries nor known line power.
    static func power(of supplies: [PowerSupplyEvent]) -> WirePower? {
        let own = supplies.filter { !$0.isPeripheral }
        let lines = own.filter { $0.kind == .line }.compactMap(\.online)
        let batteries = own.filter { $0.kind == .battery && $0.isPresent }
        guard !lines.isEmpty || !batteries.isEmpty else { return nil }

        var power = WirePower()
        if !lines.isEmpty { power.externalPower = lines.contains { $0 != 0 } }
        if let level = level(of: batteries) { power.batteryLevel = level }
        if let health = ratio(batteries.map(\.chargeFull), to: batteries.map(\.chargeFullDesign)) { power.health = health }
        power.state = state(of: batteries)
        // 0 is what drivers say that cannot count.
        if let cycles = batteries.compactMap(\.cycles).max(), cycles > 0 { power.cycleCount = UInt32(clamping: cycles) }
        return power
    }

    /// What the driver calls the capacity of a single battery; of several, by what they hold together.
    private static func level(of batteries: [PowerSupplyEvent]) -> UInt32? {
        if batteries.count == 1, let capacity = batteries[0].capacity, capacity <= 100 { return UInt32(capacity * 100) }
        return ratio(batteries.map(\.charge), to: batteries.map(\.chargeFull)).map { min($0, 10_000) }
    }

    /// Ten-thousandths; `nil` unless all parts are known and plausible.
    private static func ratio(_ parts: [UInt64?], to wholes: [UInt64?]) -> UInt32? {
        // A microwatt-hour figure over this is a thousand megawatt-hours.
        let limit: UInt64 = 1_000_000_000_000
        var part: UInt64 = 0
        var whole: UInt64 = 0
        for (first, second) in zip(parts, wholes) {
            guard let first, let second, first <= limit, second <= limit else { return nil }
            part += first
            whole += second
            guard part <= limit, whole <= limit else { return nil }
        }
        guard whole > 0 else { return nil }
        let ratio = (part * 10_000 + whole / 2) / whole
        // New batteries hold a little more than they were designed for; twice that is a driver's mistake.
        return ratio <= 20_000 ? UInt32(ratio) : nil
    }

    private static func state(of batteries: [PowerSupplyEvent]) -> WirePowerState {
        let states = batteries.compactMap(\.status)
        guard !states.isEmpty else { return .unknown }
        if states.contains(.discharging) { return .discharging }
        if states.contains(.charging) { return .charging }
        return states.allSatisfy { $0 == .full } ? .full : .notCharging
    }
}
