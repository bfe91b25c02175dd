import CollectorStore
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import WireModel

/// Finds the route, checks who asks before anything of the body is read, and turns every error into a problem.
package struct CollectorResponder: HTTPResponder {
    package typealias Context = CollectorRequestContext

    package var routes: [Route] { table.routes }
    private let table: RouteTable
    private let registry: MetadataService
    private let certificates: DeviceCertificates
    private let identity: CollectorIdentity
    private let metrics: CollectorMetrics
    private let rate: RequestRate<DeviceID>
    private let peers = PeerLimits()
    /// Requests of people that are worked on.
    private let shares: RequestShares
    private let people: PeopleExecutor
    /// In the order of the routes.
    private let requests: [RequestMetrics]
    /// Of requests that are no route's.
    private let strays: RequestMetrics
    private let clock: @Sendable () -> Int64
    private let finish = AnswerFinish()

    init(
        routes: [Route], registry: MetadataService, certificates: DeviceCertificates, identity: CollectorIdentity,
        metrics: CollectorMetrics, rate: RequestRate<DeviceID>, shares: RequestShares, people: PeopleExecutor,
        clock: @escaping @Sendable () -> Int64
    ) {
        self.certificates = certificates
        table = RouteTable(routes)
        self.metrics = metrics
        self.rate = rate
        self.shares = shares
        self.people = people
        requests = routes.map { metrics.requests(of: $0.path, $0.method) }
        strays = metrics.requests(of: "none", .get)
        self.registry = registry
        self.identity = identity
        self.clock = clock
    }

    package func respond(to request: Request, context: Context) async throws -> Response {
        // A task keeps the memory that its frames once took for as long as it lives, and a connection's lives as long
        // as the connection: ten kilobytes and more for each idle device. So a request has a task of its own.
        async let response = finished(request, context)
        return await response
    }

    private func finished(_ request: Request, _ context: Context) async -> Response {
        let start = ContinuousClock.now
        let isHead = request.method == .head
        let found = table.find(isHead ? .get : request.method, request.uri.path)
        var response: Response
        var refusal: Problem?
        do {
            response = try await answer(request, found, context)
        } catch let problem as Problem {
            refusal = problem
            response = problem.response
            if problem.status == 415, request.method == .patch { response.headers[.acceptPatch] = WireNames.mergePatch }
            if problem.status == 405 {
                response.headers[.allow] = table.allowed(at: request.uri.path).joined(separator: ", ")
            }
        } catch let error as StoreError {
            (refusal, response) = Self.refusal(.ofStore(error))
        } catch is CancellationError {
            (refusal, response) = Self.refusal(.storeUnavailable("The collector is shutting down."))
        } catch let full as IngestBudget.Full {
            (refusal, response) = Self.refusal(.ofFull(full))
        } catch {
            log(error, of: request, context)
            (refusal, response) = Self.refusal(.internalFault)
        }
        if isHead { response = response.withoutBody }
        if let refusal { metrics.refused(refusal.code) }
        let counted = if case .route(let number, _) = found { requests[number] } else { strays }
        counted.answered(response.status.code, after: ContinuousClock.now - start)
        identity.add(to: &response.headers)
        if response.status.code >= 400 { logRefusal(response.status.code, refusal, of: request, context) }
        return response
    }

    /// One line, where the client's address has not had too many; a path as long as a header may be is cut.
    private func logRefusal(_ status: Int, _ problem: Problem?, of request: Request, _ context: Context) {
        let peer = context.peer
        guard let unlogged = peers.line(peer, at: Uptime.microseconds()) else { return }
        var metadata: Logger.Metadata = [
            "http.method": "\(request.method)",
            "http.path": "\(String(request.uri.path.prefix(Self.loggedPathCharacters)))",
            "http.status": "\(status)",
        ]
        if let problem { metadata["problem.code"] = "\(problem.code)" }
        if let cause = problem?.cause { metadata["error"] = "\(cause)" }
        if let peer { metadata["peer.address"] = "\(peer)" }
        if unlogged > 0 { metadata["requests.unlogged"] = "\(unlogged)" }
        context.logger.log(level: problem?.cause == nil ? .info : .error, "request refused", metadata: metadata)
    }

    private static let loggedPathCharacters = 256

    /// One line a minute, for the device asks again by itself.
    private func logRefusedCertificate(of device: DeviceID, _ problem: Problem, _ context: Context) {
        guard let unlogged = peers.certificateLine(device, at: Uptime.microseconds()) else { return }
        var metadata: Logger.Metadata = ["device.id": "\(device)", "problem.code": "\(problem.code)"]
        if unlogged > 0 { metadata["requests.unlogged"] = "\(unlogged)" }
        context.logger.warning("a device's certificate is refused", metadata: metadata)
    }

    private func log(_ error: any Error, of request: Request, _ context: Context) {
        context.logger.error(
            "request failed",
            metadata: ["http.method": "\(request.method)", "http.path": "\(request.uri.path)", "error": "\(error)"])
    }

    private static func refusal(_ problem: Problem) -> (Problem?, Response) { (problem, problem.response) }

    private func answer(_ request: Request, _ found: RouteTable.Found, _ context: Context) async throws -> Response {
        guard case .route(let number, let parameters) = found else {
            if case .otherMethod = found {
                throw Problem.methodNotAllowed(request.method.rawValue, allowed: table.allowed(at: request.uri.path))
            }
            throw Problem.notFound("This collector has no such route.")
        }
        if let coding = request.headers[.transferEncoding],
            coding.trimmingCharacters(in: .whitespaces).lowercased() != "chunked"
        {
            throw Problem.unsupportedTransferCoding
        }
        let route = routes[number]
        let now = clock()
        let sender: Exchange.Sender
        do { sender = try await authenticate(request, context, for: route.access, at: now) } catch let problem
            as Problem
            where problem.status == 401 && request.headers[.authorization] != nil
        {
            guard let wait = peers.failed(context.peer, at: Uptime.microseconds()) else { throw problem }
            throw Problem.tooManyFailures(wait: wait)
        }
        if case .device(let device) = sender, let wait = rate.admit(device.id, at: Uptime.microseconds()) {
            throw Problem.busy("This device asks more often than the collector answers one. Wait.", wait: wait)
        }
        for (name, value) in parameters where value.hasControlCharacters {
            throw Problem.invalidParameter(name, "has control characters.")
        }
        let exchange = Exchange(request: request, parameters: parameters, sender: sender, now: now)
        guard case .person = sender else {
            return try await finish.finish(try await route.handle(exchange), to: request)
        }
        let place = try exchange.takePlace(in: shares, for: "requests")
        defer { place.giveBack() }
        return try await withTaskExecutorPreference(people) {
            people.finishing(try await finish.finish(try await route.handle(exchange), to: request))
        }
    }

    private func authenticate(
        _ request: Request, _ context: Context, for access: Route.Access, at now: Int64
    ) async throws -> Exchange.Sender {
        switch access {
        case .anyone: return .anyone
        case .enrollmentToken:
            let token = try Self.bearer(of: request)
            do throws(EnrollError) { try await registry.checkEnrollmentToken(token) } catch {
                throw Problem.ofEnrollment(error)
            }
            return .bearer(token)
        case .device:
            return .device(try await device(credential: Self.bearer(of: request), context, at: now))
        case .person(let least):
            guard let person = try await registry.authenticatePerson(token: Self.bearer(of: request)) else {
                throw Problem.tokenUnknown
            }
            guard person.role >= least else {
                throw Problem.forbidden("This needs the role \(least); the token has the role \(person.role).")
            }
            return .person(person)
        }
    }

    /// By its credential, and by what it showed in its handshake.
    private func device(credential: String, _ context: Context, at now: Int64) async throws -> DeviceRow {
        let verdict = try await certificateCheck(context, at: now)
        switch try await registry.authenticateDevice(credential: credential, admits: { verdict($0).isAdmission }) {
        case .device(let device):
            switch verdict(device) {
            case .admitted: break
            case .admittedAnew(let fingerprint): try await registry.noteCertificateUse(fingerprint, device: device.id)
            case .refused(let problem):
                logRefusedCertificate(of: device.id, problem, context)
                throw problem
            }
            return device
        case .unknown: throw Problem.credentialUnknown
        case .revoked: throw Problem.revoked
        case .left: throw Problem.left
        }
    }

    private func certificateCheck(_ context: Context, at now: Int64) async throws
        -> @Sendable (DeviceRow) -> CertificateVerdict
    {
        let isRequired: Bool
        switch certificates {
        case .off: return { _ in .admitted }
        case .optional: isRequired = false
        case .required: isRequired = true
        }
        let shown = try await context.shownCertificate()
        return { CertificateVerdict(isRequired: isRequired, shown: shown, device: $0, at: now) }
    }

    /// The token behind `Authorization: Bearer`, at most 512 characters.
    private static func bearer(of request: Request) throws -> String {
        guard let field = request.headers[.authorization] else { throw Problem.credentialMissing }
        let words = field.split(separator: " ", omittingEmptySubsequences: true)
        guard words.count == 2, words[0].lowercased() == "bearer", words[1].utf8.count <= 512 else {
            throw Problem.credentialMissing
        }
        return String(words[1])
    }
}

