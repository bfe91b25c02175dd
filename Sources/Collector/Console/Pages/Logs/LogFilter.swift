import JSON
import TelemetryBasics
import WireModel

/// The logs that a page shows. The address has the API's parameters, and `range` for a time back from now. The list of
/// chunks and the list of lines accept the same address, so each leads to the other.
struct LogFilter {
    /// The names in the order of the form.
    static let names = [
        "device", "application", "type", "level", "category", "text", "range", "from", "to", "test", "ids",
    ]
    /// Chunks are listed and deleted whole, so the API cannot look for these there.
    static let namesOfLines = ["category", "text"]
    static let levels = ["error", "warning", "information", "verbose"]

    /// The fields as in the address.
    let fields: FormFields
    /// The query for the API.
    let query: FormFields
    /// Microseconds since 1970; `nil` for no bound.
    let from: Int64?
    /// Exclusive.
    let to: Int64?

    /// - Throws: `Problem` for a time that is none.
    init(_ address: FormFields, now: Int64) throws(Problem) {
        let range = TimeRange.choices.first { $0.name == address.text("range") }
        let (begin, end) = (try TimeRange.time(address, "from"), try TimeRange.time(address, "to"))
        (from, to) = (begin ?? (end == nil ? range.map { now - $0.seconds * 1_000_000 } : nil), end)
        var fields = FormFields()
        for name in Self.names {
            guard name == "device" else {
                fields.add(name, address.text(name))
                continue
            }
            for id in ChosenDevices.ids(address) { fields.add(name, id) }
        }
        if begin != nil || end != nil { fields = fields.with("range") }
        self.fields = fields
        query = fields.with("range").with("from", from.map { Timestamp.text($0) })
            .with("to", to.map { Timestamp.text($0) })
    }

    /// The fields that the API accepts for whole chunks.
    var ofChunks: FormFields { Self.namesOfLines.reduce(query) { $0.with($1) } }

    var asksForLines: Bool { Self.namesOfLines.contains { fields[$0] != nil } }

    var isEmpty: Bool { fields.isEmpty }

    /// The text of all lines that match. Each names its device and application, unless all are of one.
    private var content: FormFields {
        let isOfOne = fields.all("device").count == 1 && fields["application"] != nil
        return query.with("label", isOfOne ? nil : "source")
    }

    /// `logs-DEVICE-20260102T030405Z.txt`
    private static func fileName(_ devices: [String], at now: Int64) -> String {
        let device = devices.count == 1 ? "-\(devices[0])" : ""
        let time = Timestamp.text(now).prefix(19).replacing("-", with: "").replacing(":", with: "")
        return "logs\(device)-\(time)Z.txt"
    }

    /// The values for the form and the links on both pages.
    func values(at visit: Visit, _ devices: ChosenDevices) -> [String: JSONValue] {
        func time(_ time: Int64?) -> JSONValue { JSONValue(time.map { TimeRange.input($0) }) }
        let untimed = fields.with("range").with("from").with("to")
        let ranges = [("", "All")] + TimeRange.choices.map { ($0.name, $0.label) }
        let isOwnRange = fields["from"] != nil || fields["to"] != nil
        let ids = fields.all("device")
        return [
            "devices": devices.values(at: visit), "hasDevices": .boolean(!ids.isEmpty),
            "deviceIDs": .array(ids.map { .text($0) }),
            "requests": .text(visit.base + fields.only(["device"]).address("/request-logs")),
            "withoutIDs": .text(visit.base + fields.with("ids").address(visit.path)),
            "filter": .object(
                Dictionary(fields.fields.map { ($0.name, .text($0.value)) }) { first, _ in first }),
            "from": isOwnRange ? time(from) : .null, "to": isOwnRange ? time(to) : .null,
            "isFiltered": .boolean(!isEmpty),
            "asksForLines": .boolean(asksForLines),
            "types": Choice.list(
                [("", "all"), ("application", "application"), ("crash", "crash")], chosen: fields["type"]),
            "levels": Choice.list(
                [
                    ("error", "errors"), ("warning", "warnings and errors"), ("information", "information and above"),
                    ("", "all"),
                ], chosen: fields["level"] == "verbose" ? "" : fields["level"]),
            "ranges": .array(
                ranges.map { name, label in
                    [
                        "label": .text(label),
                        "address": .text(
                            visit.base + untimed.with("range", name.isEmpty ? nil : name).address(visit.path)),
                        "isHere": .boolean(!isOwnRange && (fields["range"] ?? "") == name),
                    ]
                }),
            "tabs": .array(
                [("/logs", "Chunks"), ("/logs/view", "Lines")].map { path, label in
                    [
                        "label": .text(label), "address": .text(visit.base + fields.address(path)),
                        "isHere": .boolean(path == visit.path),
                    ]
                }),
            "download": .text(visit.base + content.address("/data/api/v1/logs/content")),
            "downloadName": .text(Self.fileName(ids, at: visit.now)),
        ]
    }
}
