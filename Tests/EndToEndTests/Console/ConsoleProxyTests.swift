import BrowserTestKit
import Foundation
import JSON
import Testing

@testable import Console

/// The console under a path of another server.
@Suite("The console behind a reverse proxy", .serialized, .browser) struct ConsoleProxyTests {
    @Test func `Every link, form, script and live part stays below the path`() async throws {
        try await ConsoleScene.run { scene in
            let token = try await scene.token(.administrator, of: nil)
            try await ReverseProxy.serving(scene.deployment) { origin in
                let root = origin + ReverseProxy.prefix
                try await Browser.current.withPage { page in
                    try await page.navigate(to: "\(root)/devices/\(scene.device)/commands")
                    #expect(try await page.url.hasPrefix("\(root)/sign-in?next="))
                    try await page.fill("#token", token)
                    try await page.submit("#sign-in")
                    #expect(try await page.url == "\(root)/devices/\(scene.device)/commands")
                    let cookies = try await page.cookies()
                    #expect(cookies.map(\.path) == [ReverseProxy.prefix])

                    // A form, and the live part that shows its end.
                    try await page.follow("button", containing: "Send a beacon")
                    try await page.waitUntil("document.querySelector('.command-done')")

                    for path in Console.pages.map(\.path).filter({ !$0.contains("{") }) {
                        let response = try await page.navigate(to: root + path)
                        #expect(response.status == 200, "\(path)")
                        let outside = try await page.evaluate(
                            """
                            [...document.querySelectorAll('[href], [src], [action], [formaction]')]
                                .map(element => element.getAttribute('href') ?? element.getAttribute('src')
                                    ?? element.getAttribute('action') ?? element.getAttribute('formaction'))
                                .filter(address => !address.startsWith('\(ReverseProxy.prefix)/') && \
                            !address.startsWith('#')
                                    && !address.startsWith('?'))
                            """)
                        #expect(outside == [], "\(path)")
                        #expect(try await page.findings(allowedOrigin: origin) == [], "\(path)")
                    }
                    try await page.type("g")
                    try await page.navigating { try await page.type("d") }
                    #expect(try await page.url == "\(root)/devices")
                }
            }
        }
    }
}
