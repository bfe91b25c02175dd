import CollectorAPI
import Foundation
import HTTPTypes
import Hummingbird
import JSON
import LogArchive
import Logging
import RecordViews
import Registry
import SwiftProtobuf
import TelemetryBasics
import WireModel

/// Commands for devices. Viewers see them. Operators request, cancel and end all but a wipe, and administrators also a
/// wipe.
struct CommandRoutes: RouteGroup {
    let shared: RouteContext
    static let bodyBytes = 32 * 1024
    static let keyBytes = 1...255
    /// The most uploads of one request for logs. A device needs one.
    static let maximumUploads = 100

    func add(to router: CollectorRouter) {
        router.people(.viewer)
            .get("/api/v1/device-commands", use: listAll)
            .get("/api/v1/devices/{device}/commands", use: list)
            .get("/api/v1/devices/{device}/commands/{command}", use: get)
        router.people(.operator)
            .post("/api/v1/devices/{device}/commands", use: issue)
            .delete("/api/v1/devices/{device}/commands/{command}", use: end)
    }

    private func list(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: ["limit", "cursor"])
        let device = try await knownDevice(context)
        let cursor = try query.cursor()
        var position: CommandPosition?
        if let cursor {
            position = cursor.before.flatMap(CommandPosition.init(text:))
            guard cursor.device == device.id, position != nil else {
                throw Problem.invalidParameter("cursor", "belongs to another list.")
            }
        }
        let page = try await metadata.commands(of: device.id, below: position, limit: try query.limit())
        var items: [CommandView] = []
        for row in page.rows { items.append(try await view(row, now: context.now)) }
        return try Page(items: items, next: page.next.map { PageCursor(device: device.id, before: $0.text).text })
            .response()
    }

    private func listAll(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: ["kind", "limit", "cursor"])
        let kind = try query.choice("kind", CommandDocument.kindNames.map { ($0, $0) })
        let page = try await metadata.commands(
            organization: context.person.organization, kind: kind, below: try query.numberCursor(),
            limit: try query.limit())
        let names = try await metadata.names(of: Set(page.rows.map(\.device)))
        var items: [CommandView] = []
        for row in page.rows {
            var item = try await view(row, now: context.now)
            item.deviceName = names[row.device]
            items.append(item)
        }
        return try Page(items: items, next: page.next.map(NumberCursor.text)).response()
    }

    private func get(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let device = try await knownDevice(context)
        guard let id = CommandID(try context.parameter("command")),
            let row = try await metadata.command(id, of: device.id)
        else { throw Problem.noCommand }
        return try await view(row, now: context.now).response()
    }

    /// Includes the uploads of a request for logs.
    private func view(_ row: CommandRow, now: Int64) async throws -> CommandView {
        var view = try CommandView(row, now: now)
        if case .requestLogs = row.command.action {
            view.uploads = try await metadata.uploads(
                of: row.device, command: row.id, limit: Self.maximumUploads
            ).map(UploadView.init)
        }
        return view
    }

    private func issue(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let device = try await knownDevice(context)
        let person = context.person
        let key = try Self.idempotencyKey(of: request)
        return try await reader.read(request, context, limit: .json(Self.bodyBytes)) { body in
            let document = try CommandDocument(body, now: context.now)
            guard person.role >= document.role else {
                throw Problem.forbidden(
                    "A wipe needs the role \(document.role); the token has the role \(person.role).")
            }
            if case .cancel(let cancel) = document.action {
                let needed = try await role(toEnd: CommandID(cancel.commandID), of: device.id)
                guard person.role >= needed else {
                    throw Problem.forbidden(
                        "Cancelling this command needs the role \(needed); the token has the role \(person.role).")
                }
            }
            let new = NewCommand(
                device: device.id, action: document.action, expires: document.expires, issuer: AuditActor(person),
                idempotencyKey: key, request: body)
            let issued = try await metadata.issue(new, organization: person.organization)
            let view = try await view(issued.row, now: context.now)
            if issued.isNew {
                logger.notice(
                    "command issued",
                    metadata: [
                        "device.id": "\(device.id)", "command.id": "\(view.id)",
                        "command.kind": "\(view.kind)", "person": "\(person.name)",
                    ])
            }
            var response = try view.response(status: issued.isNew ? .created : .ok)
            response.headers[.location] = "/api/v1/devices/\(device.id)/commands/\(view.id)"
            return response
        }
    }

    /// Ends a command at the collector, whether or not its device ever asks for it.
    private func end(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let (device, person) = (try await knownDevice(context), context.person)
        guard let id = CommandID(try context.parameter("command")) else { throw Problem.noCommand }
        let needed = try await role(toEnd: id, of: device.id)
        guard person.role >= needed else {
            throw Problem.forbidden(
                "Ending this command needs the role \(needed); the token has the role \(person.role).")
        }
        guard let row = try await metadata.endCommand(id, of: device, by: AuditActor(person)) else {
            throw Problem.noCommand
        }
        logger.notice(
            "command ended",
            metadata: ["device.id": "\(device.id)", "command.id": "\(id)", "person": "\(person.name)"])
        return try await view(row, now: context.now).response()
    }

    /// The role that may end a command is the role that may request it. To end a cancellation lets the command before
    /// go on, so it asks for the role of that one. Each command names an older one, so the chain ends.
    private func role(toEnd command: CommandID?, of device: DeviceID) async throws -> PersonRole {
        var (role, next) = (PersonRole.operator, command)
        while let id = next, let action = try await metadata.command(id, of: device)?.command.action {
            role = max(role, action.role)
            next = nil
            if case .cancel(let before) = action { next = CommandID(before.commandID) }
        }
        return role
    }
}

