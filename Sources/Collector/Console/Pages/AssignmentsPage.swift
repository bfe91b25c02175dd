import CollectorAPI
import JSON
import WireModel

/// The applications that an organization assigned to its devices, and the groups of devices that have them.
struct AssignmentsPage: ConsolePage {
    let path = "/organizations/{organization}/assignments"

    /// Empty rows at the end of each list of the form.
    private static let spareRows = 3

    func view(_ visit: Visit) async throws -> Answer {
        let organization = visit.parameter("organization")
        let newest = try await list(visit)
        let isRefused = visit.form["action"] == "save"
        let shown = isRefused ? try Self.list(from: visit.form) : newest?.answer ?? AssignmentsView()
        let spare = Array(repeating: JSONValue.object([:]), count: Self.spareRows)
        return .view(
            View(
                "assignments", title: "Assignments of \(organization)",
                [
                    "organization": .text(organization),
                    "list": .of(newest?.answer),
                    "tag": JSONValue(isRefused ? visit.form["tag"] : newest?.entityTag),
                    "isRefused": .boolean(isRefused),
                    "applicationRows": .array(shown.applications.map { .of($0) } + spare),
                    "groupRows": .array(shown.groups.map(Self.row) + spare),
                ]))
    }

    func perform(_ action: String, _ visit: Visit) async throws -> Outcome? {
        guard action == "save" else { return nil }
        let body = Self.body(of: try Self.list(from: visit.form))
        try await visit.api.call(
            .putAssignments(visit.parameter("organization")), body: body, ifMatch: visit.form.text("tag"))
        return .done("The list is saved. Devices learn of it when they ask the next time.", at: visit.path)
    }

    /// The newest list and its tag; `nil` if the organization has none yet.
    private func list(_ visit: Visit) async throws -> (answer: AssignmentsView, entityTag: String?)? {
        // Whether the organization is there: without a list the API answers 404 for both.
        let organization = visit.parameter("organization")
        try await visit.api.call(.getOrganization(organization))
        do { return try await visit.api.tagged(.getAssignments(organization)) } catch let problem as Problem
            where problem.status == 404
        { return nil }
    }

    /// A group as the form shows it: with its devices in one text.
    private static func row(_ group: AssignmentsView.Group) -> JSONValue {
        ["name": .text(group.name), "text": .text(group.devices.joined(separator: "\n"))]
    }

    /// The list that the form has. Rows without a name are left out.
    private static func list(from form: FormFields) throws(Problem) -> AssignmentsView {
        let (applications, groups) = (form.all("application"), form.all("group"))
        let (names, devices) = (form.all("groupName"), form.all("groupDevices"))
        guard applications.count == groups.count, names.count == devices.count else {
            throw .field("The list", "has more rows than a form can have. Use PUT /api/v1/assignments for it.")
        }
        func trimmed(_ text: String) -> String { FormFields([("", text)]).text("") ?? "" }
        var list = AssignmentsView()
        for (application, group) in zip(applications, groups) {
            let (application, group) = (trimmed(application), trimmed(group))
            guard !application.isEmpty else { continue }
            list.applications.append(.init(application: application, group: group.isEmpty ? nil : group))
        }
        for (name, devices) in zip(names, devices) {
            let (name, ids) = (trimmed(name), devices.split { $0.isWhitespace || $0 == "," }.map(String.init))
            guard !name.isEmpty || !ids.isEmpty else { continue }
            list.groups.append(.init(name: name, devices: ids))
        }
        return list
    }

    /// The list as the API accepts it.
    private static func body(of list: AssignmentsView) -> JSONValue {
        [
            "applications": .array(
                list.applications.map { entry in
                    var members: [String: JSONValue] = ["application": .text(entry.application)]
                    if let group = entry.group { members["group"] = .text(group) }
                    return .object(members)
                }),
            "groups": .of(list.groups),
        ]
    }
}
