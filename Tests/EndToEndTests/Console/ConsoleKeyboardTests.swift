import BrowserTestKit
import Foundation
import JSON
import Testing

/// The five commonest tasks without a mouse.
@Suite("The console by keyboard", .serialized, .browser) struct ConsoleKeyboardTests {
    @Test func `Signing in, finding a device, commanding it, reading its logs and the notices`() async throws {
        try await ConsoleScene.run { scene in
            let token = try await scene.token(.operator, of: "default")
            try await Browser.current.withPage { page in
                // Sign in: the field has the focus.
                try await page.navigate(to: "\(scene.origin)/")
                #expect(try await page.isFocused("#token"))
                try await page.type(token)
                try await page.navigating { try await page.press(.enter) }
                #expect(try await page.text(of: "h1") == "Home")

                // The first stop skips the navigation.
                try await page.press(.tab)
                #expect(try await page.isFocused(".skip"))
                try await page.press(.enter)
                #expect(try await page.isFocused("#main"))

                // Find the device.
                try await page.type("/")
                #expect(try await page.isFocused("#search"))
                try await page.type(String(scene.device.prefix(8)))
                try await page.navigating { try await page.press(.enter) }
                try await page.tab(to: "main tbody a[href*='\(scene.device)']")
                try await page.navigating { try await page.press(.enter) }

                // Command it.
                try await page.tab(to: ".tabs a[href$='/commands']")
                try await page.navigating { try await page.press(.enter) }
                try await page.tab(to: "button[value=send-beacon]")
                try await page.navigating { try await page.press(.space) }
                try await page.waitUntil("document.querySelector('.command-done')")

                // Read its logs.
                try await page.tab(to: ".tabs a[href*='/logs']")
                try await page.navigating { try await page.press(.enter) }
                #expect(try await page.text(of: "main").contains("application"))

                // The notices, the help, and back.
                try await page.type("g")
                try await page.navigating { try await page.type("n") }
                #expect(try await page.text(of: "h1").hasPrefix("Notices"))
                try await page.type("?")
                #expect(try await page.evaluate("document.getElementById('help').open") == true)
                try await page.press(.escape)
                #expect(try await page.evaluate("document.getElementById('help').open") == false)
                #expect(try await page.findings(allowedOrigin: scene.origin) == [])
            }
        }
    }
}

extension Page {
    /// Presses Tab until an element has the focus, which must be seen there.
    /// - Throws: if it does not get the focus within 200 stops.
    fileprivate func tab(to selector: String) async throws {
        for _ in 0..<200 {
            try await press(.tab)
            guard try await isFocused(selector) else { continue }
            let outline = try await evaluate("getComputedStyle(document.activeElement).outlineStyle")
            #expect(outline != "none", "\(selector): nobody sees that it has the focus")
            return
        }
        throw EndToEndError("Tab does not lead to \(selector); the focus is at \(try await focus)")
    }
}
