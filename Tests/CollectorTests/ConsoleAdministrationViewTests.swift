import Collector
import CollectorAPI
import Console
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Testing
import WireModel

/// An operation of the console names the type of its answer. A route that makes another one fails here.
@Suite("Pages made of the views of administration and profiles") struct ConsoleAdministrationViewTests {
    private static let application = "com.example.till"

    @Test func `Pages of administration and profiles are shown`() async throws {
        let harness = try ConsoleRouterTests.harness()
        try await harness.route { client in
            _ = try await harness.enrolledDevice("default")
            let session = try ConsoleRouterTests.cookie(
                try await ConsoleRouterTests.signIn(client, "administrator-all"))
            for path in [
                "/tokens", "/tokens?kind=enrollment", "/organizations", "/organizations/default", "/about", "/audit",
                "/audit?format=csv", "/notices", "/storage", "/certificates", "/profiles", "/profiles/default",
                "/profiles/default/edit", "/profiles/default/edit?application=\(Self.application)",
            ] {
                let page = try await client.send(.get, path, headers: session)
                #expect(page.status == .ok, "\(path)")
            }
        }
    }

    @Test func `Forms of administration and profiles are performed`() async throws {
        let harness = try ConsoleRouterTests.harness()
        try await harness.route { client in
            let session = try ConsoleRouterTests.cookie(
                try await ConsoleRouterTests.signIn(client, "administrator-all"))
            func send(_ page: String, _ form: String) async throws -> TestResponse {
                let shown = try await client.send(.get, page, headers: session)
                let token = try ConsoleRouterTests.formToken(shown).percentEncoded
                return try await client.send(
                    .post, page, headers: ConsoleRouterTests.form + session,
                    body: Data("formToken=\(token)&\(form)".utf8))
            }
            let made = try await send("/tokens", "action=create-access&role=viewer&organization=default&name=ada")
            #expect(made.status == .ok && String(buffer: made.body).contains("ws1p_"))
            let tokens = try await client.json("/api/v1/tokens?kind=person", bearer: "administrator-all")
            let ada = try #require(tokens.objects("items").first { $0.text("name") == "ada" }?.text("id"))
            #expect(try await send("/tokens", "action=revoke&token=\(ada)").status == .seeOther)
            let organization = try await send("/organizations", "action=create&name=third")
            #expect(organization.headers[.location] == "/organizations/third")
            #expect(try await send("/storage", "action=release").status == .seeOther)
            #expect(try await send("/storage", "action=ask-purge&olderThanDays=30&streams=event").status == .seeOther)

            let edit = "/profiles/default/edit?application=\(Self.application)"
            let json = "json=%7B%22beaconSeconds%22%3A90%7D&mode=json&tag="
            for action in ["validate", "review"] {
                #expect(try await send(edit, "action=\(action)&\(json)").status == .ok, "\(action)")
            }
            #expect(try await send(edit, "action=save&\(json)").status == .seeOther)
            // Somebody has saved a revision since, so the page shows both.
            let conflict = try await send(edit, "action=save&\(json)")
            #expect(String(buffer: conflict.body).contains("Somebody else saved this profile"))
            let saved = try await client.json(
                "/api/v1/profiles/default/\(Self.application)", bearer: "administrator-all")
            let revision = try #require(saved.number("revision"))
            let page = "/profiles/default?application=\(Self.application)"
            let question = try await client.send(.get, "\(page)&rollback=\(revision)", headers: session)
            #expect(question.status == .ok)
            #expect(try await send(page, "action=rollback&revision=\(revision)").status == .seeOther)
            #expect(try await client.send(.get, page, headers: session).status == .ok)
        }
    }
}
