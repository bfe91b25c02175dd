import CollectorAPI
import JSON
import WireModel

/// An overview of the fleet. Each part asks for itself, so that one that fails does not hide the others.
struct HomePage: ConsolePage {
    let path = "/"

    /// The states in the order in which they are shown.
    private static let states = ["reporting", "late", "silent", "enrolled", "off", "otlp", "left", "revoked"]
    /// Those of devices that are still there.
    private static let present = "enrolled,reporting,late,silent,off,otlp"
    private static let shownNotices = 8
    private static let shownVersions = 8
    /// The adoption of profiles reads the devices of each organization.
    private static let shownOrganizations = 5

    func view(_ visit: Visit) async throws -> Answer {
        let api = visit.api
        var values: [String: JSONValue] = [:]
        values["fleet"] = try await Self.part {
            let found = try await api.call(.listDeviceFacets, [("state", Self.present)])
            let all = try? await api.call(
                .listDevices, [("state", Self.present), ("test", "true"), ("limit", "1")])
            let hidden = Int64(all?.total ?? 0) - Int64(found.total)
            return Self.fleet(found, visit).with(["hiddenTests": JSONValue(DisplayText.testDevices(hidden))])
        }
        let open = try await Self.part {
            let page = try await api.call(.listNotices, [("open", "true"), ("limit", "50")])
            let heard = page.items.filter { $0.muted == nil }
            return [
                "items": .of(Array(heard.prefix(Self.shownNotices))), "openCount": JSONValue(page.openCount),
                "isNone": .boolean(page.openCount == 0),
            ]
        }
        values["open"] = open
        values["seals"] = try await Self.seals(visit)
        if visit.visitor.organization == nil {
            values["capacity"] = try await Self.part { CapacityCard.values(of: try await api.call(.getCapacity)) }
        }
        values["logs"] = try await Self.part { Self.logs(try await api.call(.getLogUsage).items) }
        let organizations = try await Self.organizations(visit)
        values["adoption"] = try await Self.part { try await Self.adoption(organizations, visit) }
        values["changes"] = try await Self.part {
            try await RecentChanges(visit).values(
                notices: try await api.call(.listNotices, [("limit", "100")]), organizations: organizations.names)
        }
        return .view(View("home", title: "Home", values))
    }

    /// A part of the page; the reason if the API refuses.
    private static func part(_ load: () async throws -> JSONValue) async throws -> JSONValue {
        do { return try await load() } catch let problem as Problem where problem.status != 401 {
            return ["problem": JSONValue(problem.detail)]
        }
    }

    /// - Parameter found: of devices that are still there. A facet ignores its own filter, so states have all.
    private static func fleet(_ found: DeviceFacetsView, _ visit: Visit) -> JSONValue {
        let facets = found.facets
        func count(_ facet: DeviceFacetsView.Facet, _ value: String) -> Int {
            facet.values.first { $0.value == value }?.devices ?? 0
        }
        func tile(_ label: String, _ word: String, _ devices: Int, _ query: FormFields) -> JSONValue {
            [
                "label": .text(label), "state": .text(word), "devices": JSONValue(devices),
                "address": .text(visit.base + query.address("/devices")),
            ]
        }
        var tiles = states.map { tile($0, $0, count(facets.state, $0), [("state", $0)]) }
        let isEmpty = states.allSatisfy { count(facets.state, $0) == 0 }
        for (facet, name, value, label) in [
            (facets.compliance, "compliance", "non-compliant", "non-compliant"),
            (facets.compromised, "compromised", "yes", "compromised"),
        ] {
            let devices = count(facet, value)
            if devices > 0 { tiles.append(tile(label, label, devices, [("state", present), (name, value)])) }
        }
        let shown = facets.agentVersion.values.prefix(shownVersions)
        let rows = shown.map { version -> JSONValue in
            let name = version.value
            let devices: FormFields = [("state", present), ("agentVersion", name ?? "none")]
            return [
                "version": .text(name ?? "not reported"), "devices": JSONValue(version.devices),
                "share": .real(found.total > 0 ? Double(version.devices) / Double(found.total) : 0),
                "address": .text(visit.base + devices.address("/devices")),
            ]
        }
        let further = found.total - shown.map(\.devices).saturatingSum
        return [
            "tiles": .array(tiles), "isEmpty": .boolean(isEmpty), "total": JSONValue(found.total),
            "versions": JSONValue.array(rows).table,
            "furtherVersions": further > 0 ? JSONValue(further) : .null,
        ]
    }

    private static func seals(_ visit: Visit) async throws -> JSONValue {
        do {
            let balance = try await visit.api.call(.getFleetBalance)
            return .array([
                FleetSeal.balance(balance, now: visit.now).values,
                FleetSeal.verification(balance, now: visit.now).values,
            ])
        } catch let problem as Problem where problem.status != 401 {
            return .array([FleetSeal.refused(problem).values])
        }
    }

    /// - Parameter rows: one for each application.
    private static func logs(_ rows: [LogUsageView]) -> JSONValue {
        let high = rows.filter { $0.quotaBytes > 0 && Double($0.rawBytes) >= Double($0.quotaBytes) * 0.75 }
        return [
            "bytes": .real(rows.reduce(0) { $0 + Double($1.rawBytes) }),
            "high": .array(
                high.map { row in
                    JSONValue.of(row).with([
                        "share": .real(Double(row.rawBytes) / Double(row.quotaBytes)),
                        "address": .text("/organizations/\(row.organization.percentEncoded)/log-quotas"),
                    ])
                }),
        ]
    }

    /// The first organizations that the visitor sees, and whether there are more.
    private static func organizations(_ visit: Visit) async throws -> (names: [String], hasMore: Bool) {
        if let own = visit.visitor.organization { return ([own], false) }
        do {
            let page = try await visit.api.call(.listOrganizations, [("limit", "\(shownOrganizations)")])
            return (page.items.map(\.name), page.next != nil)
        } catch let problem as Problem where problem.status != 401 { return ([], false) }
    }

    private static func adoption(
        _ organizations: (names: [String], hasMore: Bool), _ visit: Visit
    ) async throws -> JSONValue {
        var rows: [JSONValue] = []
        for name in organizations.names {
            let place = ProfilePlace(organization: name, application: nil)
            let items = try await visit.api.call(.profileAdoption(name)).items
            rows.append(
                ProfileAdoption(items).values.with([
                    "name": .text(name), "address": .text(visit.base + place.address()),
                ]))
        }
        return ["rows": .array(rows), "hasMore": .boolean(organizations.hasMore), "hasRows": .boolean(!rows.isEmpty)]
    }
}
