import CollectorStore
import Foundation
import Hummingbird
import HummingbirdTesting
import Synchronization
import Testing

@testable import CollectorCommands

@Suite struct WebhookTests {
    private static let notice = NoticeRow(
        id: 7, code: .diskLow, organization: "", subject: "/data", detail: "little", count: 2, first: 1_000_000, last: 2_000_000)

    @Test(arguments: ["", "x", "ftp://a/b", "http://", "https:///path", "/path"])
    func whatIsNoAddressIsNone(text: String) {
        #expect(Webhook(text) == nil)
    }

    @Test(
        arguments: [
            (200, .delivered), (204, .delivered), (404, .refused("127.0.0.1 answered 404")), (410, .refused("127.0.0.1 answered 410")),
            (429, .failed("127.0.0.1 answered 429")), (503, .failed("127.0.0.1 answered 503")),
        ] as [(Int, NoticeCourier.Delivery)])
    func aNoticeIsPostedAndTheAnswerSaysWhatToDo(status: Int, expected: NoticeCourier.Delivery) async throws {
        let bodies = Mutex<[String]>([])
        let router = Router()
        router.post("/hook") { request, _ in
            let body = String(buffer: try await request.body.collect(upTo: 10_000))
            bodies.withLock { $0.append(body) }
            return Response(status: .init(code: status))
        }
        let application = Application(router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)))
        try await application.test(.live) { client in
            let port = try #require(client.port)
            let webhook = try #require(Webhook("http://127.0.0.1:\(port)/hook"))
            #expect(await webhook.post(Self.notice) == expected)
        }
        let posted = try #require(bodies.withLock { $0.first })
        #expect(posted.contains(#""code":"disk-low""#) && posted.contains(#""lastAt":"1970-01-01T00:00:02.000000Z""#))
    }

    @Test func aReceiverThatIsAwayIsTriedAgain() async throws {
        // Nobody listens on the port that was just given back.
        let webhook = try #require(Webhook("http://127.0.0.1:1/hook"))
        guard case .failed(let reason) = await webhook.post(Self.notice) else {
            Issue.record("it was taken for delivered")
            return
        }
        #expect(!reason.contains("hook"), "a webhook's address may be a secret")
    }
}
