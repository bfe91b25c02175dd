import CollectorAPI
import JSON

/// The events that a page of SDK Analytics is about. All of it is in the page's address.
struct EventQuery {
    static let path = "/analytics"
    /// The page of one event. Its name is in the query: a device may name it as it likes, and no path accepts each
    /// name.
    static let eventPath = "/analytics/event"
    static let types = [
        ("", "all"), ("custom", "custom"), ("launch", "launch"), ("enrollment-call", "enrollment call"),
        ("sdk-action", "SDK action"), ("unspecified", "unspecified"),
    ]
    /// The groupings by which an event's counts can be broken down.
    static let groupings = [("value", "value"), ("application", "application"), ("device", "device")]

    private static let filters = ["device", "application", "type", "value", "test"]
    private static let buckets: Int64 = 60

    let base: String
    /// Begun at a multiple of the step, unless a person chose its ends.
    let range: TimeRange
    let stepSeconds: Int64
    let devices: DeviceChoice
    /// The name of the event; `nil` for all.
    let event: String?
    /// The state of the page, with the device by its id.
    let fields: FormFields

    /// - Parameter event: the name of the event; `nil` for all.
    init(_ visit: Visit, event: String? = nil) async throws {
        let asked = try TimeRange(visit.query, now: visit.now)
        base = visit.base
        self.event = event
        stepSeconds = asked.step(buckets: Self.buckets)
        range = asked.choice == nil ? asked : asked.aligned(to: stepSeconds)
        devices = try await DeviceChoice(visit)
        let kept = visit.query.only(Self.filters + ["by"] + TimeRange.names)
        fields = devices.device.map { kept.with("device", $0.id) } ?? kept
    }

    var isFiltered: Bool { !fields.only(Self.filters).isEmpty }

    /// The filter of all routes about events.
    var selection: FormFields {
        var selection = fields.only(Self.filters).with("test", testFlag)
        selection.add("name", event)
        for field in range.query.fields { selection.add(field.name, field.value) }
        return selection
    }

    private var testFlag: String? {
        (devices.device?.test ?? false) || fields.isChecked("test") ? "true" : nil
    }

    // MARK: Addresses, with the proxy's prefix

    /// The page of an event, with the same filters.
    func address(event: String?) -> String { address(fields.with("by"), event) }

    /// This page with another value of a filter.
    func address(_ name: String, _ value: String?) -> String {
        address(fields.with(name, value), event)
    }

    /// This page with its range alone.
    var withoutFilters: String { address(fields.only(TimeRange.names), event) }

    /// Returns the address of a table of the page as a file.
    func csv(_ table: String) -> String {
        address(fields.with("format", "csv").with("table", table), event)
    }

    private func address(_ fields: FormFields, _ event: String?) -> String {
        guard let event else { return base + fields.address(Self.path) }
        return base + FormFields([("event", event)]).adding(fields).address(Self.eventPath)
    }

    /// The values that both pages' forms need.
    func values(at visit: Visit) -> [String: JSONValue] {
        return [
            "types": Choice.list(Self.types, chosen: fields.text("type")),
            "range": range.values(at: visit, fragment: "events"),
            "keptFields": visit.query.only(["event"] + TimeRange.names).hidden, "isFiltered": .boolean(isFiltered),
            "withTest": .boolean(fields.isChecked("test")), "deviceChoice": devices.values(at: visit),
            "deviceField": JSONValue(devices.device?.id ?? visit.query.text("device")),
            "formAddress": .text(base + (event == nil ? Self.path : Self.eventPath)),
            "withoutFilters": .text(withoutFilters),
            "device": devices.device.map {
                ["name": .text(DeviceChoice.name(of: $0)), "id": .text($0.id)]
            } ?? .null,
        ]
    }
}
