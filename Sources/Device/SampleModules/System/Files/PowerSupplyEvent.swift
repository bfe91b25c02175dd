/// `uevent` of a power supply: all its properties in one reading.
struct PowerSupplyEvent: Equatable {
    enum Kind: Equatable {
        case battery
        /// Mains, USB and wireless chargers.
        case line
        case other
    }

    var kind: Kind = .other
    /// Belongs to a mouse, keyboard or the like, not to this machine.
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
            guard scanner.take("POWER_SUPPLY_") else { continue }
            if scanner.take("TYPE=") {
                let value = scanner.rest()
                if value.equals("Battery") {
                    kind = .battery
                } else if value.equals("Mains") || value.equals("Wireless") || value.text.hasPrefix("USB") {
                    kind = .line
                }
            } else if scanner.take("SCOPE=") {
                isPeripheral = scanner.rest().equals("Device")
            } else if scanner.take("PRESENT=") {
                isPresent = scanner.number() != 0
            } else if scanner.take("ONLINE=") {
                online = scanner.number()
            } else if scanner.take("STATUS=") {
                status = Self.status(scanner.rest())
            } else if scanner.take("CAPACITY=") {
                capacity = scanner.number()
            } else if scanner.take("CYCLE_COUNT=") {
                cycles = scanner.number()
            } else if scanner.take("ENERGY_NOW=") {
                energy.now = scanner.number()
            } else if scanner.take("ENERGY_FULL=") {
                energy.full = scanner.number()
            } else if scanner.take("ENERGY_FULL_DESIGN=") {
                energy.design = scanner.number()
            } else if scanner.take("CHARGE_NOW=") {
                charge.now = scanner.number()
            } else if scanner.take("CHARGE_FULL=") {
                charge.full = scanner.number()
            } else if scanner.take("CHARGE_FULL_DESIGN=") {
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
