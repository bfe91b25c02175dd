import CollectorAPI
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Registry
import TelemetryBasics
import WireModel

/// Applications assigned to devices. Viewers see an organization's list, administrators replace it, and a device asks
/// what is assigned to it.
struct AssignmentRoutes: RouteGroup {
    let shared: RouteContext
    static let bodyBytes = 1024 * 1024
    static let nameBytes = 1...255
    /// The most entries in the list, and groups.
    static let maximumEntries = 1000
    /// The most device ids in all groups together.
    static let maximumDevices = 10_000

    func add(to router: CollectorRouter) {
        router.devices.get(RouterPath(WireNames.assignmentsPath), use: assigned)
        router.people(.viewer).get("/api/v1/assignments/{organization}", use: get)
        router.people(.administrator).put("/api/v1/assignments/{organization}", use: put)
    }

    private func assigned(_ request: Request, _ context: DeviceContext) async throws -> Response {
        var answer = WireAssignmentsAnswer()
        if let row = try await metadata.assignments(organization: context.device.organization) {
            answer.listed = true
            answer.applications = row.list.applications(of: context.device.id)
        }
        return answer.response()
    }

    private func get(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        guard let row = try await metadata.assignments(organization: try organization(context)) else {
            throw Problem.noAssignments
        }
        return try answer(row)
    }

    private func put(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let (organization, person) = (try organization(context), context.person)
        return try await reader.read(request, context, limit: .json(Self.bodyBytes)) { body in
            let list = try Self.list(body)
            var expected: UInt64?
            if let field = request.headers[.ifMatch] {
                let newest = try await metadata.assignments(organization: organization)?.revision ?? 0
                guard newest > 0, RevisionTag(newest).isAmong(field) else { throw Problem.preconditionFailed(newest) }
                expected = newest
            }
            let row = try await metadata.putAssignments(
                list, organization: organization, expected: expected, by: AuditActor(person))
            logger.notice(
                "assignments changed",
                metadata: [
                    "organization": "\(organization)", "revision": "\(row.revision)", "person": "\(person.name)",
                ])
            return try answer(row)
        }
    }

    private func answer(_ row: AssignmentRow) throws -> Response {
        var response = try AssignmentsView(row).response()
        response.headers[.eTag] = RevisionTag(row.revision).text
        return response
    }

    /// The organization in the path. It must be the caller's.
    private func organization(_ context: PersonContext) throws -> String {
        let named = try context.parameter("organization")
        if let own = context.person.organization, own != named { throw Problem.noAssignments }
        return named
    }

    private static func list(_ body: Data) throws -> AssignmentList {
        var fields = try FieldReader(body: body)
        var list = AssignmentList()
        for var group in try fields.objects("groups") {
            let name = try text("name", of: &group)
            guard !list.groups.contains(where: { $0.name == name }) else {
                throw Problem.invalidField(group.place("name"), "is the name of two groups.")
            }
            let devices = try group.texts("devices").map { text in
                guard let id = DeviceID(text) else {
                    throw Problem.invalidField(
                        group.place("devices"), "has \(text), which is not a device id (a UUID).")
                }
                return id
            }
            try group.finish()
            list.groups.append(.init(name: name, devices: devices))
        }
        for var entry in try fields.objects("applications") {
            let application = try text("application", of: &entry)
            let group = try entry.text("group")
            if let group, !list.groups.contains(where: { $0.name == group }) {
                throw Problem.invalidField(entry.place("group"), "names a group that `groups` lacks.")
            }
            guard !list.applications.contains(.init(application: application, group: group)) else {
                throw Problem.invalidField(
                    entry.place("application"),
                    "is assigned twice to \(group.map { "the group \($0)" } ?? "all devices").")
            }
            try entry.finish()
            list.applications.append(.init(application: application, group: group))
        }
        try fields.finish()
        for (name, count, limit) in [
            ("groups", list.groups.count, maximumEntries), ("applications", list.applications.count, maximumEntries),
            ("groups", list.groups.reduce(0) { $0 + $1.devices.count }, maximumDevices),
        ] where count > limit {
            throw Problem.invalidField(name, "has \(count) entries; at most \(limit) are accepted.")
        }
        return list
    }

    private static func text(_ name: String, of fields: inout FieldReader) throws -> String {
        guard let text = try fields.text(name) else { throw Problem.invalidField(fields.place(name), "is missing.") }
        guard nameBytes.contains(text.utf8.count), !text.hasControlCharacters else {
            throw Problem.invalidField(
                fields.place(name), "must have 1 to \(nameBytes.upperBound) bytes without control characters.")
        }
        return text
    }
}

extension AssignmentsView {
    init(_ row: AssignmentRow) {
        self.init()
        organization = row.organization
        revision = row.revision
        changedAt = Timestamp.text(row.changed)
        groups = row.list.groups.map { Group(name: $0.name, devices: $0.devices) }
        applications = row.list.applications.map { Application(application: $0.application, group: $0.group) }
    }
}

extension Problem {
    static let noAssignments = Problem.notFound("Your organization keeps no list of assignments.")

    static func ofAssignments(_ error: AssignmentError) -> Problem {
        switch error {
        case .unknownOrganization: noAssignments
        case .notNewest(let newest): preconditionFailed(newest)
        case .store(let error): ofStore(error)
        }
    }
}
