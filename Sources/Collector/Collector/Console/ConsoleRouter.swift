import CollectorAPI
import Console
import Foundation
import Gzip
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Registry
import WireModel

/// Serves the web console: its assets, the sign-in, and its pages to people with a session.
///
/// A page reaches data only through the collector's API, in the same process and with the rights of the session's
/// token. A form is accepted only with the session's form token and from the console's own pages, so another site
/// cannot send one in a person's name (CSRF).
struct ConsoleRouter {
    /// The most bytes of a form. The largest profile as JSON needs a quarter.
    private static let formBytes = 1024 * 1024
    private static let signInBytes = 4096

    let console: Console
    let api: RouterResponder<CollectorRequestContext>
    let metadata: MetadataService
    let reader: BodyReader
    let peers: PeerLimits
    let people: PeopleExecutor
    let servesTLS: Bool
    let logger: Logger
    private let repeats = FormRepeats()

    func responder(
        telemetry: RequestTelemetry, metrics: CollectorMetrics, clock: @escaping @Sendable () -> Int64
    ) -> RouterResponder<CollectorRequestContext> {
        let (router, table) = (Router(context: CollectorRequestContext.self), RouteTable())
        router.addMiddleware {
            telemetry
            ConsoleHeaders()
            AnswerFinish()
            RefusalMiddleware(table: table, peers: peers, metrics: metrics) { page(about: $0, $1, $2) }
        }
        let anyone = router.group().add(middleware: RequestCheck(clock: clock))
        let open = AccessGroup(access: .anyone, group: anyone, table: table)
        open.get("/assets/{file}", use: asset).get("/sign-in", use: askForToken).post("/sign-in", use: signIn)
        let signedIn = AccessGroup(
            access: .person(.viewer),
            group: anyone.group().add(middleware: Authentication { request, _ in try await session(request) }).group(
                context: PersonContext.self), table: table)
        signedIn.post("/sign-out", use: signOut).post("/choose-organization", use: chooseOrganization)
            .get("/data/**", use: data)
            .get("/live", use: LiveRoutes(metadata: metadata).stream)
        for pattern in console.paths {
            let path = RouterPath(pattern)
            signedIn.get(path) { request, context in
                try await withTaskExecutorPreference(people.lane(of: context.person.organization)) {
                    let visit = visit(pattern, request, context)
                    return recorded(try await console.answer(pattern, visit), visit, request)
                }
            }
            signedIn.post(path) { request, context in
                try await reader.read(request, context, limit: .form(Self.formBytes)) { body in
                    try await withTaskExecutorPreference(people.lane(of: context.person.organization)) {
                        let visit = visit(pattern, request, context, form: FormFields(encoded: String(utf8: body)))
                        do throws(Problem) { try checkOrigin(of: request, visit) } catch {
                            guard Self.isOwn(request) else { throw error }
                            // The session is another one than that of the form. What was filled in stays.
                            return response(try await console.refuseForm(pattern, visit, error))
                        }
                        guard let key = visit.formKey else { throw Problem.foreignForm }
                        let answer = try await repeats.answer(key) {
                            try await console.answerForm(pattern, visit)
                        }
                        return recorded(answer, visit, request)
                    }
                }
            }
        }
        return router.buildResponder()
    }

    // MARK: Assets

