import TelemetryBasics
import WireModel

extension TransportResponse {
    /// The server's clock when it answered, by the header Date, to the second; microseconds since 1970. `nil` without
    /// one, or one that is no time.
    package var date: Int64? { headers["date"].flatMap { Self.time(ofHeader: $0) } }

    /// A Date header, `Wed, 25 Nov 2026 15:43:45 GMT`, in microseconds since 1970.
    package static func time(ofHeader text: String) -> Int64? {
        let parts = text.split(separator: " ")
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        guard parts.count == 6, parts[5] == "GMT", let day = Int64(parts[1]),
            let month = months.firstIndex(of: String(parts[2])), let year = Int64(parts[3]),
            let date = CivilDate(year: year, month: Int64(month + 1), day: day)
        else { return nil }
        let clock = parts[4].split(separator: ":").compactMap { Int64($0) }
        guard clock.count == 3, (0..<24).contains(clock[0]), (0..<60).contains(clock[1]), (0...60).contains(clock[2])
        else { return nil }
        return (date.daysSince1970 * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]) * 1_000_000
    }
}
