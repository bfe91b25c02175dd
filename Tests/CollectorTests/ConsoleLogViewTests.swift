import Collector
import CollectorAPI
import Console
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing
import WireModel

@Suite("Pages of logs made of the views of routes") struct ConsoleLogViewTests {
    private struct Session {
        let client: any TestClientProtocol
        let cookie: HTTPFields

        /// The page after the form, or the page's own answer.
        func send(_ page: String, _ form: String) async throws -> (status: HTTPResponse.Status, html: String) {
            let token = try ConsoleRouterTests.formToken(try await client.send(.get, page, headers: cookie))
            let answer = try await client.send(
                .post, page, headers: ConsoleRouterTests.form + cookie,
                body: Data("formToken=\(token.percentEncoded)&\(form)".utf8))
            guard let address = answer.headers[.location] else { return (answer.status, String(buffer: answer.body)) }
            return (answer.status, try await get(address))
        }

        func get(_ address: String) async throws -> String {
            let page = try await client.send(.get, address, headers: cookie)
            #expect(page.status == .ok, "\(address)")
            return String(buffer: page.body)
        }
    }

    private static func play(_ body: @escaping @Sendable (Session, [DeviceID]) async throws -> Void) async throws {
        let harness = try ConsoleRouterTests.harness()
        try await harness.route { client in
            let devices = [try await harness.enrolledDevice().id, try await harness.enrolledDevice().id]
            let cookie = try ConsoleRouterTests.cookie(
                try await ConsoleRouterTests.signIn(client, "administrator-all"))
            try await body(Session(client: client, cookie: cookie), devices)
        }
    }

    @Test func `Quotas of an application and of devices without one are set and reset`() async throws {
        try await Self.play { session, _ in
            let page = "/organizations/default/log-quotas"
            for application in ["com.example.till", ""] {
                let form = "application=\(application)&amount=7&unit=1000000"
                let set = try await session.send(page, "action=set&\(form)")
                #expect(set.status == .seeOther && set.html.contains("7 MB"), "\(application)")
                let reset = try await session.send(page, "action=reset&\(form)")
                #expect(reset.status == .seeOther && !reset.html.contains("7 MB"), "\(application)")
            }
        }
    }

    @Test func `One device is asked for logs, or several by a job`() async throws {
        try await Self.play { session, devices in
            let one = try await session.send("/request-logs", "action=request-logs&mode=snapshot&device=\(devices[0])")
            #expect(one.status == .seeOther && one.html.contains("Cancel this request"))
            #expect(try await session.get("/request-logs").contains("kiosk-1"))
            let several =
                "action=request-logs&mode=snapshot&level=error&" + devices.map { "device=\($0)" }.joined(separator: "&")
            let question = try await session.send("/request-logs", several)
            #expect(question.html.contains("Request logs of 2 devices?"))
            let confirm = try #require(question.html.firstMatch(of: #/name="confirm" value="([^"]+)"/#)).output.1
            let job = try await session.send("/request-logs", "\(several)&confirm=\(confirm)")
            #expect(job.status == .seeOther && job.html.contains("A request to several devices"))
        }
    }

    @Test func `Deleting logs asks first`() async throws {
        try await Self.play { session, devices in
            let listed = "/logs?device=\(devices[0])"
            let question = try await session.get("\(listed)&do=delete-listed")
            #expect(question.contains("Delete 0 B of logs?"))
            let lines = try await session.get("/logs/view?device=\(devices[0])")
            #expect(lines.contains("No line matches"))
        }
    }
}
