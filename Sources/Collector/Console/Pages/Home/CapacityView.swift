import JSON

/// The rate of records, the room that they need, and when the disk will be full, for the template `capacity`.
enum CapacityView {
    /// The disk is marked as soon as this many days are left.
    private static let warningDays: Int64 = 30
    private static let badDays: Int64 = 7

    /// - Parameter capacity: the API's answer.
    static func values(of capacity: JSONValue) -> JSONValue {
        let disk = capacity["disk"]
        let (free, size) = (disk["freeBytes"].number ?? 0, disk["sizeBytes"].number ?? 0)
        let (state, forecast) = forecast(capacity)
        return capacity.with([
            "hasRate": .boolean(capacity["ingest"]["recordsPerSecond"] != .null),
            "rate": capacity["ingest"]["recordsPerSecond"],
            "minutes": capacity["ingest"]["minutes"].table,
            "disk": disk == .null ? .null : disk.with(["share": .real(size > 0 ? 1 - free / size : 0)]),
            "forecast": .text(forecast), "forecastState": .text(state),
        ])
    }

    private static func forecast(_ capacity: JSONValue) -> (state: String, text: String) {
        let disk = capacity["disk"]
        guard disk != .null else { return ("unknown", "The system does not tell how much of the disk is free.") }
        let growth = DisplayText.bytes(capacity["bytesPerDay"].number ?? 0)
        let base = "Records take \(growth) a day, by the last \(capacity.counted("growthDays", "whole day"))."
        switch disk["full"].text {
        case "expected":
            let days = disk["fullInDays"].integer ?? 0
            let state = days <= badDays ? "bad" : days <= warningDays ? "warn" : "good"
            let text =
                days == 0
                ? "The disk is full within a day." : "The disk is full in about \(disk.counted("fullInDays", "day"))."
            return (state, "\(text) \(base)")
        case "never": return ("good", "The disk does not fill up: retention removes old records before. \(base)")
        default:
            return ("unknown", "When the disk will be full is not known until there is a whole day of records.")
        }
    }
}
