import CollectorAPI
import JSON

/// The rate of records, the room that they need, and when the disk will be full, for the template `capacity`.
enum CapacityCard {
    /// The disk is marked as soon as this many days are left.
    private static let warningDays = 30
    private static let badDays = 7

    static func values(of capacity: CapacityView) -> JSONValue {
        let (state, forecast) = forecast(capacity)
        let disk = capacity.disk.map { disk in
            let (free, size) = (Double(disk.freeBytes), Double(disk.sizeBytes))
            return JSONValue.of(disk).with(["share": .real(size > 0 ? 1 - free / size : 0)])
        }
        return JSONValue.of(capacity).with([
            "hasRate": .boolean(capacity.ingest.recordsPerSecond != nil),
            "rate": .of(capacity.ingest.recordsPerSecond),
            "minutes": JSONValue.of(capacity.ingest.minutes).table,
            "disk": disk ?? .null,
            "forecast": .text(forecast), "forecastState": .text(state),
        ])
    }

    private static func forecast(_ capacity: CapacityView) -> (state: String, text: String) {
        guard let disk = capacity.disk else {
            return ("unknown", "The system does not tell how much of the disk is free.")
        }
        let growth = DisplayText.bytes(Double(capacity.bytesPerDay ?? 0))
        let base = "Records take \(growth) a day, by the last \(DisplayText.counted(capacity.growthDays, "whole day"))."
        switch disk.full {
        case "expected":
            let days = disk.fullInDays ?? 0
            let state = days <= badDays ? "bad" : days <= warningDays ? "warn" : "good"
            let text =
                days == 0
                ? "The disk is full within a day." : "The disk is full in about \(DisplayText.counted(days, "day"))."
            return (state, "\(text) \(base)")
        case "never": return ("good", "The disk does not fill up: retention removes old records before. \(base)")
        default:
            return ("unknown", "When the disk will be full is not known until there is a whole day of records.")
        }
    }
}
