import CollectorAPI
import JSON
import WireModel

/// The scope of the profile that a page is about: an organization's own, or that of one of its applications.
struct ProfilePlace {
    var organization: String
    /// `nil` for the organization's own.
    var application: String?

    init(_ visit: Visit) {
        organization = visit.parameter("organization")
        application = visit.query.text("application")
    }

    init(organization: String, application: String?) {
        self.organization = organization
        self.application = application
    }

    /// Reads it.
    var read: APIOperation<ProfileView> {
        if let application { .getApplicationProfile(organization, application) } else { .getProfile(organization) }
    }

    /// Stores a revision of it.
    var put: APIOperation<ProfileView> {
        if let application { .putApplicationProfile(organization, application) } else { .putProfile(organization) }
    }

    /// The parameters that limit a request about revisions to this profile.
    var query: FormFields {
        var query = FormFields()
        query.add("application", application)
        return query
    }

    /// The address of its page, or of a page below that.
    func address(_ below: String = "") -> String { query.address("/profiles/\(organization.percentEncoded)\(below)") }

    var name: String { application.map { "\($0) in \(organization)" } ?? organization }

    /// The list of devices that get it, without test devices.
    var devices: FormFields {
        var query: FormFields = [
            ("organization", organization), ("state", "enrolled,reporting,late,silent,off"),
        ]
        query.add("application", application)
        return query
    }

    /// The values for templates.
    var values: [String: JSONValue] {
        [
            "organization": .text(organization), "application": JSONValue(application), "place": .text(name),
            "placeAddress": .text(address()), "editAddress": .text(address("/edit")),
            "devicesAddress": .text(devices.address("/devices")),
        ]
    }
}

extension Visit {
    /// The newest revision of a profile and its tag; `nil` if there is none.
    func newest(_ place: ProfilePlace) async throws -> (answer: ProfileView, entityTag: String?)? {
        do { return try await api.tagged(place.read) } catch let problem as Problem where problem.status == 404 {
            // An application may have no profile; an organization has one.
            if place.application == nil { throw problem }
            try await api.call(.getProfile(place.organization))
            return nil
        }
    }

    /// Tries a profile out: its changes, findings, risks and effect.
    /// - Parameter base: the revision that was edited, which it is compared with; `nil` for the newest.
    func check(
        _ profile: JSONValue, _ place: ProfilePlace, since base: String? = nil
    ) async throws -> ProfileValidationView {
        try await api.call(.validateProfile(place.organization), place.query.with("from", base), body: profile)
    }

    /// The values for the template `affected`: how many devices get a profile, and how many test devices besides.
    func affected(_ place: ProfilePlace) async throws -> JSONValue {
        func count(_ query: FormFields) async throws -> Int {
            try await api.call(.listDevices, query.with("limit", "1")).total ?? 0
        }
        let devices = try await count(place.devices)
        let tests = try await count(place.devices.with("test", "true")) - devices
        return ["devices": JSONValue(devices), "tests": JSONValue(DisplayText.testDevices(Int64(tests)))]
    }
}

/// How many devices run the newest revision.
struct ProfileAdoption {
    var devices = 0
    var upToDate = 0

    init(_ items: [ProfileAdoptionView]) {
        for item in items {
            devices.addSaturating(item.devices)
            if item.isNewest { upToDate.addSaturating(item.devices) }
        }
    }

    /// The values for the template `adoption`.
    var values: JSONValue {
        [
            "devices": JSONValue(devices), "upToDate": JSONValue(upToDate),
            "share": .real(devices == 0 ? 0 : Double(upToDate) / Double(devices)),
            "hasDevices": .boolean(devices > 0),
        ]
    }
}

extension ProfileAdoptionView {
    /// Whether these devices run the newest revision.
    var isNewest: Bool { revision == newestRevision }
}

extension ProfileChangeView {
    /// Changes for the template `changes`.
    static func values(of changes: [ProfileChangeView]) -> JSONValue {
        .array(
            changes.map { change in
                let place = change.place
                return [
                    "field": .text(place.isEmpty ? "the whole profile" : place.joined(separator: ".")),
                    "from": text(change.from), "to": text(change.to),
                ]
            })
    }

    /// The names on the way to what changed; none for the whole profile.
    var place: [String] {
        path.dropFirst().split(separator: "/").map {
            String($0.replacing("~1", with: "/").replacing("~0", with: "~"))
        }
    }

    /// - Returns: null for what is absent. An empty text or list is something.
    private static func text(_ value: JSONValue?) -> JSONValue {
        guard let value else { return .null }
        return switch value {
        case .null: .null
        case .text(let text): .text(text.isEmpty ? "\"\"" : text)
        default: .text(value.prettyText)
        }
    }
}
