import CollectorAPI
import Foundation
import HTTPTypes
import Hummingbird
import LogArchive
import Logging
import Registry
import WireModel

/// Devices as people see them, and the actions of administrators.
struct DeviceRoutes: RouteGroup {
    let shared: RouteContext
    /// A device's connection to the message broker; `nil` if none is known.
    let brokerConnection: @Sendable (DeviceID) -> BrokerConnectionView?

    func add(to router: CollectorRouter) {
        router.people(.viewer)
            .get("/api/v1/devices", use: list)
            .get("/api/v1/devices/facets", use: facets)
            .get("/api/v1/devices/{device}", use: get)
        router.people(.administrator)
            .delete("/api/v1/devices/{device}", use: delete)
            .post("/api/v1/devices/{device}/revoke", use: revoke)
            .post("/api/v1/devices/{device}/reinstate", use: reinstate)
            .post("/api/v1/devices/{device}/predecessor", use: setPredecessor)
    }

    private func list(_ request: Request, _ context: PersonContext) async throws -> Response {
        let parameters = try QueryParameters(request, known: DeviceQuery.filters.union(["sort", "limit", "cursor"]))
        guard let query = try DeviceQuery(parameters, of: context.person) else {
            return try Page<DeviceView>(items: [], next: nil, total: 0).response()
        }
        var position: DevicePosition?
        if let text = parameters.text("cursor") {
            guard let cursor = DeviceCursor(text), cursor.sort == query.sort, cursor.isDescending == query.isDescending
            else {
                throw Problem.invalidParameter("cursor", "was not given by this collector for this order.")
            }
            position = cursor.position
        }
        let list = try await metadata.devices(query, after: position, limit: try parameters.limit())
        let role = context.person.role
        return try Page(
            items: try list.devices.map { try DeviceView($0, for: role, now: context.now) },
            next: list.next.map { DeviceCursor($0, of: query).text }, total: list.total
        ).response()
    }

    private func facets(_ request: Request, _ context: PersonContext) async throws -> Response {
        let parameters = try QueryParameters(request, known: DeviceQuery.filters)
        guard let query = try DeviceQuery(parameters, of: context.person) else {
            return try DeviceFacetsView(DeviceFacets()).response()
        }
        return try DeviceFacetsView(try await metadata.deviceFacets(query)).response()
    }

    private func get(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let device = try await knownDevice(context)
        var view = try await self.view(of: device, context)
        view.location = try await NewestLocation(of: device, in: store)?.view(now: context.now)
        return try view.response()
    }

    private func answer(_ device: DeviceRow, _ context: PersonContext) async throws -> Response {
        try await view(of: device, context).response()
    }

    private func view(of device: DeviceRow, _ context: PersonContext) async throws -> DeviceView {
        var view = try DeviceView(
            device, for: context.person.role, lineage: try await metadata.lineage(of: device), now: context.now)
        view.brokerConnection = brokerConnection(device.id)
        return view
    }

    private func revoke(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        // A request for revocation alone has no body.
        guard request.headers[.contentType] != nil else {
            return try await revoke(context, closingToken: false)
        }
        return try await reader.read(request, context, limit: .json(BodyReader.fewFieldsBytes)) { body in
            var fields = try FieldReader(body: body)
            let closesToken = try fields.flag("closeEnrollmentToken") ?? false
            try fields.finish()
            return try await revoke(context, closingToken: closesToken)
        }
    }

    private func revoke(_ context: PersonContext, closingToken: Bool) async throws -> Response {
        let (id, person) = (try await knownDevice(context).id, context.person)
        let revocation: DeviceRevocation
        do throws(AdministrationError) {
            revocation = try await metadata.revokeDevice(
                id, organization: person.organization, closingToken: closingToken, by: AuditActor(person))
        } catch {
            throw Problem.ofRevocation(error)
        }
        logger.notice(
            "device revoked",
            metadata: [
                "device.id": "\(id)", "person": "\(person.name)", "token.id": "\(revocation.token?.id ?? "")",
                "token.closed": "\(closingToken)",
            ])
        var view = try DeviceView(
            revocation.device, for: person.role, lineage: try await metadata.lineage(of: revocation.device),
            now: context.now)
        view.token = revocation.token.map { TokenView($0, now: context.now) }
        return try view.response()
    }

    private func reinstate(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let (id, person) = (try await knownDevice(context).id, context.person)
        let device = try await metadata.reinstateDevice(
            id, organization: person.organization, by: AuditActor(person))
        logger.notice("device reinstated", metadata: ["device.id": "\(id)", "person": "\(person.name)"])
        return try await answer(device, context)
    }

