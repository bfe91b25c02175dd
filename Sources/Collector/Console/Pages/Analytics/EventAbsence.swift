import CollectorAPI
import JSON

/// Why there may be no event: what profiles say about analytics, and what a filter leaves out.
enum EventAbsence {
    /// The module without which a device accepts no event.
    private static let module = "analytics"
    /// The event hold, unless a profile or a device sets another.
    private static let usualHoldSeconds: Int64 = 7200
    /// The most organizations whose profiles are read.
    private static let maximumOrganizations = 10

    /// - Returns: sentences with the address of what to do next, if there is one.
    static func reasons(_ query: EventQuery, _ visit: Visit) async throws -> [JSONValue] {
        var reasons: [JSONValue] = []
        if query.isFiltered {
            reasons.append(reason("No event of this range passes the filters.", "Remove them", query.withoutFilters))
        }
        if !query.fields.isChecked("test"), query.devices.device?.test != true {
            reasons.append(
                reason("Events of test devices are left out.", "Include them", query.address("test", "true")))
        }
        let organizations =
            if let device = query.devices.device { [device.organization] } else {
                Array(try await visit.organizationNames().prefix(maximumOrganizations))
            }
        for organization in organizations {
            let place = ProfilePlace(organization: organization, application: nil)
            guard let profile = try await visit.api.find(.getProfile(organization), [("effective", "true")])?.profile
            else {
                continue
            }
            reasons.append(
                reason(text(organization, profile), "Profile of \(organization)", visit.base + place.address()))
        }
        return reasons
    }

    /// The text about what a profile says of events.
    static func text(_ organization: String, _ profile: JSONValue) -> String {
        let analytics = profile["analytics"]
        if analytics["enabled"].truth == false {
            return "\(organization): the profile switches analytics off. Devices refuse events."
        }
        let modules = profile["sampling"]["modules"]
        if modules != .null, !modules.items.compactMap(\.text).contains(module) {
            return "\(organization): the profile leaves out the module \(module). Devices refuse events without it."
        }
        let hold = analytics["holdSeconds"].integer
        let text = DisplayText.duration(Double(hold ?? usualHoldSeconds))
        if hold == 0 { return "\(organization): analytics is on, and events are sent at once." }
        return "\(organization): analytics is on. Devices hold each event for \(text)"
            + (hold == nil ? ", unless they are configured otherwise," : "") + " before they send it."
    }

    private static func reason(_ text: String, _ label: String, _ address: String) -> JSONValue {
        ["text": .text(text), "label": .text(label), "address": .text(address)]
    }
}
