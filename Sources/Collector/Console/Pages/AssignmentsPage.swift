import JSON

/// The applications that an organization assigned to its devices, and the groups of devices that have them.
struct AssignmentsPage: Page {
    let path = "/organizations/{organization}/assignments"

    /// Empty rows at the end of each list of the form.
    private static let spareRows = 3

    func view(_ visit: Visit) async throws -> Answer {
        let organization = visit.parameter("organization")
        let newest = try await list(visit)
        let isRefused = visit.form["action"] == "save"
        let shown = isRefused ? try Self.list(from: visit.form) : newest?.value ?? .null
        let spare = Array(repeating: JSONValue.object([:]), count: Self.spareRows)
        return .view(
            View(
                "assignments", title: "Assignments of \(organization)",
                [
                    "organization": .text(organization),
                    "list": newest?.value ?? .null,
                    "tag": JSONValue(isRefused ? visit.form["tag"] : newest?.entityTag),
                    "isRefused": .boolean(isRefused),
                    "applicationRows": .array(shown["applications"].items + spare),
                    "groupRows": .array(shown["groups"].items.map(Self.row) + spare),
                ]))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        guard action == "save" else { return nil }
        let body = try Self.list(from: visit.form)
        try await visit.api.send("PUT", Self.api(visit), body: body, ifMatch: visit.form.text("tag"))
        return .done("The list is saved. Devices learn of it when they ask the next time.", at: visit.path)
    }

    private static func api(_ visit: Visit) -> String { "/api/v1/assignments/\(visit.segment("organization"))" }

    /// The newest list and its tag; `nil` if the organization has none yet.
    private func list(_ visit: Visit) async throws -> (value: JSONValue, entityTag: String?)? {
        // Whether the organization is there: without a list the API answers 404 for both.
        _ = try await visit.api.get("/api/v1/organizations/\(visit.segment("organization"))")
        do {
            return try await visit.api.answer(
                to: APIRequest(method: "GET", path: Self.api(visit), query: FormFields()))
        } catch let problem as APIProblem where problem.status == 404 { return nil }
    }

    /// A group as the form shows it: with its devices in one text.
    private static func row(_ group: JSONValue) -> JSONValue {
        let devices = group["devices"].items.compactMap(\.text)
        return group.with(["text": .text(devices.joined(separator: "\n"))])
    }

    /// The list as the API accepts it. Rows without a name are left out.
    private static func list(from form: FormFields) throws(APIProblem) -> JSONValue {
        let (applications, groups) = (form.all("application"), form.all("group"))
        let (names, devices) = (form.all("groupName"), form.all("groupDevices"))
        guard applications.count == groups.count, names.count == devices.count else {
            throw .field("The list", "has more rows than a form can have. Use PUT /api/v1/assignments for it.")
        }
        func trimmed(_ text: String) -> String { FormFields([("", text)]).text("") ?? "" }
        return [
            "applications": .array(
                zip(applications, groups).compactMap { application, group in
                    let (application, group) = (trimmed(application), trimmed(group))
                    guard !application.isEmpty else { return nil }
                    return group.isEmpty
                        ? ["application": .text(application)]
                        : ["application": .text(application), "group": .text(group)]
                }),
            "groups": .array(
                zip(names, devices).compactMap { name, devices in
                    let ids = devices.split { $0.isWhitespace || $0 == "," }.map { JSONValue.text(String($0)) }
                    let name = trimmed(name)
                    return name.isEmpty && ids.isEmpty ? nil : ["name": .text(name), "devices": .array(ids)]
                }),
        ]
    }
}
