import BrowserTestKit
import Foundation
import JSON
import Testing

@testable import Console

/// Every page of the console, over a real collector with a real agent, in a real browser.
@Suite("The console, page by page", .serialized, .browser(limit: .seconds(1200))) struct ConsoleWalkTests {
    /// The addresses of all pages, and others worth a look.
    private static func addresses(_ scene: ConsoleScene) throws -> [(pattern: String, address: String)] {
        let values = [
            "device": scene.device, "organization": "default", "job": "none",
        ]
        let pages = try Console.pages.map(\.path).map { pattern -> (String, String) in
            var address = pattern
            for name in pattern.matches(of: #/\{(\w+)\}/#).map({ String($0.output.1) }) {
                let value = try #require(values[name], "which \(name) should the walk take?")
                address = address.replacing("{\(name)}", with: value)
            }
            return (pattern, address)
        }
        let others = [
            "/devices?q=nothing-has-this-name", "/devices?state=reporting&sort=name",
            "/devices/\(scene.device)?range=1h",
            "/devices/\(scene.device)/timeline?kind=event", "/analytics/event?event=console.event.1",
            "/tokens?kind=enrollment",
        ]
        return pages + others.map { (String($0.prefix { $0 != "?" }), $0) }
    }

    /// Pages about one thing that the scene does not have.
    private static let missing: Set = ["/jobs/{job}"]

    @Test func `An administrator finds no fault on any page`() async throws {
        try await ConsoleScene.run { scene in
            try await scene.withPage { page in
                for (pattern, address) in try Self.addresses(scene) {
                    let status = Self.missing.contains(pattern) ? 404 : 200
                    let response = try await page.navigate(to: scene.origin + address)
                    #expect(response.status == status, "\(address)")
                    let faults = try await page.faults(allowedOrigin: scene.origin, expectedStatuses: [status])
                    #expect(faults == [], "\(address)")
                    #expect(try await page.texts(of: "h1").count == 1, "\(address)")
                }
            }
        }
    }

    /// A role that may not see a page hears so, and no link leads there. Nobody sees another organization's data.
    @Test(arguments: ConsoleScene.Role.allCases) func `A role of an organization sees its own`(role: ConsoleScene.Role)
        async throws
    {
        try await ConsoleScene.run { scene in
            let foreign = scene.harborDevices + ["harbor"]
            try await scene.withPage(role, of: "default") { page in
                var linked: Set<String> = []
                for (pattern, address) in try Self.addresses(scene) {
                    let response = try await page.navigate(to: scene.origin + address)
                    let status = try #require(response.status)
                    #expect([200, 403, 404].contains(status), "\(address)")
                    #expect(try await page.mentions(of: foreign) == [], "\(address)")
                    let findings = try await page.findings(allowedOrigin: scene.origin, expectedStatuses: [403, 404])
                    #expect(findings == [], "\(address)")
                    page.forgetFindings()
                    if status == 403 {
                        #expect(
                            role != .administrator || pattern == "/storage" || pattern == "/certificates", "\(address)")
                    }
                    linked.formUnion(try await page.texts(of: "nav a[href]"))
                }
                for (address, other) in [("/devices/\(scene.harborDevices[0])", 404), ("/profiles/harbor", 404)] {
                    let response = try await page.navigate(to: scene.origin + address)
                    #expect([403, other].contains(response.status), "\(address)")
                    #expect(try await page.texts(of: "main h1").first != "harbor")
                }
                #expect(linked.contains("Devices"))
                #expect(linked.contains("Tokens") == (role == .administrator))
                #expect(!linked.contains("Storage"))
            }
        }
    }

    /// Everything is there to read when scripts are off: the charts are tables.
    @Test func `Without scripts, every page can be read`() async throws {
        try await ConsoleScene.run { scene in
            let token = try await scene.token(.administrator, of: nil)
            try await Browser.current.withPage { page in
                try await page.setScripting(false)
                try await page.navigate(to: "\(scene.origin)/devices")
                try await page.fill("#token", token)
                #expect(try await page.submit("#sign-in").status == 200)
                for (pattern, address) in try Self.addresses(scene) {
                    let response = try await page.navigate(to: scene.origin + address)
                    #expect(response.status == (Self.missing.contains(pattern) ? 404 : 200), "\(address)")
                    let text = try await page.text(of: "main")
                    #expect(
                        text.count > 40 && !text.localizedCaseInsensitiveContains("enable javascript"), "\(address)")
                    #expect(try await page.overflowingElements() == [], "\(address)")
                    let findings = try await page.findings(allowedOrigin: scene.origin, expectedStatuses: [404])
                    #expect(findings == [], "\(address)")
                    page.forgetFindings()
                }
                try await page.navigate(to: "\(scene.origin)/devices/\(scene.device)?range=1h")
                #expect(try await !page.texts(of: ".figure-of table tbody tr").isEmpty, "charts are tables")
            }
        }
    }
}
