import TelemetryBasics
import WireModel

/// The scope of the logs that are asked for. Without anything it means those of all devices that the caller may see,
/// but for test devices.
package struct LogScope: Sendable, CustomStringConvertible {
    package var device: DeviceID?
    /// Bundle id.
    package var application: String?
    /// Ids of chunks; empty for all.
    package var ids: [String]

    package init(device: DeviceID? = nil, application: String? = nil, ids: [String] = []) {
        self.device = device
        self.application = application
        self.ids = ids
    }

    /// The scope for a sentence: "of device 6f0c…".
    package var description: String {
        (application.map { "of application \($0) " } ?? "") + (device.map { "of device \($0)" } ?? "of all devices")
    }
}

/// The query for logs, as the collector's routes accept it.
package struct LogQuery: Sendable {
    package let scope: LogScope
    private var items: [(name: String, value: String)]

    /// All logs of a scope.
    package init(_ scope: LogScope) {
        self.init(scope, type: "all", .verbose)
    }

    private init(_ scope: LogScope, type: String, _ level: LogLevel) {
        self.scope = scope
        // Who names a device means it, also where it is one for tests.
        items = scope.device.map { [("device", "\($0)"), ("test", "true")] } ?? []
        items += [("type", type), ("level", level.name)]
        if let application = scope.application { items.append(("application", application)) }
        if !scope.ids.isEmpty { items.append(("ids", scope.ids.joined(separator: ","))) }
    }

    /// - Parameter type: application, crash or all.
    /// - Throws: `.usage` for what the routes cannot be asked.
    package init(_ scope: LogScope, type: String, lines: LogFilter) throws(CollectorClientError) {
        self.init(scope, type: type, lines.level)
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

    /// Limits the query to these chunks.
    package func with(ids: [String]) -> LogQuery {
        var query = self
        query.items.removeAll { $0.name == "ids" }
        return query.with("ids", ids.joined(separator: ","))
    }

    func path(_ route: String) -> String {
        route + "?" + items.map { "\($0.name)=\(Self.encoded($0.value))" }.joined(separator: "&")
    }

    static func encoded(_ text: String) -> String {
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
