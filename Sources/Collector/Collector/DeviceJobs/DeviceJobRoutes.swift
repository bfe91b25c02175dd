import CollectorAPI
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Registry
import WireModel

/// Actions on many devices, as jobs. Viewers see them; who may do an action on one device may do it on many.
struct DeviceJobRoutes: RouteGroup {
    let shared: RouteContext
    static let bodyBytes = 512 * 1024

    func add(to router: CollectorRouter) {
        router.people(.viewer)
            .get("/api/v1/device-jobs", use: list)
            .get("/api/v1/device-jobs/{job}", use: get)
            .get("/api/v1/device-jobs/{job}/devices", use: results)
        router.people(.operator)
            .post("/api/v1/device-jobs", use: begin)
            .post("/api/v1/device-jobs/{job}/cancel", use: cancel)
    }

    // MARK: Beginning

    private func begin(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let person = context.person
        let key = try CommandRoutes.idempotencyKey(of: request)
        return try await reader.read(request, context, limit: .json(Self.bodyBytes)) { body in
            let document = try DeviceJobDocument(body, of: person, now: context.now)
            let (actor, action) = (AuditActor(person), document.action)
            if let key, document.confirmation != nil,
                let former = try await metadata.deviceJob(key: key, request: body, of: actor)
            {
                return try response(former, status: .ok)
            }
            let selection = try await selection(document, of: person)
            guard let confirmation = document.confirmation else {
                var proposal = DeviceJobProposal()
                proposal.devices = selection.devices.count
                if proposal.devices > 0 { proposal.confirm = selection.confirmation(of: action) }
                return try proposal.response()
            }
            guard !selection.devices.isEmpty, confirmation == selection.confirmation(of: action) else {
                throw Problem.confirmationOutdated
            }
            var (organization, filter) = (person.organization, String?.none)
            if case .filter(let query, let text) = document.devices {
                (organization, filter) = (query?.organization, text)
            }
            let begun = try await metadata.begin(
                NewDeviceJob(
                    action: action, selection: selection, organization: organization, filter: filter, actor: actor,
                    idempotencyKey: key, request: body))
            guard begun.isNew else { return try response(begun.job, status: .ok) }
            logger.notice(
                "device job begun",
                metadata: [
                    "job.id": "\(begun.job.id)", "job.action": "\(action.kind.rawValue)",
                    "job.devices": "\(begun.job.devices)", "person": "\(person.name)",
                ])
            return try response(begun.job, status: .accepted)
        }
    }

    private func response(_ job: DeviceJobRow, status: HTTPResponse.Status) throws -> Response {
        var response = try DeviceJobView(job).response(status: status)
        response.headers[.location] = "/api/v1/device-jobs/\(job.id)"
        return response
    }

    private func selection(_ document: DeviceJobDocument, of person: Person) async throws -> DeviceSelection {
        switch document.devices {
        case .filter(let query?, _): return try await metadata.selection(query)
        case .filter(nil, _): return DeviceSelection([])
        case .named(let ids):
            let found = try await metadata.selection(of: Set(ids), organization: person.organization)
            let known = Set(found.devices.map(\.id))
            guard let place = ids.firstIndex(where: { !known.contains($0) }) else { return found }
            // It was there when the person was asked.
            guard document.confirmation == nil else { throw Problem.confirmationOutdated }
            throw Problem.invalidField("devices[\(place)]", "is not one of your devices.")
        }
    }

    // MARK: Asking and ending

    private func list(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: ["limit", "cursor"])
        let page = try await metadata.deviceJobs(
            organization: context.person.organization, below: try query.numberCursor(), limit: try query.limit())
        return try Page(items: try page.rows.map(DeviceJobView.init), next: page.next.map(NumberCursor.text)).response()
    }

    private func known(_ context: PersonContext) async throws -> DeviceJobRow {
        guard let id = DeviceJobID(try context.parameter("job")),
            let job = try await metadata.deviceJob(id, organization: context.person.organization)
        else { throw Problem.noDeviceJob }
        return job
    }

    private func get(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        return try DeviceJobView(try await known(context)).response()
    }

    private func results(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: ["result", "limit", "cursor"])
        let job = try await known(context)
        let outcome = try query.choice("result", DeviceJobResult.Outcome.allCases.map { ($0.name, $0) })
        var after: DeviceID?
        if let text = query.text("cursor") {
            after = CursorText.data(text, maximumBytes: 64).flatMap { String(data: $0, encoding: .utf8) }.flatMap {
                DeviceID($0)
            }
            guard after != nil else { throw Problem.invalidParameter("cursor", "is not one that this collector gave.") }
        }
        let page = try await metadata.results(of: job, outcome: outcome, after: after, limit: try query.limit())
        return try Page(
            items: page.rows.map(DeviceJobResultView.init), next: page.next.map { CursorText.of($0.description) }
        ).response()
    }

    private func cancel(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let (job, person) = (try await known(context), context.person)
        guard person.role >= job.action.role else {
            throw Problem.forbidden(
                "Cancelling this job needs the role \(job.action.role); the token has the role \(person.role).")
        }
        guard
            let ended = try await metadata.cancelDeviceJob(
                job.id, organization: person.organization, by: AuditActor(person))
        else { throw Problem.noDeviceJob }
        if job.ended == nil, ended.state == .cancelled {
            logger.notice(
                "device job cancelled", metadata: ["job.id": "\(job.id)", "person": "\(person.name)"])
        }
        return try DeviceJobView(ended).response()
    }
}

extension Problem {
    static let noDeviceJob = Problem.notFound("Your organization has no such job.")

    static func ofDeviceJob(_ error: DeviceJobError) -> Problem {
        switch error {
        case .tooMany(let limit):
            Problem(
                status: 409, code: .tooManyJobs, title: "Too many jobs",
                detail: "The limit of unfinished jobs is reached (\(limit)). Wait until one ends, or cancel one.",
                retryable: true, limit: limit)
        case .keyUsed: idempotencyKeyUsed("job")
        case .store(let error): ofStore(error)
        }
    }

    /// Why the action on one device was refused.
    static func ofDeviceJob(_ refusal: DeviceJobRefusal) -> Problem {
        switch refusal {
        case .command(let error): ofCommand(error)
        case .administration(let error): ofRevocation(error)
        case .doNotDisturb(let error): ofDoNotDisturb(error)
        case .enrolledAgain:
            Problem(
                status: 409, code: .confirmationOutdated, title: "Confirmation outdated",
                detail: "The device has enrolled again since the job began. Begin another job for it.")
        case .expired:
            Problem(
                status: 409, code: .commandExpired, title: "Command expired",
                detail: "The command expired before the job came to the device. Begin another job for it.")
        }
    }
}