    private func delete(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: ["confirm"])
        let (device, person) = (try await knownDevice(context), context.person)
        let logs = try await metadata.deletion(
            LogQuery(organization: person.organization, device: device.id, withTest: true))
        guard let confirmation = query.text("confirm") else {
            return try DeviceDeletionView(device, logs: logs, isDone: false).response()
        }
        guard confirmation == device.deletionConfirmation else { throw Problem.confirmationOutdated }
        try await metadata.deleteDevice(
            device.id, enrollment: device.enrollmentID, organization: person.organization, by: AuditActor(person))
        logger.notice("device deleted", metadata: ["device.id": "\(device.id)", "person": "\(person.name)"])
        return try DeviceDeletionView(device, logs: logs, isDone: true).response()
    }

    private func setPredecessor(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let (id, person) = (try await knownDevice(context).id, context.person)
        return try await reader.read(request, context, limit: .json(BodyReader.fewFieldsBytes)) { body in
            var fields = try FieldReader(body: body)
            guard fields.names.contains("device") else {
                throw Problem.invalidField("device", "is missing; null for none.")
            }
            let text = try fields.text("device")
            try fields.finish()
            let predecessor = text.flatMap { DeviceID($0) }
            guard (text == nil) == (predecessor == nil) else {
                throw Problem.invalidField("device", "is not a device id (a UUID).")
            }
            let device: DeviceRow
            do throws(AdministrationError) {
                device = try await metadata.setPredecessor(
                    predecessor, of: id, organization: person.organization, by: AuditActor(person))
            } catch {
                switch error {
                case .notFound(let detail) where error != .noDevice:
                    throw Problem.invalidField("device", "is not one of your devices: " + detail)
                case .forbidden(let detail): throw Problem.invalidField("device", "cannot be: " + detail)
                default: throw error
                }
            }
            logger.notice(
                "device's predecessor set",
                metadata: [
                    "device.id": "\(id)", "predecessor": "\(predecessor?.description ?? "")",
                    "person": "\(person.name)",
                ])
            return try await answer(device, context)
        }
    }
}

extension Problem {
    static func ofRevocation(_ error: AdministrationError) -> Problem {
        guard case .forbidden(let detail) = error else { return ofAdministration(error) }
        return invalidField("closeEnrollmentToken", "cannot be: " + detail)
    }
}

extension DeviceDeletionView {
    init(_ row: DeviceRow, logs: LogDeletion, isDone: Bool) {
        self.init()
        deleted = isDone
        device = row.id.description
        organization = row.organization
        name = row.newestName
        logChunks = logs.chunks
        logRawBytes = logs.rawBytes
        confirm = isDone ? nil : row.deletionConfirmation
    }
}

extension RouteGroup {
    /// The device in the path. A device of another organization does not exist for the caller.
    func knownDevice(_ context: PersonContext) async throws -> DeviceRow {
        guard let id = DeviceID(try context.parameter("device")),
            let device = try await metadata.device(id, organization: context.person.organization)
        else { throw Problem.noDevice }
        return device
    }
}

/// The start of the next page of a device list, and the list's order. Opaque to clients. It contains no secret and
/// grants nothing.
struct DeviceCursor: Equatable {
    var sort: DeviceQuery.Sort
    var isDescending: Bool
    var position: DevicePosition

    init(_ position: DevicePosition, of query: DeviceQuery) {
        (sort, isDescending, self.position) = (query.sort, query.isDescending, position)
    }

    /// `nil` if the text is no such cursor.
    init?(_ text: String) {
        guard let data = CursorText.data(text, maximumBytes: 1024), let plain = String(data: data, encoding: .utf8)
        else { return nil }
        // The key comes last, because a name may contain anything.
        let parts = plain.split(separator: "|", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 4, let sort = DeviceQuery.Sort(rawValue: parts[0]), let id = DeviceID(parts[2]),
            parts[1] == "a" || parts[1] == "d"
        else { return nil }
        (self.sort, isDescending) = (sort, parts[1] == "d")
        switch sort {
        case .id: position = DevicePosition(key: .none, id: id)
        case .name: position = DevicePosition(key: .text(parts[3]), id: id)
        case .lastSeen, .enrolled, .state:
            guard let number = Int64(parts[3]) else { return nil }
            position = DevicePosition(key: .number(number), id: id)
        }
    }

    var text: String {
        let key =
            switch position.key {
            case .none: ""
            case .text(let text): text
            case .number(let number): "\(number)"
            }
        return CursorText.of("\(sort.rawValue)|\(isDescending ? "d" : "a")|\(position.id)|\(key)")
    }
}
