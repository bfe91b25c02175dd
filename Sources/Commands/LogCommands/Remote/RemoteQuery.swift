import TelemetryBasics
import WireModel

/// Which logs of a device are asked for, as the collector's routes take it.
struct RemoteQuery: Sendable {
    private var items: [(name: String, value: String)]

    /// - Throws: `.usage` for what the routes cannot be asked.
    init(_ device: DeviceID, type: TypeArgument = .all, lines: LogFilter = LogFilter()) throws(LogCommandError) {
        // Who names a device means it, also where it is one for tests.
        items = [("device", "\(device)"), ("test", "true"), ("type", type.rawValue), ("level", lines.level.name)]
        if let since = lines.since { items.append(("from", Timestamp.text(since))) }
        if let until = lines.until { items.append(("to", Timestamp.text(until))) }
        guard !lines.categories.contains(where: { $0.contains(",") || $0.isEmpty }) else {
            throw LogCommandError(.usage, "--category: a collector takes no empty name, nor one with a comma")
        }
        if !lines.categories.isEmpty { items.append(("category", lines.categories.joined(separator: ","))) }
        if !lines.text.isEmpty { items.append(("text", lines.text)) }
    }

    func with(_ name: String, _ value: String) -> RemoteQuery {
        var query = self
        query.items.append((name, value))
        return query
    }

    /// Only these chunks.
    func with(ids: [String]) -> RemoteQuery { with("ids", ids.joined(separator: ",")) }

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

extension FilterOptions {
    /// The same filter as the collector takes it.
    func query(_ collector: CollectorOptions, now: Int64 = SystemClock.wallMicroseconds()) throws(LogCommandError)
        -> RemoteQuery
    {
        guard !ring else {
            throw LogCommandError(
                .usage,
                "--ring is for logs of this machine: a collector has those lines where a request brought them (ws1log request --ring), and shows them"
            )
        }
        return try RemoteQuery(try collector.access().device, type: type, lines: filter(now: now))
    }
}