    private func asset(_ request: Request, _ context: CollectorRequestContext) async throws -> Response {
        guard let file = console.assets.files[try context.parameter("file")] else {
            throw Problem.notFound("The console has no such file.")
        }
        var response = Response(
            status: .ok, headers: [.contentType: file.contentType, .vary: "Accept-Encoding"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: request.acceptsGzip ? file.compressed : file.bytes)))
        if request.acceptsGzip { response.headers[.contentEncoding] = "gzip" }
        // Pages name the version of the file they need, so a browser never has to ask for it again.
        if request.uri.query != nil { response.headers[.cacheControl] = "public, max-age=31536000, immutable" }
        return response
    }

    // MARK: Sessions

    private func session(_ request: Request) async throws -> Person {
        guard let cookie = SessionCookie(of: request),
            let person = try await metadata.authenticateSession(cookie.secret)
        else { throw Problem.signedOut }
        let chosen = SessionCookie.value(of: Self.organizationCookie, in: request, maximumBytes: 63)
        guard let chosen, person.organization == nil else { return person }
        return try await metadata.narrowed(person, to: chosen) ?? person
    }

    /// The organization at which somebody of all organizations looks.
    private static let organizationCookie = "ws1_organization"

    /// Looks at one organization from now on, or at all of them.
    private func chooseOrganization(_ request: Request, _ context: PersonContext) async throws -> Response {
        let form = try await reader.read(request, context, limit: .form(Self.signInBytes)) { body in
            FormFields(encoded: String(utf8: body))
        }
        try checkOrigin(of: request, visit("/choose-organization", request, context, form: form))
        let chosen = form["organization"] ?? ""
        // Only the name of an organization gets into the field; and whoever sees one only has nothing to choose.
        let isThere = try await metadata.organizations().contains { $0.name == chosen }
        var response = Response(status: .seeOther, headers: [.location: request.consoleBase + "/"])
        response.headers[.setCookie] = SessionCookie.field(
            Self.organizationCookie, isThere ? chosen : "", for: request,
            maximumAge: isThere ? MetadataService.sessionSeconds : 0,
            isSecure: servesTLS || request.isForwardedFromTLS)
        return response
    }

    private func askForToken(_ request: Request, _: CollectorRequestContext) async throws -> Response {
        try await askForToken(request, next: Self.next(FormFields(encoded: request.uri.query ?? "")["next"]))
    }

    /// - Parameter problem: why an attempt failed.
    private func askForToken(_ request: Request, next: String, problem: Problem? = nil) async throws -> Response {
        var present: Person?
        if let cookie = SessionCookie(of: request) { present = try await metadata.authenticateSession(cookie.secret) }
        return response(
            console.signIn(
                next: next, present: present?.name, problem: problem, base: request.consoleBase))
    }

    private func signIn(_ request: Request, _ context: CollectorRequestContext) async throws -> Response {
        try BodyReader.checkMediaType(request, WireNames.form)
        try BodyReader.checkLength(request, limit: Self.signInBytes)
        let body = try await request.body.collect(upTo: Self.signInBytes)
        let form = FormFields(encoded: String(buffer: body))
        let next = Self.next(form["next"])
        guard Self.isOwn(request), let session = try await newSession(form) else {
            return try await refuseSignIn(request, context, form)
        }
        logger.notice("signed in", metadata: ["person": "\(session.person.name)"])
        var response = Response(status: .seeOther, headers: [.location: request.consoleBase + next])
        response.headers[.setCookie] = SessionCookie(secret: session.secret).field(
            for: request, maximumAge: MetadataService.sessionSeconds,
            isSecure: servesTLS || request.isForwardedFromTLS)
        return response
    }

    /// A session for the token or the code of a form; `nil` for an unknown one.
    private func newSession(_ form: FormFields) async throws -> (secret: String, person: Person)? {
        func text(_ field: String) -> String {
            (form[field] ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
        }
        let (token, code) = (text("token"), text("code"))
        guard max(token.utf8.count, code.utf8.count) <= 512 else { return nil }
        return try await code.isEmpty ? metadata.signIn(token: token) : metadata.signIn(code: code)
    }

    private func refuseSignIn(
        _ request: Request, _ context: CollectorRequestContext, _ form: FormFields
    ) async throws -> Response {
        let problem: Problem
        if let wait = peers.failed(context.peer, at: Uptime.microseconds()) {
            problem = .tooManyFailures(wait: wait)
        } else {
            problem = (form["code"] ?? "").isEmpty ? .tokenUnknown : .signInCodeUnknown
            try await metadata.recordRefusedSignIn(from: context.peer ?? "unknown")
        }
        return try await askForToken(request, next: Self.next(form["next"]), problem: problem)
    }

    private func signOut(_ request: Request, _ context: PersonContext) async throws -> Response {
        let form = try await reader.read(request, context, limit: .form(Self.signInBytes)) { body in
            FormFields(encoded: String(utf8: body))
        }
        try checkOrigin(of: request, visit("/sign-out", request, context, form: form))
        guard let cookie = SessionCookie(of: request) else { throw Problem.signedOut }
        try await metadata.signOut(cookie.secret, everywhere: form["everywhere"] != nil)
        var response = Response(status: .seeOther, headers: [.location: request.consoleBase + "/sign-in"])
        response.headers[.setCookie] = SessionCookie(secret: "").field(
            for: request, maximumAge: 0, isSecure: servesTLS || request.isForwardedFromTLS)
        return response
    }

    /// The address to go to after the sign-in: one of this console, never of another site.
    private static func next(_ text: String?) -> String {
        guard let text, text.hasPrefix("/"), !text.hasPrefix("//"), !text.contains("\\"), !text.hasControlCharacters
        else { return "/" }
        return text
    }

    // MARK: Pages

    private func visit(
        _ pattern: String, _ request: Request, _ context: PersonContext, form: FormFields = FormFields()
    ) -> Visit {
        let person = context.person
        let names = pattern.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
        let parameters = names.map { ($0, (try? context.parameter($0)) ?? "") }
        let session = SessionCookie(of: request)
        return Visit(
            path: request.uri.path, parameters: Dictionary(uniqueKeysWithValues: parameters),
            query: FormFields(encoded: request.uri.query ?? ""), form: form,
            visitor: Visitor(
                name: person.name, role: person.role, organization: person.organization,
                isNarrowed: person.isNarrowed),
            formToken: session?.newFormToken() ?? "",
            formKey: form.isEmpty ? nil : FormRepeats.key(request.uri.path, form),
            note: session.flatMap { NoteCookie(session: $0).text(of: request) }, now: context.now,
            base: request.consoleBase,
            origin: request.consoleOrigin(servesTLS: servesTLS),
            api: APIClient(InProcessAPI(api: api, person: person, context: context)))
    }

    /// An answer with what it did as a message for the next page, or without the message that it has said.
    private func recorded(_ answer: Console.Response, _ visit: Visit, _ request: Request) -> Response {
        var response = response(answer, to: visit.visitor)
        // A page that a script loads in the background is not read by a person.
        let isSaid = visit.note != nil && answer.saysNote && request.headers[.secFetchDest] ?? "document" == "document"
        if let session = SessionCookie(of: request), answer.note != nil || isSaid {
            response.headers[.setCookie] = NoteCookie(session: session).field(
                answer.note, for: request, isSecure: servesTLS || request.isForwardedFromTLS)
        }
        return response
    }

    /// - Throws: `.foreignForm` unless the form was sent by a page of this session.
    private func checkOrigin(of request: Request, _ visit: Visit) throws(Problem) {
        guard Self.isOwn(request), let session = SessionCookie(of: request),
            session.accepts(formToken: visit.form["formToken"] ?? "")
        else { throw .foreignForm }
    }

    /// Whether the browser says that a page of this console sent the request. Browsers that say nothing are old; for
    /// them the form token has to do.
    private static func isOwn(_ request: Request) -> Bool {
        switch request.headers[.secFetchSite] {
        case nil, "same-origin", "none": true
        default: false
        }
    }

    /// A file or a list of the API for the browser, with the session in place of a token. Only GET, which changes
    /// nothing.
    private func data(_ request: Request, _ context: PersonContext) async throws -> Response {
        let target = String(request.head.path?.dropFirst("/data".count) ?? "")
        guard target.hasPrefix("/api/v1/") else { throw Problem.notFound("The console has no such data.") }
        var head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: target)
        head.headerFields = request.headers
        head.headerFields[.authorization] = nil
        // The console's own middleware compresses.
        head.headerFields[.acceptEncoding] = nil
        var response = try await api.respond(
            to: Request(head: head, body: RequestBody(buffer: ByteBuffer())),
            context: CollectorRequestContext(of: context, signedIn: context.person))
        if response.headers[.contentType]?.hasPrefix(WireNames.json) != true {
            response.headers[.contentDisposition] = response.headers[.contentDisposition] ?? "attachment"
        }
        return response
    }

    /// - Parameter visitor: who is signed in, if somebody is.
    private func response(_ answer: Console.Response, to visitor: Visitor? = nil) -> Response {
        var response = Response(
            status: .init(code: answer.status), headers: [.contentType: answer.contentType],
            body: body(of: answer, to: visitor))
        for (name, value) in answer.headers {
            if let name = HTTPField.Name(name) { response.headers[name] = value }
        }
        return response
    }

    private func body(of answer: Console.Response, to visitor: Visitor?) -> ResponseBody {
        guard let rest = answer.rest else { return ResponseBody(byteBuffer: ByteBuffer(bytes: answer.body)) }
        return ResponseBody { writer in
            try await writer.write(ByteBuffer(bytes: answer.body))
            try await withTaskExecutorPreference(people.lane(of: visitor?.organization)) {
                try await rest { try await writer.write(ByteBuffer(bytes: $0)) }
            }
            try await writer.finish(nil)
        }
    }

    /// A refusal outside of a page. Somebody without a session is asked for a token.
    private func page(about problem: Problem, _ request: Request, _ context: CollectorRequestContext) -> Response {
        guard !request.uri.path.hasPrefix("/data/") else { return problem.response }
        if problem.status == 401, request.method == .get || request.method == .head {
            let next = request.uri.query.map { "\(request.uri.path)?\($0)" } ?? request.uri.path
            let query = FormFields([("next", next)]).encoded
            return Response(
                status: .seeOther,
                headers: [.location: "\(request.consoleBase)/sign-in" + (next == "/" ? "" : "?\(query)")])
        }
        var response = response(console.problem(problem, nil, base: request.consoleBase))
        if let retryAfterMs = problem.retryAfterMs { response.headers[.retryAfter] = "\((retryAfterMs + 999) / 1000)" }
        return response
    }
}

