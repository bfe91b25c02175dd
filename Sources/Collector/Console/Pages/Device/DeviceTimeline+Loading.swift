import CollectorAPI
import JSON
import TelemetryBasics

extension DeviceTimeline {
    /// The most records of a list on one page.
    private static let limit = 200
    /// How far the lists that have no range are followed.
    private static let pages = 5

    /// - Parameters:
    ///   - from: microseconds since 1970, inclusive.
    ///   - to: exclusive.
    ///   - kinds: only the lists that these come from are asked for.
    static func load(
        _ subject: DeviceSubject, from: Int64?, to: Int64?, kinds: Set<Kind>
    ) async throws -> DeviceTimeline {
        var timeline = DeviceTimeline()
        let (device, api) = (subject.device, subject.visit.api)
        var range: FormFields = [("limit", "\(limit)")]
        range.add("from", from.map(Timestamp.text))
        range.add("to", to.map(Timestamp.text))
        func isAsked(_ some: Kind...) -> Bool { !kinds.isDisjoint(with: some) }

        if isAsked(.boot, .agent, .silence, .change, .profile, .beacon) {
            let page = try await api.call(.listBeacons(device.id), subject.records(range))
            timeline.add(beacons: page.items, isCut: page.next != nil)
        }
        if isAsked(.event) {
            let kind = subject.hasAgent ? nil : "otlp-log"
            let page = try await api.call(
                .listEvents, subject.records(range.with("device", subject.id).with("kind", kind)))
            timeline.add(events: page.items, isCut: page.next != nil)
        }
        if isAsked(.command) {
            let (items, isCut) = try await list(.listCommands(device.id), by: \.issuedAt, to: to, api)
            timeline.add(commands: items, isCut: isCut, link: subject.address("/commands"))
        }
        if isAsked(.profile) {
            let (items, isCut) = try await list(
                .listProfileRevisions(device.organization), by: { $0.createdAt ?? "" }, to: to, api)
            timeline.add(revisions: items, of: device.application, isCut: isCut)
        }
        if isAsked(.logs) {
            let items = try await api.call(.listUploads(device.id), [("limit", "\(limit)")]).items
            let link = FormFields([("device", subject.id)]).address("/logs")
            timeline.add(uploads: items, isCut: items.count == limit, link: link)
        }
        if isAsked(.audit), subject.visit.visitor.role >= .administrator {
            let page = try await api.call(.listAudit, range.with("subject", subject.id))
            timeline.add(audit: page.items, isCut: page.next != nil)
        }
        return timeline
    }

    /// A list without a range, until it is older than the range's end.
    private static func list<Item>(
        _ operation: APIOperation<Page<Item>>, by time: (Item) -> String, to: Int64?, _ api: APIClient
    ) async throws -> (items: [Item], isCut: Bool) {
        var items: [Item] = []
        var query: FormFields = [("limit", "50")]
        for _ in 0..<pages {
            let page = try await api.call(operation, query)
            items += page.items
            guard let next = page.next else { return (items, false) }
            if let to, let last = items.last.map(time), last >= Timestamp.text(to) {
                query = query.with("cursor", next)
            } else {
                return (items, true)
            }
        }
        // Beyond the last page nothing is known, and earlier pages of the timeline cannot be reached through this list.
        return (items, false)
    }
}

extension DeviceTimeline.Entry {
    func values(at visit: Visit) -> JSONValue {
        [
            "at": .text(at), "kind": .text(kind.rawValue), "title": .text(title), "detail": JSONValue(detail),
            "link": JSONValue(link.map { visit.base + $0 }), "since": JSONValue(since),
            "mark": kind.isNotable ? .text("\(kind.rawValue): \(title)") : .null,
        ]
    }
}

/// The timeline of a device, page by page.
struct DeviceTimelinePage: ConsolePage {
    let path = "/devices/{device}/timeline"

    func view(_ visit: Visit) async throws -> Answer {
        let subject = try await DeviceSubject(visit)
        let (from, to) = (try TimeRange.time(visit.query, "from"), try TimeRange.time(visit.query, "to"))
        let chosen = Set(visit.query.all("kind").compactMap(DeviceTimeline.Kind.init))
        let kinds = chosen.isEmpty ? Set(DeviceTimeline.Kind.allCases) : chosen
        let timeline = try await DeviceTimeline.load(subject, from: from, to: to, kinds: kinds)
        let entries = timeline.page(
            from: from.map(Timestamp.text) ?? "", to: to.map(Timestamp.text), kinds: kinds)
        // The next page begins with the entry at which this one was cut off.
        let older = timeline.completeAfter.flatMap { Timestamp.parse($0) }.flatMap { end in
            end < from ?? .min
                ? nil : visit.base + visit.query.with("to", Timestamp.text(end + 1)).address(visit.path)
        }
        return subject.answer(
            "device-timeline",
            [
                "entries": .array(entries.map { $0.values(at: visit) }), "older": JSONValue(older),
                "from": JSONValue(from.map(TimeRange.input)), "to": JSONValue(to.map(TimeRange.input)),
                "isFiltered": .boolean(!chosen.isEmpty || from != nil || to != nil),
                "kinds": .array(
                    DeviceTimeline.Kind.allCases.map {
                        ["name": .text($0.rawValue), "isChosen": .boolean(chosen.contains($0))]
                    }),
            ])
    }
}
