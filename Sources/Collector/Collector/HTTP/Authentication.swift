import CollectorAPI
import HTTPTypes
import Hummingbird
import Logging
import RecordStore
import Registry
import WireModel

/// Finds out who sends a request, before anything of its body is read.
struct Authentication: RouterMiddleware {
    typealias Context = CollectorRequestContext

    let caller: @Sendable (Request, Context) async throws -> any Caller

    func handle(_ request: Request, context: Context, next: Next<Context>) async throws -> Response {
        var context = context
        context.caller = try await caller(request, context)
        return try await next(request, context)
    }
}

/// Callers by their credentials.
struct Callers: Sendable {
    let metadata: MetadataService
    let certificates: DeviceCertificates
    let peers: PeerLimits

    func enrollment(_ request: Request, _: CollectorRequestContext) async throws -> EnrollmentToken {
        let token = try request.bearer
        try await metadata.checkEnrollmentToken(token)
        return EnrollmentToken(text: token)
    }

    func otlp(_ request: Request, _: CollectorRequestContext) async throws -> OTLPSender {
        guard request.headers[.authorization] != nil else { throw Problem.otlpTokenMissing }
        let token = try request.bearer
        do throws(EnrollError) { return try await metadata.authenticateOTLP(token: token) } catch {
            switch error {
            case .tokenUnknown: throw Problem.otlpTokenUnknown
            case .tokenExpired: throw Problem.otlpTokenExpired
            case .tokenRevoked: throw Problem.otlpTokenRevoked
            default: throw error
            }
        }
    }

    func person(_ request: Request, _ context: CollectorRequestContext, _ least: PersonRole) async throws -> Person {
        let person: Person
        if let signedIn = context.signedIn {
            person = signedIn
        } else {
            guard let known = try await metadata.authenticatePerson(token: request.bearer) else {
                throw Problem.tokenUnknown
            }
            person = known
        }
        guard person.role >= least else {
            throw Problem.forbidden("This needs the role \(least); the token has the role \(person.role).")
        }
        return try await narrowed(person, request)
    }

    /// Whoever sees all organizations may look at one: with the parameter `organization` the request is worked on as
    /// one of that organization's.
    private func narrowed(_ person: Person, _ request: Request) async throws -> Person {
        guard request.uri.query != nil,
            let named = try QueryParameters.value(QueryParameters.organization, in: request), !named.isEmpty,
            named != person.organization, !(named == QueryParameters.allOrganizations && person.organization == nil)
        else { return person }
        guard let narrowed = try await metadata.narrowed(person, to: named) else {
            throw Problem.notFound("There is no such organization, or you do not see it.")
        }
        return narrowed
    }

    /// A device by its credential, and by what it showed in its handshake.
    func device(_ request: Request, _ context: CollectorRequestContext) async throws -> DeviceRow {
        let credential = try request.bearer
        let verdict = try await certificateCheck(context)
        switch try await metadata.authenticateDevice(credential: credential, admits: { verdict($0).isAdmission }) {
        case .device(let device):
            switch verdict(device) {
            case .admitted: break
            case .admittedAnew(let fingerprint): try await metadata.recordCertificateUse(fingerprint, device: device.id)
            case .refused(let problem):
                logRefusedCertificate(of: device.id, problem, context)
                throw problem
            }
            context.origin?.authenticated(device)
            return device
        case .unknown: throw Problem.credentialUnknown
        case .revoked: throw Problem.revoked
        case .left: throw Problem.left
        }
    }

    private func certificateCheck(
        _ context: CollectorRequestContext
    ) async throws -> @Sendable (DeviceRow) -> CertificateVerdict {
        let isRequired: Bool
        switch certificates {
        case .off: return { _ in .admitted }
        case .optional: isRequired = false
        case .required: isRequired = true
        }
        let (shown, now) = (try await context.shownCertificate(), context.now)
        return { CertificateVerdict(isRequired: isRequired, shown: shown, device: $0, at: now) }
    }

    /// One line a minute, for the device asks again by itself.
    private func logRefusedCertificate(of device: DeviceID, _ problem: Problem, _ context: CollectorRequestContext) {
        guard let unlogged = peers.certificateLine(device, at: Uptime.microseconds()) else { return }
        var metadata: Logger.Metadata = ["device.id": "\(device)", "problem.code": "\(problem.code)"]
        if unlogged > 0 { metadata["requests.unlogged"] = "\(unlogged)" }
        context.logger.warning("device certificate refused", metadata: metadata)
    }
}

extension MetadataService {
    /// Somebody who sees all organizations, as one of this organization's people; `nil` if there is none of this name,
    /// or the person sees another one only.
    func narrowed(_ person: Person, to organization: String) async throws(StoreError) -> Person? {
        guard person.organization == nil, try await organizations().contains(where: { $0.name == organization })
        else { return nil }
        var narrowed = person
        (narrowed.organization, narrowed.isNarrowed) = (organization, true)
        return narrowed
    }
}

extension Request {
    /// The token behind `Authorization: Bearer`, at most 512 characters.
    fileprivate var bearer: String {
        get throws {
            guard let field = headers[.authorization] else { throw Problem.credentialMissing }
            let words = field.split(separator: " ", omittingEmptySubsequences: true)
            guard words.count == 2, words[0].lowercased() == "bearer", words[1].utf8.count <= 512 else {
                throw Problem.credentialMissing
            }
            return String(words[1])
        }
    }
}