extension CommandRoutes {
    static func idempotencyKey(of request: Request) throws(Problem) -> String? {
        guard let key = request.headers[.idempotencyKey] else { return nil }
        guard keyBytes.contains(key.utf8.count) else {
            throw .malformed("Idempotency-Key has \(key.utf8.count) bytes; expected 1 to \(keyBytes.upperBound).")
        }
        return key
    }
}

extension CommandPosition {
    fileprivate var text: String { "\(created).\(id)" }

    fileprivate init?(text: String) {
        let parts = text.split(separator: ".")
        guard parts.count == 2, let created = Int64(parts[0]), let id = CommandID(String(parts[1])) else { return nil }
        self.init(created: created, id: id)
    }
}

extension HTTPField.Name {
    static let idempotencyKey = known("Idempotency-Key")
    static let acceptPatch = known("Accept-Patch")
}

extension Problem {
    static let noDevice = Problem.notFound("Your organization has no such device.")
    static let noCommand = Problem.notFound("The device has no such command.")

    static let deviceWithoutAgent = Problem(
        status: 409, code: .deviceWithoutAgent, title: "Device without an agent",
        detail:
            "This device is a resource of OTLP. Its program sends records and asks for nothing, so no command, wipe or "
            + "do-not-disturb reaches it. To stop its records, revoke the device or its token.",
        scope: .device)

    static let deviceLeft = Problem(
        status: 409, code: .deviceLeft, title: "Device has left",
        detail: "The device has unenrolled or was revoked. It receives nothing until it enrolls again.",
        scope: .device)

    static func ofCommand(_ error: IssueError) -> Problem {
        switch error {
        case .unknownDevice: noDevice
        case .deviceLeft: deviceLeft
        case .deviceWithoutAgent: deviceWithoutAgent
        case .unknownCommand: invalidField("arguments.command", "is not a command of this device.")
        case .tooMany(let limit):
            Problem(
                status: 409, code: .tooManyCommands, title: "Too many commands",
                detail:
                    "The limit of waiting commands is reached, for this device (\(limit)) or for its organization. "
                    + "Wait until some end or expire, or end some that wait.",
                retryable: true, scope: .device, limit: limit)
        case .keyUsed: idempotencyKeyUsed("command")
        case .store(let error): ofStore(error)
        }
    }
}

extension Problem {
    /// - Parameter what: is made once for each key.
    static func idempotencyKeyUsed(_ what: String) -> Problem {
        Problem(
            status: 422, code: .idempotencyKeyUsed, title: "Idempotency key used",
            detail: "This Idempotency-Key was used for another \(what). Use a new key for each \(what).", scope: .record
        )
    }
}

extension CommandView {
    init(_ row: CommandRow, now: Int64) throws {
        self.init()
        id = row.id?.description ?? ""
        device = row.device.description
        issuedAt = Timestamp.text(row.created)
        issuedBy = row.issuer
        expiresAt = Timestamp.text(row.expires)
        state = EnumName.commandState.name(row.state(at: now))
        progress = Double(row.status.progress) / 10_000
        detail = row.status.detail.isEmpty ? nil : row.status.detail
        updatedAt = row.updated.map(Timestamp.text)
        kind = row.command.action?.kind ?? "unknown"
        arguments = CommandArguments(row.command.action)
        deviceInformation = try row.status.information.map(MessageView.json)
        wipeCertificate = try row.status.certificate.map { try WipeCertificateView($0) }
    }
}

extension CommandArguments {
    init(_ action: WireCommand.OneOf_Action?) {
        self.init()
        switch action {
        case .requestLogs(let request):
            mode = EnumName.mode.name(request.mode)
            application = request.application.isEmpty ? nil : request.application
            type = EnumName.logType.name(request.type)
            level = EnumName.logLevel.name(request.level)
            includeVerboseRing = request.includeVerboseRing
            since = request.hasSince ? Timestamp.text(request.since) : nil
            until = request.hasUntil ? Timestamp.text(request.until) : nil
            captureSeconds = request.captureSeconds > 0 ? Int(request.captureSeconds) : nil
            maximumBytes = request.maximumBytes > 0 ? Int(clamping: request.maximumBytes) : nil
            categories = request.categories.isEmpty ? nil : request.categories
            text = request.text.isEmpty ? nil : request.text
        case .cancel(let cancel): command = CommandID(cancel.commandID)?.description ?? ""
        case .sendBeacon, .queryDeviceInformation, .reloadProfile, nil: break
        case .changeLogLevel(let change):
            level = EnumName.logLevel.name(change.level)
            durationSeconds = Int(change.durationSeconds)
            application = change.application.isEmpty ? nil : change.application
        case .wipe(let wipe): reason = wipe.reason.isEmpty ? nil : wipe.reason
        case .enterpriseWipe(let wipe): reason = wipe.reason.isEmpty ? nil : wipe.reason
        case .message(let message):
            text = message.text.isEmpty ? nil : message.text
            payload = message.payload.isEmpty ? nil : message.payload.base64EncodedString()
            contentType = message.contentType.isEmpty ? nil : message.contentType
        }
    }
}
