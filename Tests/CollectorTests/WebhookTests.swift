import ClickHouse
import ClusterStore
import Collector
import CollectorAPI
import CommandKit
import Foundation
import HTTPConnection
import HTTPTestKit
import Hummingbird
import HummingbirdTesting
import NIOSSL
import Synchronization
import Testing
import WireModel

@testable import CollectorCommands
@testable import Registry

@Suite struct WebhookTests {
    private static let notice = NoticeRow(
        id: 7, code: .diskLow, organization: "", subject: "/data", detail: "little", count: 2, first: 1_000_000,
        last: 2_000_000)
    private static let news = NoticeNews(.raised, notice)

    /// What a receiver answers with, and what came.
    private static func receive(
        _ respond: @escaping @Sendable (Request) -> Response, _ body: @escaping @Sendable (Int) async throws -> Void
    ) async throws -> [String] {
        let bodies = Mutex<[String]>([])
        let router = Router()
        for path in ["/hook", "/elsewhere"] as [RouterPath] {
            router.post(path) { request, _ in
                let body = String(buffer: try await request.body.collect(upTo: 10_000))
                bodies.withLock { $0.append("\(request.uri.path) \(body)") }
                return respond(request)
            }
        }
        let application = Application(router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)))
        try await application.test(.live) { client in try await body(try #require(client.port)) }
        return bodies.withLock { $0 }
    }

    private static func post(
        _ news: NoticeNews, to url: String, authorities: NIOSSLTrustRoots? = nil
    ) async throws -> NoticeCourier.Delivery {
        let sender = WebhookSender(
            try #require(Webhook(url)), collector: CollectorID(high: 1, low: 2), authorities: authorities)
        let delivery = await sender.post(news)
        await sender.shutDown()
        return delivery
    }

    private static func settings(
        _ url: String, _ environment: [String: String] = [:]
    ) throws(CommandError) -> Settings {
        try Settings(SettingLayers(flags: ["data": "/d", "notice-webhook": url], environment: environment))
    }

    @Test func `a notice about records names their amount and streams, and another has neither`() throws {
        func body(_ notice: NoticeRow) throws -> [String: Any] {
            let json = try NoticeView.json(of: NoticeNews(.raised, notice), collector: CollectorID(high: 1, low: 2))
            return try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
        }
        let lost = try body(
            NoticeRow(
                id: 8, code: .recordsLost, organization: "west", subject: "d", detail: "30 records", amount: 30,
                streams: [.sample, .event], count: 3, first: 1_000_000, last: 2_000_000))
        #expect(lost["amount"] as? Int == 30 && lost["streams"] as? [String] == ["event", "sample"])
        let disk = try body(Self.notice)
        #expect(disk["amount"] == nil && disk["streams"] == nil)
    }

    @Test(arguments: ["", "x", "ftp://a/b", "http://", "https:///path", "/path"])
    func `What is not an address is none`(text: String) {
        #expect(Webhook(text) == nil)
    }

    @Test func `Over plain HTTP, notices leave this machine only where that is allowed`() throws {
        for url in ["http://127.0.0.1:9/x", "http://localhost/x", "http://[::1]:9/x", "https://hooks.example/x"] {
            #expect(try Self.settings(url).noticeWebhook != nil, "\(url)")
        }
        for url in ["http://hooks.example/s3cret", "HTTP://192.0.2.1/s3cret", "http://127.0.0.1.example/s3cret"] {
            let error = #expect(throws: CommandError.self, "\(url)") { try Self.settings(url) }
            #expect(error?.message.contains("--allow-plaintext") == true && error?.message.contains("s3cret") == false)
            #expect(try Self.settings(url, ["WS1_ALLOW_PLAINTEXT": "true"]).noticeWebhook != nil)
        }
    }

    @Test(
        arguments: [
            (200, .delivered), (204, .delivered), (404, .refused("127.0.0.1 answered 404")),
            (410, .refused("127.0.0.1 answered 410")),
            (429, .failed("127.0.0.1 answered 429")), (503, .failed("127.0.0.1 answered 503")),
        ] as [(Int, NoticeCourier.Delivery)])
    func `A notice is posted, and the answer says what to do`(status: Int, expected: NoticeCourier.Delivery)
        async throws
    {
        let posted = try await Self.receive { _ in
            Response(status: .init(code: status))
        } _: { port in
            let delivery = try await Self.post(Self.news, to: "http://127.0.0.1:\(port)/hook")
            #expect(delivery == expected)
        }
        let first = try #require(posted.first)
        #expect(first.contains(#""code":"disk-low""#) && first.contains(#""lastAt":"1970-01-01T00:00:02.000000Z""#))
        #expect(
            first.contains(#""event":"raised""#)
                && first.contains(#""collector":"00000000-0000-0001-0000-000000000002""#))
    }

    @Test func `The end of a notice says so`() async throws {
        var ended = Self.notice
        ended.ended = 3_000_000
        let news = NoticeNews(.ended, ended)
        let posted = try await Self.receive { _ in
            Response(status: .ok)
        } _: { port in
            let delivery = try await Self.post(news, to: "http://127.0.0.1:\(port)/hook")
            #expect(delivery == .delivered)
        }
        #expect(
            posted.first?.contains(#""endedAt":"1970-01-01T00:00:03.000000Z","event":"ended""#) == true, "\(posted)")
    }

    @Test(arguments: [301, 302, 307, 308])
    func `No redirect is followed`(status: Int) async throws {
        let posted = try await Self.receive { request in
            request.uri.path == "/hook"
                ? Response(status: .init(code: status), headers: [.location: "/elsewhere"]) : Response(status: .ok)
        } _: { port in
            guard case .failed(let reason) = try await Self.post(Self.news, to: "http://127.0.0.1:\(port)/hook") else {
                Issue.record("a redirect was taken for an answer")
                return
            }
            #expect(reason.contains("redirects are not followed") && !reason.contains("/hook"))
        }
        #expect(posted.count == 1 && posted[0].hasPrefix("/hook "))
    }

    /// The receiver is a collector, which has no hook: what says 404 was spoken to.
    @Test func `TLS below 1.2 is not spoken`() async throws {
        let files = try ServerFiles()
        let authority = try NIOSSLCertificate(bytes: Array(TestCertificates.authority.utf8), format: .pem)
        for (version, isTaken) in [(TLSVersion.tlsv11, false), (.tlsv12, true), (.tlsv13, true)] {
            var tls = try files.server(requiringClients: false).configuration()
            tls.minimumTLSVersion = .tlsv1
            tls.maximumTLSVersion = version
            try await Harness().server.application(tls: tls).test(.live) { client in
                let delivery = try await Self.post(
                    Self.news, to: "https://127.0.0.1:\(try #require(client.port))/hook",
                    authorities: .certificates([authority]))
                #expect((delivery == .refused("127.0.0.1 answered 404")) == isTaken, "\(version): \(delivery)")
                if !isTaken, case .failed = delivery {} else { #expect(isTaken, "\(delivery)") }
            }
        }
    }

    @Test func `A proxy of the environment is asked to connect to the receiver`() async throws {
        let answers = ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]
        try await ScriptedServer.serving(answers.map { [.send($0)] }) { server in
            let settings = try Self.settings(
                "http://hooks.test:8080/s3cret?key=x",
                ["http_proxy": "http://127.0.0.1:\(server.port)", "WS1_ALLOW_PLAINTEXT": "true"])
            let sender = WebhookSender(
                try #require(settings.noticeWebhook), collector: CollectorID(high: 1, low: 2),
                proxy: settings.webhookProxy)
            let delivery = await sender.post(Self.news)
            await sender.shutDown()
            #expect(delivery == .delivered)
            #expect(server.requests.first?.hasPrefix("CONNECT hooks.test:8080 HTTP/1.1\r\n") == true)
            #expect(server.requests.first?.contains("s3cret") == false)
            #expect(server.requests.last?.hasPrefix("POST /s3cret?key=x HTTP/1.1\r\n") == true)
        }
    }

    @Test func `The proxy of the environment is read with the settings`() throws {
        let environment = ["HTTPS_PROXY": "http://proxy.test:3128", "no_proxy": "example.org"]
        func proxy(_ url: String) throws -> String? { try Self.settings(url, environment).webhookProxy?.authority }
        #expect(try proxy("https://hooks.example/x") == "proxy.test:3128")
        #expect(try proxy("https://user:pass@hooks.example/x?y#z") == "proxy.test:3128")
        for direct in ["https://localhost/x", "https://127.0.0.1:9/x", "https://[::1]:9/x", "https://a.example.org/"] {
            #expect(try proxy(direct) == nil, "\(direct)")
        }
        let settings = try Self.settings("https://hooks.example/x", environment)
        #expect(settings.clusterRecords.clickHouse.proxies == ProxyEnvironment(environment))
        let error = #expect(throws: CommandError.self) {
            try Self.settings("https://hooks.example/x", ["https_proxy": "socks5://u:s3cret@proxy.test"])
        }
        #expect(error?.code == .usage && error?.message.contains("https_proxy") == true)
        #expect(error?.message.contains("s3cret") == false)
    }

    @Test func `Plain HTTP to this machine is refused where another machine's proxy is on the way`() throws {
        let environment = ["http_proxy": "http://proxy.test:3128"]
        #expect(try Self.settings("http://127.0.0.1:9/x", environment).webhookProxy == nil)
        #expect(throws: CommandError.self) { try Self.settings("http://127.0.0.2:9/x", environment) }
        let allowed = environment.merging(["WS1_ALLOW_PLAINTEXT": "true"]) { $1 }
        #expect(try Self.settings("http://127.0.0.2:9/x", allowed).webhookProxy != nil)
    }

    @Test func `A proxy that is away is named`() async throws {
        let proxy = try EndpointURL(proxy: "http://127.0.0.1:1")
        let sender = WebhookSender(
            try #require(Webhook("https://hooks.test/s3cret")), collector: CollectorID(high: 1, low: 2), proxy: proxy)
        let delivery = await sender.post(Self.news)
        await sender.shutDown()
        guard case .failed(let reason) = delivery else {
            Issue.record("it was taken for delivered")
            return
        }
        #expect(reason.hasPrefix("hooks.test, through the proxy 127.0.0.1:1, cannot be reached"), "\(reason)")
    }

    @Test func `A receiver that is away is tried again`() async throws {
        // Nobody listens on the port that was just given back.
        guard case .failed(let reason) = try await Self.post(Self.news, to: "http://127.0.0.1:1/hook") else {
            Issue.record("it was taken for delivered")
            return
        }
        #expect(!reason.contains("hook"), "a webhook's address may be a secret")
    }
}
