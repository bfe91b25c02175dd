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

    /// Its routes in the API.
    var profile: String {
        "/api/v1/profiles/\(organization.percentEncoded)" + (application.map { "/\($0.percentEncoded)" } ?? "")
    }

    var revisions: String { "/api/v1/profile-revisions/\(organization.percentEncoded)" }

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
    func newest(_ place: ProfilePlace) async throws -> (value: JSONValue, entityTag: String?)? {
        do {
            return try await api.answer(to: APIRequest(method: "GET", path: place.profile, query: FormFields()))
        } catch let problem as APIProblem where problem.status == 404 {
            // An application may have no profile; an organization has one.
            if place.application == nil { throw problem }
            _ = try await api.get(ProfilePlace(organization: place.organization, application: nil).profile)
            return nil
        }
    }

    /// Tries a profile out: its changes, findings, risks and effect.
    /// - Parameter base: the revision that was edited, which it is compared with; null for the newest.
    func check(_ profile: JSONValue, _ place: ProfilePlace, since base: JSONValue = .null) async throws -> JSONValue {
        try await api.send(
            "POST", "\(place.revisions)/validate",
            place.query.with("from", base == .null ? nil : base.renderText), body: profile)
    }

    /// The values for the template `affected`: how many devices get a profile, and how many test devices besides.
    func affected(_ place: ProfilePlace) async throws -> JSONValue {
        func count(_ query: FormFields) async throws -> Int64 {
            try await api.get("/api/v1/devices", query.with("limit", "1"))["total"].integer ?? 0
        }
        let devices = try await count(place.devices)
        let tests = try await count(place.devices.with("test", "true")) - devices
        return ["devices": .integer(devices), "tests": JSONValue(DisplayText.testDevices(tests))]
    }
}

/// How many devices run the newest revision.
struct ProfileAdoption {
    var devices = 0
    var upToDate = 0

    /// - Parameter items: of the API's adoption.
    init(_ items: [JSONValue]) {
        for item in items {
            let count = Int(item["devices"].integer ?? 0)
            devices.addSaturating(count)
            if item["revision"] != .null, item["revision"] == item["newestRevision"] {
                upToDate.addSaturating(count)
            }
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

enum ProfileChange {
    /// Changes of the API for the template `changes`.
    static func views(_ changes: JSONValue) -> JSONValue {
        .array(
            changes.items.map { change in
                let place = place(change)
                return [
                    "field": .text(place.isEmpty ? "the whole profile" : place.joined(separator: ".")),
                    "from": Self.text(change["from"]), "to": Self.text(change["to"]),
                ]
            })
    }

    /// The names on the way to what changed; none for the whole profile.
    static func place(_ change: JSONValue) -> [String] {
        (change["path"].text ?? "").dropFirst().split(separator: "/").map {
            String($0.replacing("~1", with: "/").replacing("~0", with: "~"))
        }
    }

    /// - Returns: null for what is absent. An empty text or list is something.
    private static func text(_ value: JSONValue) -> JSONValue {
        switch value {
        case .null: .null
        case .text(let text): .text(text.isEmpty ? "\"\"" : text)
        default: .text(value.prettyText)
        }
    }
}
