import Foundation
import Glibc
import JSON
import Testing

@testable import BrowserTestKit

extension BrowserKitTests {
    /// Whatever happens to a browser, a test that uses it ends, and the next has one. The trait is there a second time,
    /// as it may be.
    @Suite(.browser) struct BrowserLifeTests {
        @Test func `All pages share one browser`() async throws {
            let first = try Browser.current
            #expect(try await first.withPage { try await $0.evaluate("1 + 1") } == 2)
            let second = try Browser.current
            #expect(first === second)
        }

        @Test func `A killed browser is an error, and the next page gets another`() async throws {
            let killed = try Browser.current
            let directory = killed.directory
            let processID = try await killed.processID
            let error = await #expect(throws: BrowserError.self) {
                try await killed.withPage { page in
                    kill(processID, SIGKILL)
                    try await page.waitUntil("false")
                }
            }
            #expect(error?.code == .ended, "\(error as Any)")
            #expect(
                error?.description.hasPrefix("the browser has ended: killed by signal 9") == true, "\(error as Any)")
            #expect(killed.hasEnded)
            #expect(!FileManager.default.fileExists(atPath: directory.path))
            let again = await #expect(throws: BrowserError.self) { try await killed.withPage { _ in } }
            #expect(again?.code == .ended)

            let next = try Browser.current
            #expect(next !== killed)
            #expect(try await next.withPage { try await $0.evaluate("1 + 1") } == 2)
        }

        @Test func `A browser ends with its files when nobody listens to it`() async throws {
            let browser = try Browser()
            let processID = try await browser.processID
            #expect(FileManager.default.fileExists(atPath: browser.directory.path))
            try await browser.end()
            #expect(kill(processID, 0) != 0)
            #expect(!FileManager.default.fileExists(atPath: browser.directory.path))
            #expect(browser.hasEnded)
        }

        @Test func `A browser that does not end is killed`() async throws {
            let browser = try Browser()
            let processID = try await browser.processID
            kill(processID, SIGSTOP)
            let error = await #expect(throws: BrowserError.self) { try await browser.end(within: .milliseconds(200)) }
            #expect(error?.description == "waited 200 ms in vain for the browser to end by itself")
            #expect(kill(processID, 0) != 0)
            #expect(!FileManager.default.fileExists(atPath: browser.directory.path))
        }

        @Test func `A crashed page is an error, and the browser goes on`() async throws {
            let browser = try Browser.current
            try await browser.withPage { page in
                let error = await #expect(throws: BrowserError.self) { _ = try await page.call("Page.crash") }
                #expect(error?.description == "the page's process crashed; it showed about:blank", "\(error as Any)")
                let next = await #expect(throws: BrowserError.self) { try await page.waitUntil("true") }
                #expect(next?.code == .pageEnded, "\(next as Any)")
            }
            #expect(try await browser.withPage { try await $0.evaluate("1 + 1") } == 2)
        }

        @Test func `What does not happen is named`() async throws {
            let page = Planted.page(
                "<button disabled>Off</button><div id=cover style=\"position: fixed; inset: 0\"></div>")
            try await Planted.show(page, others: ["/never": .never]) { page, server in
                let condition = await #expect(throws: BrowserError.self) {
                    try await page.waitUntil("document.title === 'other'", within: .milliseconds(200))
                }
                #expect(condition?.code == .timedOut)
                #expect(
                    condition?.description
                        == "waited 200 ms in vain for `document.title === 'other'` in \(server.origin)/")
                let failing = await #expect(throws: BrowserError.self) {
                    try await page.waitUntil("nothing.there", within: .milliseconds(200))
                }
                #expect(failing?.description.contains("nothing is not defined") == true)
                // What can never hold is reported at once.
                let wrong = await #expect(throws: BrowserError.self) { try await page.waitUntil("what is this") }
                #expect(wrong?.code == .script)

                for (selector, obstacle) in [
                    ("button", "it is disabled"), ("h1", "#cover covers it"), ("h2", "there is none"),
                ] {
                    let error = await #expect(throws: BrowserError.self) {
                        try await page.click(selector, within: .milliseconds(200))
                    }
                    #expect(
                        error?.code == .timedOut && error?.description.hasSuffix(obstacle) == true, "\(error as Any)")
                }

                try await page.evaluate("void fetch('/never')")
                let open = await #expect(throws: BrowserError.self) {
                    try await page.findings(allowedOrigin: server.origin, within: .milliseconds(200))
                }
                #expect(open?.description == "waited 200 ms in vain for answers to GET \(server.origin)/never")
                let document = await #expect(throws: BrowserError.self) {
                    try await page.navigate(to: "\(server.origin)/never", within: .milliseconds(200))
                }
                #expect(document?.description == "waited 200 ms in vain for \(server.origin)/never to load")
                let same = await #expect(throws: BrowserError.self) {
                    try await page.navigating(within: .milliseconds(200)) {}
                }
                #expect(same?.code == .timedOut)
            }
        }

        @Test func `A test that hangs is ended by its limit`() async throws {
            let error = await #expect(throws: BrowserError.self) {
                try await BrowserTrait.run(within: .milliseconds(100)) {
                    _ = try await Browser.current.withPage { page in try await page.evaluate("new Promise(() => {})") }
                }
            }
            #expect(error?.description == "waited 100 ms in vain for the test to end")
        }
    }
}
