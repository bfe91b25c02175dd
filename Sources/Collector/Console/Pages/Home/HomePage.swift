import JSON
import WireModel

/// An overview of the fleet. Each part asks for itself, so that one that fails does not hide the others.
struct HomePage: Page {
    let path = "/"

    /// The states in the order in which they are shown.
    private static let states = ["reporting", "late", "silent", "enrolled", "off", "left", "revoked"]
    /// Those of devices that are still there.
    private static let present = "enrolled,reporting,late,silent,off"
    private static let shownNotices = 8
    private static let shownVersions = 8
    /// The adoption of profiles reads the devices of each organization.
    private static let shownOrganizations = 5

    func view(_ visit: Visit) async throws -> Answer {
        let api = visit.api
        var values: [String: JSONValue] = [:]
        values["fleet"] = try await Self.part {
            let facets = try await api.get("/api/v1/devices/facets", [("state", Self.present)])
            let all = try? await api.get(
                "/api/v1/devices", [("state", Self.present), ("test", "true"), ("limit", "1")])
            let hidden = (all?["total"].integer ?? 0).subtractingSaturating(facets["total"].integer ?? 0)
            return Self.fleet(facets, visit).with(["hiddenTests": JSONValue(DisplayText.testDevices(hidden))])
        }
        let open = try await Self.part {
            let page = try await api.get("/api/v1/notices", [("open", "true"), ("limit", "50")])
            let heard = page.pageItems.filter { $0["muted"] == .null }
            return [
                "items": .array(Array(heard.prefix(Self.shownNotices))), "openCount": page["openCount"],
                "isNone": .boolean(page["openCount"].integer == 0),
            ]
        }
        values["open"] = open
        values["seals"] = try await Self.seals(visit)
        if visit.visitor.organization == nil {
            values["capacity"] = try await Self.part { CapacityView.values(of: try await api.get("/api/v1/capacity")) }
        }
        values["logs"] = try await Self.part { Self.logs(try await api.get("/api/v1/logs/usage")) }
        let organizations = try await Self.organizations(visit)
        values["adoption"] = try await Self.part { try await Self.adoption(organizations, visit) }
        values["changes"] = try await Self.part {
            try await RecentChanges(visit).values(
                notices: try await api.get("/api/v1/notices", [("limit", "100")]), organizations: organizations.names)
        }
        return .view(View("home", title: "Home", values))
    }

    /// A part of the page; the reason if the API refuses.
    private static func part(_ load: () async throws -> JSONValue) async throws -> JSONValue {
        do { return try await load() } catch let problem as APIProblem where problem.status != 401 {
            return ["problem": .text(problem.detail)]
        }
    }

    /// - Parameter facets: of devices that are still there. A facet ignores its own filter, so states have all.
    private static func fleet(_ facets: JSONValue, _ visit: Visit) -> JSONValue {
        func count(_ facet: String, _ value: String) -> Int64 {
            facets["facets"][facet]["values"].items.first { $0["value"].text == value }?["devices"].integer ?? 0
        }
        func tile(_ label: String, _ word: String, _ devices: Int64, _ query: FormFields) -> JSONValue {
            [
                "label": .text(label), "state": .text(word), "devices": .integer(devices),
                "address": .text(visit.base + query.address("/devices")),
            ]
        }
        var tiles = states.map { tile($0, $0, count("state", $0), [("state", $0)]) }
        let isEmpty = states.allSatisfy { count("state", $0) == 0 }
        for (facet, value, label) in [
            ("compliance", "non-compliant", "non-compliant"), ("compromised", "yes", "compromised"),
        ] {
            let devices = count(facet, value)
            if devices > 0 { tiles.append(tile(label, label, devices, [("state", present), (facet, value)])) }
        }
        let total = Double(facets["total"].integer ?? 0)
        let versions = facets["facets"]["agentVersion"]
        let shown = versions["values"].items.prefix(shownVersions)
        let rows = shown.map { version -> JSONValue in
            let name = version["value"].text
            return [
                "version": .text(name ?? "not reported"), "devices": version["devices"],
                "share": .real(total > 0 ? (version["devices"].number ?? 0) / total : 0),
                "address": .text(
                    visit.base + FormFields([("state", present), ("agentVersion", name ?? "none")]).address("/devices")),
            ]
        }
        let reported = shown.compactMap { $0["devices"].integer }.saturatingSum
        let further = Int64(total) - reported
        return [
            "tiles": .array(tiles), "isEmpty": .boolean(isEmpty), "total": facets["total"],
            "versions": JSONValue.array(rows).table,
            "furtherVersions": further > 0 ? .integer(further) : .null,
        ]
    }

    private static func seals(_ visit: Visit) async throws -> JSONValue {
        do {
            let balance = try await visit.api.get("/api/v1/balance")
            return .array([
                FleetSeal.balance(balance, now: visit.now).values,
                FleetSeal.verification(balance, now: visit.now).values,
            ])
        } catch let problem as APIProblem where problem.status != 401 {
            return .array([FleetSeal.refused(problem).values])
        }
    }

    /// - Parameter usage: of the API, a row for each application.
    private static func logs(_ usage: JSONValue) -> JSONValue {
        let rows = usage.pageItems
        let high = rows.filter { row in
            guard let quota = row["quotaBytes"].number, quota > 0 else { return false }
            return (row["rawBytes"].number ?? 0) >= quota * 0.75
        }
        return [
            "bytes": .real(rows.reduce(0) { $0 + ($1["rawBytes"].number ?? 0) }),
            "high": .array(
                high.map { row in
                    row.with([
                        "share": .real((row["rawBytes"].number ?? 0) / (row["quotaBytes"].number ?? 1)),
                        "address": .text(
                            "/organizations/\((row["organization"].text ?? "").percentEncoded)/log-quotas"),
                    ])
                }),
        ]
    }

    /// The first organizations that the visitor sees, and whether there are more.
    private static func organizations(_ visit: Visit) async throws -> (names: [String], hasMore: Bool) {
        if let own = visit.visitor.organization { return ([own], false) }
        do {
            let page = try await visit.api.get("/api/v1/organizations", [("limit", "\(shownOrganizations)")])
            return (page.pageItems.compactMap { $0["name"].text }, page["next"] != .null)
        } catch let problem as APIProblem where problem.status != 401 { return ([], false) }
    }

    private static func adoption(
        _ organizations: (names: [String], hasMore: Bool), _ visit: Visit
    ) async throws -> JSONValue {
        var rows: [JSONValue] = []
        for name in organizations.names {
            let place = ProfilePlace(organization: name, application: nil)
            let items = try await visit.api.get("\(place.revisions)/adoption").pageItems
            rows.append(
                ProfileAdoption(items).values.with([
                    "name": .text(name), "address": .text(visit.base + place.address()),
                ]))
        }
        return ["rows": .array(rows), "hasMore": .boolean(organizations.hasMore), "hasRows": .boolean(!rows.isEmpty)]
    }
}