extension Problem {
    static let signedOut = Problem(
        status: 401, code: .credentialUnknown, title: "Signed out",
        detail: "The session has ended. Sign in again; nothing of the form was done.", scope: .device)

    static let signInCodeUnknown = Problem(
        status: 401, code: .credentialUnknown, title: "Link not valid",
        detail: "A link signs in once, within ten minutes. Make another one, or sign in with a token.", scope: .device)

    static let foreignForm = Problem(
        status: 403, code: .forbidden, title: "Form not accepted",
        detail: "The form was not sent by a page of this session, and nothing was done. Look at what is filled in, and "
            + "send it again.",
        scope: .device)
}

extension Console.Trouble {
    init(_ trouble: CollectorHealth.Trouble) {
        self.init(
            isGrave: trouble.kind == .notStoring, since: trouble.since, summary: trouble.summary,
            detail: trouble.detail)
    }
}

extension String {
    fileprivate init(utf8 data: Data) { self.init(decoding: data, as: UTF8.self) }
}

/// The headers that a browser needs in every answer of the console.
private struct ConsoleHeaders: RouterMiddleware {
    typealias Context = CollectorRequestContext

    /// No script, style or frame but the console's own files; nothing inline; nothing from elsewhere.
    private static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'self'; \
        form-action 'self'; frame-ancestors 'none'; base-uri 'none'
        """

    func handle(_ request: Request, context: Context, next: Next<Context>) async throws -> Response {
        var response = try await next(request, context)
        response.headers[.contentSecurityPolicy] = Self.policy
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.referrerPolicy] = "same-origin"
        response.headers[.crossOriginOpenerPolicy] = "same-origin"
        response.headers[.crossOriginResourcePolicy] = "same-origin"
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        return response
    }
}
