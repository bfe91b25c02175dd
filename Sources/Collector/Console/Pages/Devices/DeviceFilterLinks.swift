import CollectorAPI
import JSON

/// The filters of the list of devices as links: chips that remove a filter, and facets whose values set one.
///
/// A link keeps the rest of the page's address, but for the place in the list, which belongs to the former filters.
struct DeviceFilterLinks {
    /// The API's filters, by the names that this page's address has, too.
    static let names = facets.map(\.name) + ["organization", "enrollmentToken", "q", "test"]

    private struct Facet: Sendable {
        var name: String
        var label: String
        var counts: @Sendable (DeviceFacetsView.Facets) -> DeviceFacetsView.Facet
    }

    private static let facets = [
        Facet(name: "state", label: "State") { $0.state },
        Facet(name: "os", label: "Operating system") { $0.os },
        Facet(name: "agentVersion", label: "Agent version") { $0.agentVersion },
        Facet(name: "application", label: "Application") { $0.application },
        Facet(name: "applicationVersion", label: "Application version") { $0.applicationVersion },
        Facet(name: "compliance", label: "Compliance") { $0.compliance },
        Facet(name: "compromised", label: "Compromised") { $0.compromised },
        Facet(name: "profileRevision", label: "Profile revision") { $0.profileRevision },
    ]
    private static let labels =
        Dictionary(uniqueKeysWithValues: facets.map { ($0.name, $0.label) }).merging([
            "organization": "Organization", "enrollmentToken": "Enrollment token", "q": "Search",
        ]) { $1 }
    /// Filters whose values are words of the API.
    private static let words: Set = ["state", "compliance", "compromised"]
    /// The filter's value for devices that reported none.
    private static let none = "none"
    /// More values of a facet are shown on demand.
    private static let shownValues = 8

    private let visit: Visit
    private let query: FormFields

    init(_ visit: Visit) {
        self.visit = visit
        query = visit.query.with("cursor")
    }

    /// The filters in words, for a person who confirms an action on what they select.
    static func words(_ filters: FormFields) -> String {
        let words = filters.fields.filter { $0.name != "test" }.map { field in
            "\((labels[field.name] ?? field.name).lowercased()) \(shown(field.value, of: field.name))"
        }
        let whole = words.isEmpty ? "all devices" : words.joined(separator: "; ")
        return filters["test"] == "true" ? "\(whole); test devices too" : whole
    }

    /// Each filter that is set, with the address without it.
    var chips: [JSONValue] {
        query.only(Self.names).fields.flatMap { field -> [JSONValue] in
            switch field.name {
            case "test":
                return field.value == "true"
                    ? [["label": "With test devices", "address": address(query.with("test"))]] : []
            case "state":
                return Self.states(field.value).map { chip(field.name, $0, toggling($0, in: field.value)) }
            default: return [chip(field.name, field.value, nil)]
            }
        }
    }

    private func chip(_ name: String, _ value: String, _ rest: String?) -> JSONValue {
        [
            "label": .text(Self.labels[name] ?? name), "value": .text(Self.shown(value, of: name)),
            "address": address(query.with(name, rest)),
        ]
    }

    /// - Parameters:
    ///   - counts: of the API; `nil` if it gave none.
    ///   - organizations: their names, for people who see several.
    func facets(_ counts: DeviceFacetsView?, organizations: [String]) -> [JSONValue] {
        let chosen = query.text("organization")
        var groups: [JSONValue] = []
        if organizations.count > 1 {
            groups.append(
                group(
                    "organization", "Organization",
                    organizations.map { ($0, $0, nil, $0 == chosen) }, further: 0))
        }
        guard let counts else { return groups }
        for facet in Self.facets {
            let found = facet.counts(counts.facets)
            let current = query.text(facet.name)
            let values = found.values.map { item -> Value in
                let isChosen =
                    facet.name == "state"
                    ? Self.states(current ?? "").contains(item.value ?? "")
                    : (item.value ?? Self.none).lowercased() == current?.lowercased()
                return (item.value ?? Self.none, item.value, item.devices, isChosen)
            }
            // A single value sorts nothing out, unless the filter is set.
            guard values.count > 1 || current != nil && !values.isEmpty else { continue }
            groups.append(group(facet.name, facet.label, values, further: found.further?.values ?? 0))
        }
        return groups
    }

    private typealias Value = (filter: String, shown: String?, devices: Int?, isChosen: Bool)

    private func group(_ name: String, _ label: String, _ values: [Value], further: Int) -> JSONValue {
        let isWhole = query["facet"] == name
        let current = query.text(name)
        let shown = values.enumerated().filter { isWhole || $0.offset < Self.shownValues || $0.element.isChosen }
        let links = shown.map(\.element).map { value -> JSONValue in
            let next =
                name == "state"
                ? toggling(value.filter, in: current ?? "") : value.isChosen ? nil : value.filter
            return [
                "label": .text(value.shown.map { Self.shown($0, of: name) } ?? "not reported"),
                "devices": .of(value.devices),
                "isChosen": .boolean(value.isChosen), "address": address(query.with(name, next)),
            ]
        }
        let left = values.count - shown.count
        return [
            "name": .text(name), "label": .text(label), "values": .array(links),
            "rest": left > 0 ? JSONValue(left) : .null,
            "restAddress": address(query.with("facet", name)),
            // The API counts these together. The search finds them.
            "further": further > 0 && left == 0 ? JSONValue(further) : .null,
        ]
    }

    /// The switch that includes test devices or leaves them out.
    var testSwitch: JSONValue {
        let isOn = query["test"] == "true"
        return ["isOn": .boolean(isOn), "address": address(query.with("test", isOn ? nil : "true"))]
    }

    private func address(_ query: FormFields) -> JSONValue { .text(visit.base + query.address(visit.path)) }

    private static func shown(_ value: String, of name: String) -> String {
        words.contains(name) ? DisplayText.words(value.replacing(",", with: ", ")) : value
    }

    private static func states(_ list: String) -> [String] { list.split(separator: ",").map(String.init) }

    /// A list of states with one added, or without it if it is there.
    private func toggling(_ state: String, in list: String) -> String? {
        let states = Self.states(list)
        let changed = states.contains(state) ? states.filter { $0 != state } : states + [state]
        return changed.isEmpty ? nil : changed.joined(separator: ",")
    }
}
