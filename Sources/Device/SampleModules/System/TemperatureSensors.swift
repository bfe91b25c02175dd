import WireModel

/// The machine's temperature sensors: `hwmon` devices, and thermal zones without an `hwmon` device.
struct TemperatureSensors: Sendable {
    static let maximumSensors = 64
    private static let hardwareMonitors = "/sys/class/hwmon"
    private static let thermalZones = "/sys/class/thermal"
    /// The plausible range in millidegrees. Drivers report values outside of this range if they have no reading.
    private static let plausible: ClosedRange<Int64> = -100_000...200_000

    private struct Sensor: Sendable {
        var name: String
        var path: String
    }

    private var sensors: [Sensor] = []

    /// Searches sensors again. They come and go with modules and devices.
    mutating func discover(_ reader: inout FileReader) {
        sensors = []
        var names: Set<String> = []
        for device in reader.list(Self.hardwareMonitors, maximumEntries: 256) {
            let directory = "\(Self.hardwareMonitors)/\(device)"
            guard let chip = reader.line("\(directory)/name") else { continue }
            let inputs = reader.list(directory, maximumEntries: 1_024).filter {
                $0.hasPrefix("temp") && $0.hasSuffix("_input")
            }
            // Several devices of one driver (disks, memory modules) are distinguished by the device they belong to.
            let owner =
                names.contains(chip)
                ? reader.host.readLink("\(directory)/device")?.split(separator: "/").last ?? device[...] : nil
            names.insert(chip)
            let labels = inputs.map { input in
                let own = String(input.dropLast("_input".count))
                return reader.line("\(directory)/\(own)_label") ?? own
            }
            // Some firmware gives several inputs one label. All of these get the input's name, which is unique.
            let counts = Dictionary(labels.map { ($0, 1) }, uniquingKeysWith: +)
            for (input, given) in zip(inputs, labels) {
                let own = input.dropLast("_input".count)
                let label = counts[given] == 1 ? given : "\(given) \(own)"
                add(owner.map { "\(chip)@\($0)/\(label)" } ?? "\(chip)/\(label)", "\(directory)/\(input)")
            }
        }
        for zone in reader.list(Self.thermalZones, maximumEntries: 256) where zone.hasPrefix("thermal_zone") {
            guard let type = reader.line("\(Self.thermalZones)/\(zone)/type") else { continue }
            // The kernel also makes a hwmon device for most zones. Its name must not contain hyphens.
            if names.contains(type) || names.contains(String(type.map { $0 == "-" ? "_" : $0 })) { continue }
            add("\(type)/\(zone)", "\(Self.thermalZones)/\(zone)/temp")
        }
    }

    private mutating func add(_ name: String, _ path: String) {
        if sensors.count < Self.maximumSensors { sensors.append(Sensor(name: name, path: path)) }
    }

    /// Reads all sensors that answer.
    func read(_ reader: inout FileReader) -> [WireTemperature] {
        sensors.compactMap { sensor in
            guard let millidegrees = reader.signedNumber(sensor.path), Self.plausible.contains(millidegrees) else {
                return nil
            }
            var temperature = WireTemperature()
            temperature.sensor = sensor.name
            temperature.millidegrees = Int32(millidegrees)
            return temperature
        }
    }
}
