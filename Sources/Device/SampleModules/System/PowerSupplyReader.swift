import WireModel

/// Reads all power supplies of the machine.
enum PowerSupplyReader {
    private static let directory = "/sys/class/power_supply"

    /// - Returns: `nil` if the machine has neither batteries nor a line supply that is online.
    static func read(_ reader: inout FileReader) -> WirePower? {
        var supplies: [PowerSupplyEvent] = []
        for name in reader.list(directory, maximumEntries: 64) {
            if let supply = reader.parse("\(directory)/\(name)/uevent", maximumBytes: 8_192, { PowerSupplyEvent($0) }) {
                supplies.append(supply)
            }
        }
        return PowerSummary.power(of: supplies)
    }
}

/// `uevent` of a power supply, which holds all its properties.
struct PowerSupplyEvent: Equatable {
    enum Kind: Equatable {
        case battery
        /// Mains, USB and wireless chargers.
        case line
        case other
    }

    var kind: Kind = .other
    /// The battery of a mouse, keyboard or the like, not of this machine.
    var isPeripheral = false
    /// A battery bay may be empty.
    var isPresent = true
    var online: UInt64?
    var status: PowerStatus?
    /// Per cent.
    var capacity: UInt64?
    /// Microwatt-hours or, where only these are known, microampere-hours.
    var charge: UInt64?
    var chargeFull: UInt64?
    var chargeFullDesign: UInt64?
    var cycles: UInt64?

    enum PowerStatus: Equatable {
        case charging
        case discharging
        case notCharging
        case full
    }

    init(_ bytes: UnsafeRawBufferPointer) {
        var energy: (now: UInt64?, full: UInt64?, design: UInt64?)
        var charge: (now: UInt64?, full: UInt64?, design: UInt64?)
        for line in CompleteLines(bytes) {
            var scanner = ByteScanner(line)
            guard scanner.consume("POWER_SUPPLY_") else { continue }
            if scanner.consume("TYPE=") {
                let value = scanner.rest()
                if value.equals("Battery") {
                    kind = .battery
                } else if value.equals("Mains") || value.equals("Wireless") || value.text.hasPrefix("USB") {
                    kind = .line
                }
            } else if scanner.consume("SCOPE=") {
                isPeripheral = scanner.rest().equals("Device")
            } else if scanner.consume("PRESENT=") {
                isPresent = scanner.number() != 0
            } else if scanner.consume("ONLINE=") {
                online = scanner.number()
            } else if scanner.consume("STATUS=") {
                status = Self.status(scanner.rest())
            } else if scanner.consume("CAPACITY=") {
                capacity = scanner.number()
            } else if scanner.consume("CYCLE_COUNT=") {
                cycles = scanner.number()
            } else if scanner.consume("ENERGY_NOW=") {
                energy.now = scanner.number()
            } else if scanner.consume("ENERGY_FULL=") {
                energy.full = scanner.number()
            } else if scanner.consume("ENERGY_FULL_DESIGN=") {
                energy.design = scanner.number()
            } else if scanner.consume("CHARGE_NOW=") {
                charge.now = scanner.number()
            } else if scanner.consume("CHARGE_FULL=") {
                charge.full = scanner.number()
            } else if scanner.consume("CHARGE_FULL_DESIGN=") {
                charge.design = scanner.number()
            }
        }
        (self.charge, chargeFull, chargeFullDesign) = energy.full != nil ? energy : charge
    }

    private static func status(_ value: UnsafeRawBufferPointer) -> PowerStatus? {
        if value.equals("Charging") { return .charging }
        if value.equals("Discharging") { return .discharging }
        if value.equals("Not charging") { return .notCharging }
        return value.equals("Full") ? .full : nil
    }
}

/// The summary of a machine's power supplies.
enum PowerSummary {
    /// A machine without a battery runs, so it has power from outside. A supply that is offline, such as the port of a
    /// graphics card, is then not the one that feeds it.
    ///
    /// - Returns: `nil` if the machine has neither batteries nor a line supply that is online.
    static func power(of supplies: [PowerSupplyEvent]) -> WirePower? {
        let own = supplies.filter { !$0.isPeripheral }
        let lines = own.filter { $0.kind == .line }.compactMap(\.online)
        let batteries = own.filter { $0.kind == .battery && $0.isPresent }
        guard !batteries.isEmpty || lines.contains(where: { $0 != 0 }) else { return nil }

        var power = WirePower()
        if !lines.isEmpty { power.externalPower = lines.contains { $0 != 0 } }
        if let level = level(of: batteries) { power.batteryLevel = level }
        if let health = ratio(batteries.map(\.chargeFull), to: batteries.map(\.chargeFullDesign)) {
            power.health = health
        }
        power.state = state(of: batteries)
        // Drivers that cannot count report 0.
        if let cycles = batteries.compactMap(\.cycles).max(), cycles > 0 { power.cycleCount = UInt32(clamping: cycles) }
        return power
    }

    /// The driver's capacity for a single battery. For several batteries it is computed from their charges.
    private static func level(of batteries: [PowerSupplyEvent]) -> UInt32? {
        if batteries.count == 1, let capacity = batteries[0].capacity, capacity <= 100 { return UInt32(capacity * 100) }
        return ratio(batteries.map(\.charge), to: batteries.map(\.chargeFull)).map { min($0, 10_000) }
    }

    /// The ratio in ten-thousandths; `nil` unless all parts are known and plausible.
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
        // New batteries hold a little more than designed. Twice as much is a driver's mistake.
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
