import Collector
import CollectorAPI
import Console
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import RecordStore
import Registry
import StoreTestKit
import TestKit
import Testing
import WireModel

@Suite("The web console over HTTP") struct ConsoleRouterTests {
    private let harness: Harness

    init() throws { harness = try Self.harness() }

    /// A collector with its console.
    static func harness() throws -> Harness {
        Harness(console: Console(assets: try assets.get(), version: "1.2.3"))
    }

    /// Loaded once: to parse all templates takes longer than most tests.
    static let assets = Result {
        try Assets(
            directory: URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
                path: "../../Sources/Collector/Console/Assets"
            ).standardized.path)
    }

    static let form: HTTPFields = [.contentType: WireNames.form]

    static func cookie(_ response: TestResponse) throws -> HTTPFields {
        let field = try #require(response.headers[.setCookie])
        return [.cookie: String(field.prefix { $0 != ";" })]
    }

    static func signIn(
        _ client: any TestClientProtocol, _ token: String, _ headers: HTTPFields = [:]
    ) async throws -> TestResponse {
        let headers = Self.form + headers
        return try await client.send(
            .post, "/sign-in", headers: headers, body: Data("token=\(token)&next=/devices".utf8))
    }

    static func formToken(_ page: TestResponse) throws -> String {
        let html = String(buffer: page.body)
        return String(try #require(try #/name="formToken" value="([^"]+)"/#.firstMatch(in: html)).output.1)
    }

    @Test func `A token opens a session, and the session opens pages`() async throws {
        try await harness.route { client in
            let asked = try await client.send(.get, "/devices?q=a%20b")
            #expect(asked.status == .seeOther)
            #expect(asked.headers[.location] == "/sign-in?next=%2Fdevices%3Fq%3Da%2520b")
            let form = try await client.send(.get, "/sign-in?next=%2Fdevices%3Fq%3Da%2520b")
            #expect(String(buffer: form.body).contains(#"name="next" value="/devices?q=a%20b""#))
            let signedIn = try await Self.signIn(client, "viewer-default")
            #expect(signedIn.status == .seeOther)
            #expect(signedIn.headers[.location] == "/devices")
            let field = try #require(signedIn.headers[.setCookie])
            #expect(field.contains("; HttpOnly; SameSite=Lax"))
            #expect(!field.contains("viewer-default") && !field.contains("Secure"))
            let page = try await client.send(.get, "/devices", headers: try Self.cookie(signedIn))
            #expect(page.status == .ok)
            #expect(page.headers[.cacheControl] == "no-store")
            #expect(page.headers[.init("Content-Security-Policy")!]?.contains("default-src 'none'") == true)
        }
    }

    /// Whoever watches the collector learns of missing files; devices are served all the same.
    @Test func `Readiness says whether the console is there`() async throws {
        for (harness, console) in [(harness, "ready"), (Harness(), "missing")] {
            try await harness.route { client in
                let answer = try await client.send(.get, "/readyz")
                #expect(answer.status == .ok)
                #expect(String(buffer: answer.body) == #"{"console":"\#(console)","status":"ready"}"#)
            }
        }
    }

    @Test func `A wrong token opens nothing and is in the trail`() async throws {
        try await harness.route { client in
            for token in ["wrong", "", "enroll-default", String(repeating: "x", count: 600)] {
                let refused = try await Self.signIn(client, token)
                #expect(refused.status == .unauthorized, "\(token)")
                #expect(refused.headers[.setCookie] == nil)
            }
        }
        let rows = try await harness.metadata.audit(AuditQuery(action: .signIn), below: nil, limit: 10).rows
        #expect(rows.map(\.entry.outcome) == [.refused])
    }

    @Test(arguments: ["//elsewhere.example/", "https://elsewhere.example/", "/\\elsewhere.example", "x", ""])
    func `The redirect after the sign-in stays here`(next: String) async throws {
        try await harness.route { client in
            let body = "token=viewer-default&next=\(next.percentEncoded)"
            let response = try await client.send(.post, "/sign-in", headers: Self.form, body: Data(body.utf8))
            #expect(response.headers[.location] == "/")
        }
    }

    @Test func `Every page says that nothing is stored`() async throws {
        let reason = "0 bytes are free for /var/lib/secret."
        try await harness.route { [harness] client in
            let mine = try Self.cookie(try await Self.signIn(client, "viewer-default"))
            let all = try Self.cookie(try await Self.signIn(client, "administrator-all"))
            func page(_ path: String, _ headers: HTTPFields = [:]) async throws -> String {
                String(buffer: try await client.send(.get, path, headers: headers).body)
            }
            func about(_ bearer: String) async throws -> String {
                String(buffer: try await client.send(.get, "/api/v1/about", bearer: bearer).body)
            }
            let summary = "The collector stores nothing."
            let paths = ["/", "/devices", "/notices", "/profiles", "/about", "/sign-in", "/nowhere"]
            for path in paths { #expect(try await !page(path, mine).contains(summary), "\(path)") }
            harness.store.fail(StoreError(.diskFull, reason))
            #expect(try await client.send(.get, "/readyz").status == .serviceUnavailable)
            for path in paths { #expect(try await page(path, mine).contains(summary), "\(path)") }
            #expect(try await page("/sign-in").contains(summary))
            #expect(try await page("/", all).contains(reason))
            #expect(try await !page("/", mine).contains(reason))
            #expect(try await about("administrator-all").contains(reason))
            #expect(try await about("viewer-default").contains("not-storing"))
            #expect(try await !about("viewer-default").contains(reason))
            harness.store.fail(nil)
            #expect(try await client.send(.get, "/readyz").status == .ok)
            for path in paths { #expect(try await !page(path, mine).contains(summary), "\(path)") }
        }
    }

    @Test func `A link signs in once and never with a token`() async throws {
        try await harness.route { client in
            let made = try await client.send(.post, "/api/v1/sign-in-codes", bearer: "viewer-default")
            #expect(made.status == .created)
            let code = try #require(try made.json.text("code"))
            func signIn(_ code: String) async throws -> TestResponse {
                try await client.send(.post, "/sign-in", headers: Self.form, body: Data("code=\(code)".utf8))
            }
            let signedIn = try await signIn(code)
            #expect(signedIn.status == .seeOther)
            let page = try await client.send(.get, "/devices", headers: try Self.cookie(signedIn))
            #expect(page.status == .ok)
            for used in [code, "viewer-default"] {
                let refused = try await signIn(used)
                #expect(refused.status == .unauthorized && refused.headers[.setCookie] == nil)
                #expect(String(buffer: refused.body).contains("A link signs in once, within ten minutes."))
            }
        }
    }

    @Test func `The sign-in page names the person whose session it would replace`() async throws {
        try await harness.route { client in
            let empty = String(buffer: try await client.send(.get, "/sign-in").body)
            #expect(!empty.contains(#"id="present""#))
            let cookie = try Self.cookie(try await Self.signIn(client, "viewer-default"))
            let asking = String(buffer: try await client.send(.get, "/sign-in", headers: cookie).body)
            #expect(asking.contains(#"id="present""#) && asking.contains("<strong>viewer</strong>"))
        }
    }

    @Test func `Behind a proxy, addresses and cookie follow it`() async throws {
        try await harness.route { client in
            let proxy: HTTPFields = [
                .init("X-Forwarded-Prefix")!: "/telemetry/", .init("X-Forwarded-Proto")!: "https",
                .init("X-Forwarded-Host")!: "fleet.example",
            ]
            let signedIn = try await Self.signIn(client, "viewer-default", proxy)
            #expect(signedIn.headers[.location] == "/telemetry/devices")
            let field = try #require(signedIn.headers[.setCookie])
            #expect(field.contains("; Path=/telemetry; ") && field.hasSuffix("; Secure"))
            let headers = proxy + (try Self.cookie(signedIn))
            let page = String(buffer: try await client.send(.get, "/devices", headers: headers).body)
            #expect(page.contains("https://fleet.example/telemetry/api/v1/devices"))
            #expect(page.contains(#"href="/telemetry/assets/console.css?1.2.3""#))
            for prefix in ["/a\"b", "/../x", "javascript:", "/a b"] {
                let odd = try await client.send(.get, "/sign-in", headers: [.init("X-Forwarded-Prefix")!: prefix])
                #expect(String(buffer: odd.body).contains(#"action="/sign-in""#), "\(prefix)")
            }
        }
    }

    /// Browsers send a cookie to every port of its host, as with two port forwards to localhost.
    @Test func `Two consoles on ports of one host keep a session each`() async throws {
        try await harness.route { client in
            func at(_ authority: String) -> HTTPFields { [.init("X-Forwarded-Host")!: authority] }
            var cookies: [String: String] = [:]
            for authority in ["localhost:8001", "localhost:8002", "[::1]:8003", "[::1]", "localhost"] {
                let signedIn = try await Self.signIn(client, "viewer-default", at(authority))
                let field = try #require(try Self.cookie(signedIn)[.cookie])
                let parts = field.split(separator: "=", maxSplits: 1)
                cookies[String(parts[0])] = String(parts[1])
            }
            let ports = ["_8001", "_8002", "_8003", ""]
            #expect(Set(cookies.keys) == Set(ports.map { "ws1_session\($0)" }))
            let jar = cookies.map { "\($0)=\($1)" }.joined(separator: "; ")
            for authority in ["localhost:8001", "localhost:8002"] {
                let page = try await client.send(.get, "/devices", headers: at(authority) + [.cookie: jar])
                #expect(page.status == .ok, "\(authority)")
            }
            let token = try Self.formToken(
                try await client.send(.get, "/", headers: at("localhost:8001") + [.cookie: jar])
            ).percentEncoded
            let signedOut = try await client.send(
                .post, "/sign-out", headers: Self.form + at("localhost:8001") + [.cookie: jar],
                body: Data("formToken=\(token)".utf8))
            #expect(signedOut.headers[.setCookie]?.hasPrefix("ws1_session_8001=;") == true)
            let other = try await client.send(.get, "/devices", headers: at("localhost:8002") + [.cookie: jar])
            #expect(other.status == .ok, "the other console's session stays")
        }
    }

    @Test func `A form without the session's token or from elsewhere is refused`() async throws {
        try await harness.route { client in
            let mine = try Self.cookie(try await Self.signIn(client, "viewer-default"))
            let other = try Self.cookie(try await Self.signIn(client, "viewer-default"))
            let token = try Self.formToken(try await client.send(.get, "/", headers: mine)).percentEncoded
            let foreign = try Self.formToken(try await client.send(.get, "/", headers: other)).percentEncoded
            let site = HTTPField.Name("Sec-Fetch-Site")!
            let attempts: [(HTTPFields, String)] = [
                ([:], ""), ([:], "formToken="), ([:], "formToken=AAAA"), ([:], "formToken=\(foreign)"),
                ([site: "cross-site"], "formToken=\(token)"), ([site: "same-site"], "formToken=\(token)"),
            ]
            for (headers, body) in attempts {
                let headers = Self.form + mine + headers
                let response = try await client.send(.post, "/sign-out", headers: headers, body: Data(body.utf8))
                #expect(response.status == .forbidden, "\(body)")
            }
            #expect(try await client.send(.get, "/", headers: mine).status == .ok)
            let headers = Self.form + mine + [site: "same-origin"]
            let out = try await client.send(
                .post, "/sign-out", headers: headers, body: Data("formToken=\(token)".utf8))
            #expect(out.status == .seeOther)
            #expect(try await client.send(.get, "/", headers: mine).status == .seeOther)
            #expect(try await client.send(.get, "/", headers: other).status == .ok)
        }
    }

    @Test func `What a form has done is reported once to its own session`() async throws {
        try await harness.route { client in
            let mine = try Self.cookie(try await Self.signIn(client, "administrator-default"))
            let other = try Self.cookie(try await Self.signIn(client, "administrator-default"))
            let device = try await harness.enrolledDevice("default")
            let page = "/devices/\(device.id)/commands"
            let token = try Self.formToken(try await client.send(.get, page, headers: mine)).percentEncoded
            let sent = try await client.send(
                .post, page, headers: Self.form + mine, body: Data("formToken=\(token)&action=send-beacon".utf8))
            #expect(sent.status == .seeOther && sent.headers[.location] == page)
            let note = String(try #require(sent.headers[.setCookie]?.prefix { $0 != ";" }))
            func shown(_ session: HTTPFields, _ headers: HTTPFields = [:]) async throws -> (Bool, String?) {
                let jar: HTTPFields = [.cookie: "\(session[.cookie] ?? ""); \(note)"]
                let answer = try await client.send(.get, page, headers: jar + headers)
                return (String(buffer: answer.body).contains(#"role="status">The command"#), answer.headers[.setCookie])
            }
            #expect(try await shown(other) == (false, nil), "another session")
            let script: HTTPFields = [.init("Sec-Fetch-Dest")!: "empty"]
            #expect(try await shown(mine, script).1 == nil, "a script leaves it to the person")
            let said = try await shown(mine)
            #expect(said.0 && said.1?.hasPrefix("ws1_note=; ") == true && said.1?.contains("Max-Age=0") == true)
        }
    }

    @Test func `A form that is sent twice is performed once`() async throws {
        try await harness.route { client in
            let mine = try Self.cookie(try await Self.signIn(client, "administrator-default"))
            let before = try await harness.metadata.tokens().count
            func send(_ token: String, _ name: String) async throws -> TestResponse {
                let form = "formToken=\(token)&action=create-access&role=viewer&organization=default&name=\(name)"
                return try await client.send(.post, "/tokens", headers: Self.form + mine, body: Data(form.utf8))
            }
            func newToken() async throws -> String {
                try Self.formToken(try await client.send(.get, "/tokens", headers: mine)).percentEncoded
            }
            let token = try await newToken()
            async let first = send(token, "ada")
            async let second = send(token, "ada")
            let answers = [try await first, try await second, try await send(token, "ada")].map {
                String(buffer: $0.body)
            }
            #expect(answers[0].contains("ws1p_") && Set(answers).count == 1, "each click shows the one secret")
            // Another page, or other fields, is another form. What was refused may be sent again.
            #expect(try await send(token, "grace").status == .ok)
            #expect(try await send(try await newToken(), "ada").status == .ok)
            let after = try await harness.metadata.tokens().count
            #expect(after == before + 3)
        }
    }

    @Test func `What was filled in outlives the session`() async throws {
        try await harness.route { client in
            let former = try Self.cookie(try await Self.signIn(client, "administrator-default"))
            let token = try Self.formToken(try await client.send(.get, "/tokens", headers: former)).percentEncoded
            let form = Data("formToken=\(token)&action=create-access&role=viewer&name=grace-hopper".utf8)
            let ended = try await client.send(.post, "/tokens", headers: Self.form, body: form)
            #expect(ended.status == .unauthorized)
            #expect(String(buffer: ended.body).contains("Sign in in another tab"))
            // The browser sends it again after the sign-in.
            let mine = try Self.cookie(try await Self.signIn(client, "administrator-default"))
            let again = try await client.send(.post, "/tokens", headers: Self.form + mine, body: form)
            #expect(again.status == .forbidden)
            let html = String(buffer: again.body)
            #expect(html.contains(#"value="grace-hopper""#) && html.contains("nothing was done"))
            #expect(try Self.formToken(again).percentEncoded != token)
            let site: HTTPFields = [.init("Sec-Fetch-Site")!: "cross-site"]
            let foreign = try await client.send(.post, "/tokens", headers: Self.form + mine + site, body: form)
            #expect(foreign.status == .forbidden && !String(buffer: foreign.body).contains("grace-hopper"))
        }
    }

    @Test func `Whoever sees all organizations may look at one`() async throws {
        let own = try await harness.enrolledDevice("default")
        let west = try await harness.enrolledDevice("other")
        try await harness.route { client in
            let session = try Self.cookie(try await Self.signIn(client, "administrator-all"))
            func choose(_ organization: String, _ cookies: HTTPFields) async throws -> HTTPFields {
                let token = try Self.formToken(try await client.send(.get, "/organizations", headers: cookies))
                let response = try await client.send(
                    .post, "/choose-organization", headers: Self.form + cookies,
                    body: Data("organization=\(organization)&formToken=\(token.percentEncoded)".utf8))
                #expect(response.status == .seeOther)
                let chosen = try #require(response.headers[.setCookie]).prefix { $0 != ";" }
                return [.cookie: "\(session[.cookie] ?? ""); \(chosen)"]
            }
            func devices(_ cookies: HTTPFields) async throws -> [String] {
                let answer = try await client.send(.get, "/data/api/v1/devices", headers: cookies)
                return try answer.json.objects("items").compactMap { $0.text("id") }.sorted()
            }
            let both = ["\(own.id)", "\(west.id)"].sorted()
            #expect(try await devices(session) == both)
            let narrowed = try await choose("other", session)
            #expect(try await devices(narrowed) == ["\(west.id)"])
            let page = String(buffer: try await client.send(.get, "/devices", headers: narrowed).body)
            #expect(page.contains("Only other: show all") && !page.contains("\(own.id)"))
            #expect(try await client.send(.get, "/devices/\(own.id)", headers: narrowed).status == .notFound)
            #expect(try await devices(try await choose("", narrowed)) == both)
            #expect(try await devices(try await choose("nowhere", session)) == both)
            // A cookie gives nobody another organization.
            let viewer = try Self.cookie(try await Self.signIn(client, "viewer-default"))
            let name = try #require(narrowed[.cookie]?.split(separator: "; ").last)
            let forged: HTTPFields = [.cookie: "\(viewer[.cookie] ?? ""); \(name)"]
            #expect(try await devices(forged) == ["\(own.id)"])
            let foreign = try await client.send(
                .post, "/choose-organization", headers: Self.form + session, body: Data("organization=other".utf8))
            #expect(foreign.status == .forbidden)
        }
    }

    @Test func `Data is the API with the session's rights and only reads`() async throws {
        _ = try await harness.enrolledDevice("default")
        let west = try await harness.enrolledDevice("other")
        try await harness.route { client in
            let cookie = try Self.cookie(try await Self.signIn(client, "viewer-default"))
            let devices = try await client.send(.get, "/data/api/v1/devices", headers: cookie)
            #expect(try devices.json.number("total") == 1)
            let hidden = try await client.send(.get, "/data/api/v1/devices/\(west.id)", headers: cookie)
            #expect(hidden.status == .notFound)
            #expect(try hidden.problem.code == "not-found")
            #expect(try await client.send(.get, "/data/api/v1/audit", headers: cookie).status == .forbidden)
            #expect(try await client.send(.get, "/data/api/v1/devices").status == .unauthorized)
            #expect(try await client.send(.get, "/data/metrics", headers: cookie).status == .notFound)
            let change = try await client.send(.delete, "/data/api/v1/devices/\(west.id)", headers: cookie)
            #expect(change.status == .notFound)
            // A cookie is no credential of the API itself.
            #expect(try await client.send(.get, "/api/v1/devices", headers: cookie).status == .unauthorized)
        }
    }

    @Test func `Assets are cached by version, and pages are never cached or found`() async throws {
        try await harness.route { client in
            let plain = try await client.send(.get, "/assets/console.css")
            #expect(plain.headers[.contentType] == "text/css; charset=utf-8")
            #expect(plain.headers[.cacheControl] == "no-store")
            let versioned = try await client.send(
                .get, "/assets/console.css?1.2.3", headers: [.acceptEncoding: "gzip"])
            #expect(versioned.headers[.cacheControl]?.contains("immutable") == true)
            #expect(versioned.body.readableBytes < plain.body.readableBytes)
            for path in ["/assets/..%2Ftemplates%2Flayout.mustache", "/assets/nothing.js", "/nowhere", "/devices/"] {
                let response = try await client.send(.get, path)
                #expect(response.status == .notFound, "\(path)")
                #expect(response.headers[.contentType] == "text/html; charset=utf-8")
            }
        }
    }

    /// Sixty attempts at once are answered, and one more with each second. Many are sent side by side, so that it makes
    /// no difference how long the machine needs for one.
    @Test func `A client that tries tokens has to wait`() async throws {
        try await harness.live { client in
            @Sendable func attempt() async throws -> Int {
                try await client.send(
                    .post, "/sign-in", bearer: nil, headers: Self.form, body: Data("token=guess".utf8)
                ).status.code
            }
            #expect(try await attempt() == 401)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<240 { group.addTask { try await attempt() } }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(statuses == [401, 429])
        }
    }

    @Test func `A live page is told of a change, and the stream knows its topics`() async throws {
        let west = try await harness.enrolledDevice("other")
        try await harness.route { client in
            let cookie = try Self.cookie(try await Self.signIn(client, "viewer-default"))
            for topics in [
                "", "weather", "devices:x", "jobs:\(west.id)", "commands:\(west.id)", "devices,devices:\(west.id)",
            ] {
                let refused = try await client.send(.get, "/live?topics=\(topics)", headers: cookie)
                #expect([400, 404].contains(refused.status.code), "\(topics)")
            }
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func `A live page ends with its session`(byRevocation: Bool) async throws {
        let token = try await harness.metadata.createPersonToken(
            name: "watcher", role: .viewer, organization: "default")
        let secret = try #require(try await harness.metadata.signIn(token: token.token)).secret
        try await harness.live { [harness] client in
            let connection = try await BlockingCall.run {
                let connection = try RawConnection(port: client.port)
                connection.send(
                    "GET /live?topics=devices HTTP/1.1\r\nHost: collector\r\nConnection: close\r\n"
                        + "Cookie: ws1_session=\(secret)\r\n\r\n")
                #expect(connection.receive(until: "retry: 5000").hasPrefix("HTTP/1.1 200 "))
                return connection
            }
            if byRevocation {
                try await harness.metadata.revokeToken(token.id)
            } else {
                try await harness.metadata.signOut(secret, everywhere: false)
            }
            let ended = await BlockingCall.run { connection.receiveToEnd().ended }
            #expect(ended)
        }
    }

    /// The API gives it in pages of a thousand. The console sends each of them as it comes.
    @Test func `A long table for download is sent whole`() async throws {
        let count = 1001
        let token = try await harness.metadata.createEnrollmentToken(organization: "default", maximumUses: count)
        var ids: Set<String> = []
        for _ in 0..<count {
            let enrolled = try await harness.metadata.enroll(token: token.token, request: WireEnrollRequest())
            ids.insert(enrolled.deviceID.description)
        }
        try await harness.route { [ids] client in
            let cookie = try Self.cookie(try await Self.signIn(client, "viewer-default"))
            let answer = try await client.send(.get, "/devices?columns=state&format=csv", headers: cookie)
            let rows = String(buffer: answer.body).split(separator: "\r\n")
            #expect(answer.status == .ok && rows.first == "id,name,state")
            #expect(Set(rows.dropFirst().map { String($0.prefix { $0 != "," }) }) == ids)
            let refused = try await client.send(.get, "/devices?state=weather&format=csv", headers: cookie)
            #expect(refused.status == .badRequest && refused.headers[.contentType]?.hasPrefix("text/html") == true)
        }
    }
}

extension HTTPFields {
    fileprivate static func + (left: Self, right: Self) -> Self {
        var fields = left
        fields.append(contentsOf: right)
        return fields
    }
}
