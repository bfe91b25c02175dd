import BrowserTestKit
import Foundation
import NIOHTTP1
import Testing

/// A page that follows what happens says so, and says when it does not any more.
@Suite("Live pages of the console", .serialized, .browser) struct ConsoleLiveTests {
    private static func fault(_ name: String) -> String {
        "document.getElementById('fault').dataset.fault === '\(name)'"
    }

    @Test func `A live part says what it follows and how old it is`() async throws {
        try await ConsoleScene.run { scene in
            try await scene.withPage(.viewer) { page in
                try await page.navigate(to: scene.origin)
                for (part, topics) in [
                    ("states-part", "devices"), ("notices-part", "notices"), ("room-part", "notices"),
                    ("adoption-part", "devices"), ("changes-part", "devices and notices"),
                ] {
                    let script = "document.getElementById('\(part)').dataset.fresh"
                    let text = try await page.evaluate(script, as: String.self)
                    #expect(
                        text.wholeMatch(of: #/Follows [a-z ]+\. As of \d\d:\d\d:\d\d UTC, \d+ s ago\./#) != nil,
                        "\(text)")
                    #expect(text.hasPrefix("Follows \(topics). "))
                }
            }
        }
    }

    @Test func `All parts of home follow what happens`() async throws {
        try await ConsoleScene.run { scene in
            try await scene.withPage { page in
                try await page.navigate(to: scene.origin)
                let still = try await page.evaluate(
                    "[...document.querySelectorAll('main section:not([data-live])')].map((part) => part.id).join()",
                    as: String.self)
                #expect(still.isEmpty)
                _ = try await page.evaluate(
                    "document.getElementById('room-part').dataset.seen = 'before'", as: String.self)
                _ = try await scene.deployment.request("/organizations", .POST, body: #"{"name": "quay"}"#)
                try await page.waitUntil("document.getElementById('adoption-part').textContent.includes('quay')")
                try await page.waitUntil(
                    "document.getElementById('changes-part').textContent.includes('organization create')")
                try await page.waitUntil("!document.getElementById('room-part').dataset.seen")
            }
        }
    }

    @Test func `An ended session is reported with the way to sign in`() async throws {
        try await ConsoleScene.run { scene in
            let token = try await scene.token(.viewer, of: nil)
            try await Browser.current.withPage { page in
                try await page.signIn(at: scene.origin, token: token)
                try await page.navigate(to: "\(scene.origin)/notices")
                try await Browser.current.withPage { other in
                    try await other.signIn(at: scene.origin, token: token)
                    try await other.click(".account summary")
                    try await other.follow("button[name=everywhere]")
                }
                try await page.waitUntil(Self.fault("ended"))
                let text = try await page.text(of: "#fault")
                #expect(text.contains("Your session has ended. What is shown is as of "))
                try await page.follow("#fault a")
                #expect(try await page.url == "\(scene.origin)/sign-in?next=%2Fnotices")
            }
        }
    }

    @Test func `A lost connection is reported until the collector is back`() async throws {
        try await ConsoleScene.run { scene in
            try await scene.withPage { page in
                try await page.navigate(to: scene.origin)
                try await scene.deployment.stopCollector()
                try await page.waitUntil(Self.fault("lost"))
                #expect(
                    try await page.text(of: "#fault").contains(
                        "The collector cannot be reached. What is shown is as of "))
                try await scene.deployment.startCollector()
                try await page.waitUntil("!document.getElementById('fault').dataset.fault")
                #expect(try await page.text(of: "#fault").isEmpty)
            }
        }
    }
}
