import Foundation
import JSON
import Synchronization
import TestKit

/// A headless Chromium, shared by all tests of a process. Thread-safe.
///
///     @Suite(.serialized, .browser) struct SignInTests {
///         @Test func `A token signs in`() async throws {
///             try await Browser.current.withPage(viewport: .phone) { page in
///                 try await page.navigate(to: "\(origin)/sign-in")
///                 try await page.fill("#token", token)
///                 #expect(try await page.submit("#sign-in").status == 200)
///                 #expect(try await page.findings(allowedOrigin: origin) == [])
///                 #expect(try await page.accessibilityViolations() == [])
///                 #expect(try await page.overflowingElements() == [])
///             }
///         }
///     }
package final class Browser: Sendable {
    private let process: BrowserProcess
    let connection: DevToolsConnection

    private static let shared = Mutex<Browser?>(nil)

    /// The running browser. The first use starts it, and so does the first after its end. It ends with the test
    /// process.
    package static var current: Browser {
        get throws {
            try shared.withLock { shared in
                if let shared, !shared.hasEnded { return shared }
                let browser = try Browser()
                shared = browser
                return browser
            }
        }
    }

    /// A browser of one's own, which `end` ends.
    package init() throws {
        let process = try BrowserProcess()
        self.process = process
        connection = DevToolsConnection(socket: process.socket) { process.explanation() }
    }

    package var hasEnded: Bool { connection.ending != nil || process.isGone(within: .seconds(0)) }

    /// Where it keeps all its files while it runs.
    package var directory: URL { process.directory }

    var downloads: URL { process.directory.appendingPathComponent("downloads") }

    /// The browser's own process, the parent of the others.
    package var processID: pid_t {
        get async throws {
            let processes = try await connection.call("SystemInfo.getProcessInfo", within: Self.startLimit)
            let browser = processes["processInfo"].items.first { $0["type"] == "browser" }
            guard let id = browser?["id"].integer else {
                throw BrowserError(.refused, "the browser does not tell its process")
            }
            return pid_t(id)
        }
    }

    /// Hangs up, as the death of the test process does, and waits until the browser and its files are gone.
    /// - Throws: `BrowserError` if it did not end by itself within the limit; it was ended the hard way then.
    package func end(within limit: Duration = .seconds(30)) async throws {
        connection.hangUp()
        let isGone = await BlockingCall.run { [process] in
            if process.isGone(within: limit) { return true }
            process.kill()
            _ = process.isGone(within: .seconds(30))
            return false
        }
        if !isGone { throw BrowserError.timedOut(limit, waitingFor: "the browser to end by itself") }
    }

    /// The first command waits for the start, which may last long on a busy machine.
    static let startLimit = Duration.seconds(120)

    /// Opens a page, and closes it after `body`. It has its own cookies and nothing of other pages.
    /// - Parameters:
    ///   - isDark: whether the person prefers dark pages.
    ///   - reducesMotion: whether the person prefers pages that do not move. Animated colours have no contrast that
    ///     could be checked, so this is the default.
    ///   - timeZone: of the person, from the IANA database.
    package func withPage<Value: Sendable>(
        viewport: Viewport = .laptop, dark isDark: Bool = false, reducedMotion reducesMotion: Bool = true,
        timeZone: String = "UTC", _ body: (Page) async throws -> Value
    ) async throws -> Value {
        let context = try await connection.call(
            "Target.createBrowserContext", ["disposeOnDetach": true], within: Self.startLimit)["browserContextId"]
        guard let context = context.text else { throw BrowserError(.refused, "no browser context was made") }
        // Sent at once, even if the task is cancelled.
        defer { connection.post("Target.disposeBrowserContext", ["browserContextId": .text(context)]) }
        _ = try await connection.call(
            "Browser.setDownloadBehavior",
            [
                "behavior": "allowAndName", "browserContextId": .text(context), "eventsEnabled": true,
                "downloadPath": .text(downloads.path),
            ])
        let appearance = Page.Appearance(viewport: viewport, isDark: isDark, reducesMotion: reducesMotion)
        let page = try await Page.open(in: self, context: context, appearance: appearance, timeZone: timeZone)
        defer { page.close() }
        return try await body(page)
    }
}

/// The part of the screen that shows a page, in CSS pixels.
package struct Viewport: Sendable, Hashable {
    package let width: Int
    package let height: Int
    /// It is touched, not pointed at, and heeds the page's `<meta name="viewport">`. A page without one is laid out 980
    /// pixels wide.
    package let isPhone: Bool

    package init(width: Int, height: Int, isPhone: Bool = false) {
        self.width = width
        self.height = height
        self.isPhone = isPhone
    }

    package static let phone = Viewport(width: 390, height: 844, isPhone: true)
    package static let laptop = Viewport(width: 1280, height: 800)
    package static let wide = Viewport(width: 1920, height: 1080)
    package static let all = [phone, laptop, wide]
}
