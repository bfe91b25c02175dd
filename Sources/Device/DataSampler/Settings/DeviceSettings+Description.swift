import SampleModules
import WireModel

extension DeviceSettings {
    /// What is in force in words, and which layer said it, by the setting's name.
    var described: [String: DataSamplerStatus.Setting] {
        func seconds(_ value: Double) -> String { value == value.rounded() && abs(value) < 1e15 ? "\(Int(value)) s" : "\(value) s" }
        func said(_ value: Double?) -> String { value.map(seconds) ?? "none" }
        let intervals =
            sampleIntervals.sorted { $0.key < $1.key }.map { "\($0.key.rawValue) \(seconds($0.value))" }
            + customIntervals.sorted { $0.key < $1.key }.map { "\($0.key) \(seconds($0.value))" }
        let transmit =
            [seconds(transmitInterval / .seconds(1))]
            + moduleTransmitIntervals.sorted { $0.key < $1.key }.map { "\($0.key) \(seconds($0.value / .seconds(1)))" }
        let limits = [
            budgets.sentBytesPerDay.map { "\($0) bytes sent a day" }, budgets.writtenBytesPerDay.map { "\($0) bytes written a day" },
            budgets.processorShare.map { "\($0) of a core" },
        ].compactMap { $0 }
        let personal = FieldClass.decidable.sorted { $0.rawValue < $1.rawValue }.map { "\($0.rawValue) \(privacy[$0].rawValue)" }
        let values: [String: String] = [
            "telemetryDisabled": "\(telemetryDisabled)", "test": "\(test)", "doNotDisturbAllowed": "\(doNotDisturbAllowed)",
            "modules": modules.map(\.rawValue).joined(separator: ", "), "sampleInterval": intervals.joined(separator: ", "),
            "transmitInterval": transmit.joined(separator: ", "), "analyticsEnabled": "\(analyticsEnabled)",
            "eventHold": seconds(eventHold / .seconds(1)), "beaconInterval": said(beaconInterval), "loggingEnabled": "\(logging.enabled)",
            "logsOverWiFiOnly": "\(logging.wifiOnly)", "logLevel": "\(logging.level)", "privacy": personal.joined(separator: ", "),
            "offlineTimeAllowed": said(offlineTimeAllowed), "budgets": limits.isEmpty ? "none" : limits.joined(separator: ", "),
        ]
        return values.reduce(into: [:]) { result, setting in
            result[setting.key] = .init(value: setting.value, source: (sources[setting.key] ?? .compiled).rawValue)
        }
    }
}
