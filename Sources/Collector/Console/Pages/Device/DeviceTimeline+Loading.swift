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
        let (device, path, api) = (subject.device, subject.path, subject.visit.api)
        var range: FormFields = [("limit", "\(limit)")]
        range.add("from", from.map(Timestamp.text))
        range.add("to", to.map(Timestamp.text))
        func isAsked(_ some: Kind...) -> Bool { !kinds.isDisjoint(with: some) }

        if isAsked(.boot, .agent, .silence, .change, .profile, .beacon) {
            let page = try await api.get("\(path)/beacons", subject.records(range))
            timeline.add(beacons: page.pageItems, isCut: page["next"] != .null)
        }
        if isAsked(.event) {
            let page = try await api.get("/api/v1/events", subject.records(range.with("device", subject.id)))
            timeline.add(events: page.pageItems, isCut: page["next"] != .null)
        }
        if isAsked(.command) {
            let (items, isCut) = try await list("\(path)/commands", by: "issuedAt", to: to, api)
            timeline.add(commands: items, isCut: isCut, link: subject.address("/commands"))
        }
        if isAsked(.profile) {
            let organization = (device["organization"].text ?? "").percentEncoded
            let (items, isCut) = try await list(
                "/api/v1/profile-revisions/\(organization)", by: "createdAt", to: to, api)
            timeline.add(revisions: items, of: device["application"].text ?? "", isCut: isCut)
        }
        if isAsked(.logs) {
            let items = try await api.get("\(path)/uploads", [("limit", "\(limit)")]).pageItems
            let link = FormFields([("device", subject.id)]).address("/logs")
            timeline.add(uploads: items, isCut: items.count == limit, link: link)
        }
        if isAsked(.audit), subject.visit.visitor.role >= .administrator {
            let page = try await api.get("/api/v1/audit", range.with("subject", subject.id))
            timeline.add(audit: page.pageItems, isCut: page["next"] != .null)
        }
        return timeline
    }

    /// A list without a range, until it is older than the range's end.
    private static func list(
        _ path: String, by time: String, to: Int64?, _ api: APIClient
    ) async throws -> (items: [JSONValue], isCut: Bool) {
        var items: [JSONValue] = []
        var query: FormFields = [("limit", "50")]
        for _ in 0..<pages {
            let page = try await api.get(path, query)
            items += page.pageItems
            guard let next = page["next"].text else { return (items, false) }
            if let to, let last = items.last?[time].text, last >= Timestamp.text(to) {
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
struct DeviceTimelinePage: Page {
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
