import Collector
import CollectorAPI
import Console
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Registry
import Testing
import WireModel

/// An operation of the console names the type of its answer. A route that makes another one fails here.
@Suite("Pages made of the views of devices and jobs") struct ConsoleDeviceViewTests {
    private static let tabs = ["", "/timeline", "/system", "/balance", "/commands", "/manage"]

    /// Looks at pages and sends their forms as an administrator of all organizations.
    private struct Browser {
        let client: any TestClientProtocol
        let session: HTTPFields

        func page(_ path: String) async throws -> TestResponse {
            try await client.send(.get, path, headers: session)
        }

        func send(_ page: String, _ form: String) async throws -> TestResponse {
            let token = try ConsoleRouterTests.formToken(try await self.page(page)).percentEncoded
            return try await client.send(
                .post, page, headers: ConsoleRouterTests.form + session, body: Data("formToken=\(token)&\(form)".utf8))
        }
    }

    /// The value of a hidden field.
    private static func field(_ name: String, of response: TestResponse) throws -> String {
        let html = String(buffer: response.body)
        let found = html.firstMatch(of: try Regex(#"name="\#(name)" value="([^"]+)""#))
        return String(try #require(found?.output[1].substring))
    }

    private func browse(_ test: @escaping @Sendable (Browser, Harness) async throws -> Void) async throws {
        let harness = try ConsoleRouterTests.harness()
        try await harness.route { client in
            let session = try ConsoleRouterTests.cookie(
                try await ConsoleRouterTests.signIn(client, "administrator-all"))
            try await test(Browser(client: client, session: session), harness)
        }
    }

    @Test func `Pages of devices are shown`() async throws {
        try await browse { browser, harness in
            let device = try await harness.enrolledDevice("default").id
            _ = try await harness.enrolledDevice("default")
            let pages =
                ["/devices", "/devices?state=enrolled", "/devices?format=csv", "/jobs", "/add-device"]
                + ["/organizations/default/assignments", "/explore?device=kiosk", "/explore?device=\(device)"]
            for path in pages + Self.tabs.map({ "/devices/\(device)\($0)" }) {
                #expect(try await browser.page(path).status == .ok, "\(path)")
            }
            #expect(String(buffer: try await browser.page("/devices").body).contains("kiosk-1"))
        }
    }

    @Test func `Forms of a device are performed`() async throws {
        try await browse { browser, harness in
            let device = try await harness.enrolledDevice("default").id
            let (manage, commands) = ("/devices/\(device)/manage", "/devices/\(device)/commands")
            for form in ["action=query-device-information", "action=request-logs&mode=snapshot&level=error"] {
                #expect(try await browser.send(commands, form).status == .seeOther, "\(form)")
            }
            let issued = try await harness.metadata.commands(of: device, below: nil, limit: 10).rows
            #expect(issued.count == 2)
            let command = try #require(issued.first?.id)
            #expect(try await browser.send(commands, "action=end&command=\(command)").status == .seeOther)
            #expect(try await browser.page("/request-logs").status == .ok)
            for form in [
                "action=do-not-disturb&on=false", "action=predecessor&predecessor=", "action=revoke",
                "action=reinstate", "action=wipe&kind=wipe&confirmName=kiosk-1",
            ] {
                #expect(try await browser.send(manage, form).status == .seeOther, "\(form)")
            }
            let question = try await browser.send(manage, "action=delete")
            #expect(question.status == .ok)
            let confirm = try Self.field("confirm", of: question).percentEncoded
            let deleted = try await browser.send(manage, "action=delete&confirm=\(confirm)&confirmName=kiosk-1")
            #expect(deleted.headers[.location] == "/devices")
        }
    }

    @Test func `A job is asked about, begun, shown and cancelled`() async throws {
        try await browse { browser, harness in
            let device = try await harness.enrolledDevice("default").id
            let form = "what=request-logs&ready=yes&level=error&scope=selected&device=\(device)"
            let question = try await browser.send("/devices", "action=ask&\(form)")
            #expect(question.status == .ok)
            let confirm = try Self.field("confirm", of: question).percentEncoded
            let begun = try await browser.send("/devices", "action=begin&\(form)&key=once&confirm=\(confirm)")
            #expect(begun.status == .seeOther)
            let job = try #require(begun.headers[.location])
            for path in ["/jobs", job, "\(job)?format=csv", "\(job)?result=waiting"] {
                #expect(try await browser.page(path).status == .ok, "\(path)")
            }
            #expect(try await browser.send(job, "action=ask-cancel").status == .ok)
            #expect(try await browser.send(job, "action=cancel").status == .seeOther)
            #expect(String(buffer: try await browser.page(job).body).contains("cancelled"))
        }
    }

    @Test func `A token for devices is made, and assignments are saved`() async throws {
        try await browse { browser, _ in
            let made = try await browser.send(
                "/add-device",
                "action=create&organization=default&maximumUses=1&expires=3600&address=https%3A%2F%2Fcollector.example")
            #expect(made.status == .ok && String(buffer: made.body).contains("WS1_ENROLLMENT="))
            let address = String(buffer: made.body).firstMatch(of: #/data-address="([^"]+)"/#)?.output.1
            #expect(try await browser.page(String(try #require(address))).status == .ok)
            let list = "/organizations/default/assignments"
            let saved = try await browser.send(
                list, "action=save&application=com.example.till&group=&groupName=tills&groupDevices=")
            #expect(saved.status == .seeOther)
            #expect(String(buffer: try await browser.page(list).body).contains("com.example.till"))
        }
    }
}