extension Response {
    /// As HEAD is answered: the header that GET has, and nothing behind it.
    fileprivate var withoutBody: Response {
        var response = self
        let length = headers[.contentLength]
        response.body = ResponseBody { writer in try await writer.finish(nil) }
        response.headers[.contentLength] = length
        return response
    }
}

/// A request's context with its connection, for what only that knows.
package struct CollectorRequestContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    private let channel: any Channel

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// Where the connection comes from, as limits and log lines have it; `nil`: unknown.
    var peer: String? { PeerLimits.name(of: channel.remoteAddress) }

    /// The certificate that the client showed and the TLS library found good; `nil`: none, or a connection without TLS.
    func shownCertificate() async throws -> ShownCertificate? {
        let shown = try await channel.eventLoop.submit { [channel] in
            try (try? channel.pipeline.syncOperations.nioSSL_peerCertificate())?.toDERBytes()
        }.get()
        return shown.map { ShownCertificate(der: $0) }
    }
}

/// Threads of their own for what people and scripts ask: reading their JSON, computing over records, compressing
/// answers.
///
/// Swift's own threads, one for each core, then stay free for devices and for `/livez`, however much people ask for at
/// a time. The system shares the cores between both.
package final class PeopleExecutor: TaskExecutor {
    private let pool: NIOThreadPool

    package static let shared = PeopleExecutor(threads: System.coreCount)

    package init(threads: Int) {
        pool = NIOThreadPool(numberOfThreads: max(1, threads))
        pool.start()
    }

    deinit {
        pool.shutdownGracefully { _ in }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // Also where the pool has ended: a job that is not run is a task that never returns.
        pool.submit { [self] _ in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// An answer whose body is made here too, piece by piece.
    func finishing(_ response: Response) -> Response {
        // A body whose length is known is in memory already.
        guard response.body.contentLength == nil else { return response }
        let body = response.body
        var response = response
        response.body = ResponseBody { [self] writer in
            try await withTaskExecutorPreference(self) { try await body.write(writer) }
        }
        return response
    }
}
