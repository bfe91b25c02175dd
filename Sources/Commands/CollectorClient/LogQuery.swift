import TelemetryBasics
import WireModel

/// Which logs of a device are asked for, as the collector's routes take it.
package struct LogQuery: Sendable {
    package let device: DeviceID
    private var items: [(name: String, value: String)]

    /// All logs of a device.
    package init(_ device: DeviceID) {
        self.init(device, type: "all", .verbose)
    }

    private init(_ device: DeviceID, type: String, _ level: LogLevel) {
        self.device = device
        // Who names a device means it, also where it is one for tests.
        items = [("device", "\(device)"), ("test", "true"), ("type", type), ("level", level.name)]
    }

    /// - Parameter type: application, crash or all.
    /// - Throws: `.usage` for what the routes cannot be asked.
    package init(_ device: DeviceID, type: String, lines: LogFilter) throws(CollectorClientError) {
        self.init(device, type: type, lines.level)
        if let since = lines.since { items.append(("from", Timestamp.text(since))) }
        if let until = lines.until { items.append(("to", Timestamp.text(until))) }
        guard !lines.categories.contains(where: { $0.contains(",") || $0.isEmpty }) else {
            throw CollectorClientError(.usage, "--category: a collector takes no empty name, nor one with a comma")
        }
        if !lines.categories.isEmpty { items.append(("category", lines.categories.joined(separator: ","))) }
        if !lines.text.isEmpty { items.append(("text", lines.text)) }
    }

    package func with(_ name: String, _ value: String) -> LogQuery {
        var query = self
        query.items.append((name, value))
        return query
    }

    /// Only these chunks.
    package func with(ids: [String]) -> LogQuery { with("ids", ids.joined(separator: ",")) }

    func path(_ route: String) -> String {
        route + "?" + items.map { "\($0.name)=\(Self.encoded($0.value))" }.joined(separator: "&")
    }

    private static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ","), UInt8(ascii: ":"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default: encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }
}
