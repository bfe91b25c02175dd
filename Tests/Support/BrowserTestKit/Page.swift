import Foundation
import JSON
import Synchronization

/// A page of the browser, with everything it has reported since it was opened. `Browser.withPage` opens and closes it.
/// Thread-safe.
///
/// Everything that waits has a time limit, and an error that names what it waited for.
package final class Page: Sendable {
    struct Appearance: Sendable {
        var viewport: Viewport
        var isDark: Bool
        var reducesMotion: Bool
    }

    /// How a document came.
    package struct Response: Sendable {
        /// After redirects.
        package let url: String
        /// The HTTP status; `nil` for a document that came without, such as `about:blank`, and for another place of the
        /// same document.
        package let status: Int?
        /// The headers by name in lower case, without cookies.
        package let headers: [String: String]
    }

    private struct State {
        var record: PageRecord
        var appearance: Appearance
        var runsScripts = true
        var lastWaiter = 0
        /// Each settles its arrival and returns true as soon as the record has what it waits for.
        var waiters: [Int: @Sendable (PageRecord) -> Bool] = [:]
        var children: Set<String> = []
    }

    let browser: Browser
    let context: String
    private let target: String
    private let session: String
    private let timeZone: String
    private let state: Mutex<State>

    /// How long a document may need to load, and anything in it to come about.
    package static let limit = Duration.seconds(60)

    private init(
        _ browser: Browser, context: String, target: String, session: String, appearance: Appearance, timeZone: String
    ) {
        self.browser = browser
        self.context = context
        self.target = target
        self.session = session
        self.timeZone = timeZone
        state = Mutex(State(record: PageRecord(mainFrame: target), appearance: appearance))
    }

    static func open(in browser: Browser, context: String, appearance: Appearance, timeZone: String) async throws
        -> Page
    {
        // A window of its own: a tab behind another would not be drawn.
        let target = try await browser.connection.call(
            "Target.createTarget",
            ["url": "about:blank", "browserContextId": .text(context), "newWindow": true], within: Browser.startLimit)
        guard let target = target["targetId"].text else { throw BrowserError(.refused, "no page was made") }
        let session = try await browser.connection.call(
            "Target.attachToTarget", ["targetId": .text(target), "flatten": true])
        guard let session = session["sessionId"].text else {
            throw BrowserError(.refused, "the page cannot be attached to")
        }
        let page = Page(
            browser, context: context, target: target, session: session, appearance: appearance, timeZone: timeZone)
        browser.connection.subscribe(session, hearsBrowser: true) { page.receive($0) }
        for domain in ["Page", "Runtime", "Log", "Network", "Audits", "Inspector"] {
            _ = try await page.call("\(domain).enable")
        }
        _ = try await page.call("Page.setLifecycleEventsEnabled", ["enabled": true])
        _ = try await page.call(
            "Target.setAutoAttach", ["autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true])
        // Only one window has the focus; each page behaves as if it were that one.
        _ = try await page.call("Emulation.setFocusEmulationEnabled", ["enabled": true])
        _ = try await page.call("Emulation.setTimezoneOverride", ["timezoneId": .text(timeZone)])
        try await page.show(appearance)
        return page
    }

    func close() {
        browser.connection.post("Target.closeTarget", ["targetId": .text(target)])
        let children = state.withLock { state in
            state.record.end(BrowserError(.pageEnded, "the page was closed"))
            return state.children
        }
        for session in children.union([session]) { browser.connection.unsubscribe(session) }
    }

    /// Opens a second page with the same cookies, as a person does for a second tab, and closes it after `body`. What a
    /// link or script opens by itself (`target="_blank"`, `window.open`) is not heard.
    package func withTab<Value: Sendable>(_ body: (Page) async throws -> Value) async throws -> Value {
        let page = try await Page.open(in: browser, context: context, appearance: appearance, timeZone: timeZone)
        defer { page.close() }
        return try await body(page)
    }

    private func receive(_ delivery: DevToolsConnection.Delivery) {
        let (actions, ending) = state.withLock { state -> ([PageRecord.Action], BrowserError?) in
            var actions: [PageRecord.Action] = []
            switch delivery {
            case .event(let event): actions = state.record.handle(event)
            case .ended(let error): state.record.end(error)
            }
            for (id, isSettled) in state.waiters where isSettled(state.record) { state.waiters[id] = nil }
            return (actions, state.record.ending)
        }
        if let ending { browser.connection.abandonCommands(to: session, ending) }
        for action in actions {
            switch action {
            case .answerDialog(let accept, let session):
                browser.connection.post("Page.handleJavaScriptDialog", ["accept": .boolean(accept)], session: session)
            case .watch(let child): watch(child)
            }
        }
    }

    /// Hears a frame of another origin, or a worker, and lets it run.
    private func watch(_ child: String) {
        state.withLock { _ = $0.children.insert(child) }
        let connection = browser.connection
        connection.subscribe(child, hearsBrowser: false) { [self] in receive($0) }
        // Workers lack some of these, and refuse them.
        for domain in ["Page", "Runtime", "Log", "Network", "Audits"] {
            connection.post("\(domain).enable", session: child)
        }
        connection.post(
            "Target.setAutoAttach", ["autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true],
            session: child)
        connection.post("Runtime.runIfWaitingForDebugger", session: child)
    }
}

// What the other files of the page build on.
extension Page {
    var record: PageRecord { state.withLock { $0.record } }

    var runsScripts: Bool { state.withLock { $0.runsScripts } }

    func changeScripting(_ isOn: Bool) { state.withLock { $0.runsScripts = isOn } }

    func changeRecord(_ change: (inout PageRecord) -> Void) { state.withLock { change(&$0.record) } }

    /// A command to the page.
    func call(_ method: String, _ parameters: JSONValue = [:], within limit: Duration = .seconds(60)) async throws
        -> JSONValue
    {
        if let ending = record.ending { throw ending }
        do {
            return try await browser.connection.call(method, parameters, session: session, within: limit)
        } catch {
            // The command's own error is a consequence.
            throw record.ending ?? error
        }
    }

    /// Waits until the record has what `answer` looks for.
    /// - Parameter what: what is waited for, for the error.
    func wait<Value: Sendable>(
        for what: String, within limit: Duration = Page.limit,
        _ answer: @escaping @Sendable (PageRecord) throws -> Value?
    ) async throws -> Value {
        let arrival = Arrival<Value>()
        let id = state.withLock { state -> Int in
            state.lastWaiter += 1
            let isSettled: @Sendable (PageRecord) -> Bool = { record in
                do {
                    if let value = try answer(record) {
                        arrival.settle(.success(value))
                    } else if let ending = record.ending {
                        arrival.settle(.failure(ending))
                    } else {
                        return false
                    }
                } catch {
                    arrival.settle(.failure(error))
                }
                return true
            }
            if !isSettled(state.record) { state.waiters[state.lastWaiter] = isSettled }
            return state.lastWaiter
        }
        defer { state.withLock { _ = $0.waiters.removeValue(forKey: id) } }
        return try await arrival.value(within: limit) { .timedOut(limit, waitingFor: what) }
    }

    /// How the page is shown now.
    var appearance: Appearance { state.withLock { $0.appearance } }

    func show(_ appearance: Appearance) async throws {
        let viewport = appearance.viewport
        _ = try await call(
            "Emulation.setDeviceMetricsOverride",
            [
                "width": .init(viewport.width), "height": .init(viewport.height),
                "deviceScaleFactor": 1, "mobile": .boolean(viewport.isPhone),
            ])
        _ = try await call("Emulation.setTouchEmulationEnabled", ["enabled": .boolean(viewport.isPhone)])
        _ = try await call(
            "Emulation.setEmulatedMedia",
            [
                "features": [
                    ["name": "prefers-color-scheme", "value": appearance.isDark ? "dark" : "light"],
                    [
                        "name": "prefers-reduced-motion",
                        "value": appearance.reducesMotion ? "reduce" : "no-preference",
                    ],
                ]
            ])
        state.withLock { $0.appearance = appearance }
    }

    /// Shows the page in another window size or scheme.
    package func resize(to viewport: Viewport, dark isDark: Bool? = nil) async throws {
        var changed = appearance
        changed.viewport = viewport
        changed.isDark = isDark ?? changed.isDark
        try await show(changed)
    }
}
