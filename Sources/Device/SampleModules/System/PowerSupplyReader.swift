import WireModel

/// Reads all power supplies of the machine.
enum PowerSupplyReader {
    private static let directory = "/sys/class/power_supply"

    /// - Returns: `nil` for a machine that has neither batteries nor known line power.
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
