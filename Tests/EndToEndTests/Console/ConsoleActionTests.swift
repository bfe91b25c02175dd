import BrowserTestKit
import Foundation
import JSON
import Testing

/// What people do in the console arrives at the device or at the collector, and what happens there shows on the page.
@Suite("Actions of the console", .serialized, .browser) struct ConsoleActionTests {
    @Test func `A command is carried out, and the page reports it by itself`() async throws {
        try await ConsoleScene.run { scene in
            try await scene.withPage(.operator, of: "default") { page in
                try await page.navigate(to: "\(scene.origin)/devices/\(scene.device)/commands")
                try await page.follow("button", containing: "Send a beacon")
                #expect(try await page.text(of: ".note[role=status]").contains("waits for the device"))
                try await page.waitUntil("document.querySelector('.command-done')")
                #expect(try await page.findings(allowedOrigin: scene.origin) == [])
            }
        }
    }

    @Test func `Whoever may not do it sees no form and is refused when it is sent anyway`() async throws {
        try await ConsoleScene.run { scene in
            try await scene.withPage(.viewer, of: "default") { page in
                let address = "\(scene.origin)/devices/\(scene.device)/commands"
                try await page.navigate(to: address)
                #expect(try await page.texts(of: "main form[method=post]").isEmpty)
                let status = try await page.evaluate(
                    """
                    fetch(location.href, { method: 'POST', headers: { 'Content-Type': \
                    'application/x-www-form-urlencoded' },
                        body: new URLSearchParams({ action: 'send-beacon',
                            formToken: document.querySelector('[name=formToken]').value }) }).then(answer => \
                    answer.status)
                    """)
                #expect(status == 403)
                let foreign = try await page.evaluate(
                    """
                    fetch(location.href, { method: 'POST', headers: { 'Content-Type': \
                    'application/x-www-form-urlencoded' },
                        body: 'action=send-beacon&formToken=AAAA' }).then(answer => answer.status)
                    """)
                #expect(foreign == 403)
            }
            let commands = try await scene.deployment.request("/devices/\(scene.device)/commands")
            #expect(String(decoding: commands, as: UTF8.self).contains(#""items":[]"#))
        }
    }

    @Test func `A device is revoked, reinstated and deleted only after what was typed`() async throws {
        try await ConsoleScene.run { scene in
            let device = scene.harborDevices[0]
            try await scene.withPage { page in
                try await page.navigate(to: "\(scene.origin)/devices/\(device)/manage")
                try await page.follow("button.danger", containing: "Revoke")
                #expect(try await page.texts(of: ".revoked").first == "revoked")
                try await page.follow("button", containing: "Reinstate")
                #expect(try await page.texts(of: ".revoked").isEmpty)
                try await page.click("[name=kind][value=wipe]")
                try await page.fill("[name=confirmName]", "another name")
                #expect(try await page.follow("button.danger", containing: "Wipe the device").status == 422)
                #expect(try await page.texts(of: "[role=alert]").count == 1)
                try await page.follow("button.danger", containing: "Delete the device")
                #expect(
                    try await scene.deployment.devices("organization=harbor&test=true").contains(device),
                    "it was only asked")
                try await page.navigate(to: "\(scene.origin)/audit?subject=\(device)")
                let actions = try await page.texts(of: "tbody tr")
                #expect(actions.contains { $0.contains("revoke") } && actions.contains { $0.contains("reinstate") })
            }
        }
    }

    @Test func `A token's secret is shown once, signs in, and is refused after its revocation`() async throws {
        try await ConsoleScene.run { scene in
            try await scene.withPage { page in
                try await page.navigate(to: "\(scene.origin)/tokens")
                try await page.click("summary", containing: "New access token")
                try await page.fill("[name=name]", "Night shift")
                try await page.choose("viewer", in: "[name=role]")
                try await page.follow("button.primary", containing: "Create the token")
                let secret = try await page.text(of: "#secret").trimmingCharacters(in: .whitespacesAndNewlines)
                #expect(secret.count > 20)
                try await page.follow("a", containing: "All tokens")
                #expect(try await page.mentions(of: [secret]) == [])
                try await Browser.current.withPage { other in
                    try await other.signIn(at: scene.origin, token: secret)
                    #expect(try await other.text(of: ".account summary").contains("Night shift"))
                    try await page.follow("a[aria-label^='Revoke Night shift']")
                    try await page.follow("button.danger")
                    let response = try await other.reload()
                    #expect(response.url.hasPrefix("\(scene.origin)/sign-in"), "\(response.url)")
                }
            }
        }
    }

    @Test func `A link asks before it signs in over another session`() async throws {
        try await ConsoleScene.run { scene in
            let viewer = try await scene.token(.viewer, of: "default")
            try await scene.withPage(.operator) { page in
                let link = try await ConsoleScene.signInLink(at: scene.origin, token: viewer)
                try await page.navigate(to: link)
                #expect(try await page.text(of: "#present").contains("A operator"))
                #expect(try await page.isFocused("#sign-in button"))
                try await page.follow("#present a")
                #expect(try await page.text(of: ".account summary") == "A operator")
                try await page.navigate(to: link)
                try await page.submit("#sign-in")
                #expect(try await page.text(of: ".account summary") == "A viewer")
                // The code is used up.
                try await page.navigate(to: link)
                #expect(try await page.submit("#sign-in").status == 401)
                #expect(try await page.findings(allowedOrigin: scene.origin, expectedStatuses: [401]) == [])
            }
        }
    }

    /// The profile is changed in the form, the changes are shown first, and the device runs the new revision.
    @Test func `A change of the profile reaches the device`() async throws {
        try await ConsoleScene.run { scene in
            try await scene.withPage { page in
                try await page.navigate(to: "\(scene.origin)/profiles/default/edit")
                try await page.choose("verbose", in: "[name='logging.level']")
                try await page.waitUntil("document.querySelector('#check ins')")
                try await page.follow("button.primary", containing: "Review the changes")
                #expect(try await page.texts(of: ".changes ins").contains { $0.contains("verbose") })
                try await page.follow("button.primary")
                #expect(try await page.texts(of: "[role=status]").count >= 1)
                struct Status: Decodable {
                    struct Profile: Decodable { var revision: Int }
                    var profile: Profile
                }
                try await scene.deployment.until("the agent has the revision", while: scene.deployment.agent) {
                    let reported = try await Program.agent.run([
                        "status", "--json", "--data", scene.deployment.agentData,
                    ])
                    return try JSONDecoder().decode(Status.self, from: Data(reported.output.utf8)).profile.revision >= 2
                }
                try await page.navigate(to: "\(scene.origin)/profiles/default")
                #expect(try await page.findings(allowedOrigin: scene.origin) == [])
            }
        }
    }
}
