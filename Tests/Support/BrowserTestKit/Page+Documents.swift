import Foundation
import JSON

// Going from document to document.
extension Page {
    /// The address of the document that is shown.
    package var url: String { get async throws { try await evaluate("location.href").text ?? "" } }

    /// Goes to an address and waits until the document is loaded, with its styles, scripts and pictures.
    /// - Throws: `BrowserError` if no document came. An error status is no error: see `Response.status`.
    @discardableResult
    package func navigate(to url: String, within limit: Duration = Page.limit) async throws -> Response {
        let answer: JSONValue
        do {
            // Comes with the head of the document.
            answer = try await call("Page.navigate", ["url": .text(url)], within: limit)
        } catch let error as BrowserError where error.code == .timedOut {
            throw BrowserError.timedOut(limit, waitingFor: "\(url) to load")
        }
        if answer["isDownload"] == true {
            throw BrowserError(.notLoaded, "\(url) is a download; see Page.downloading")
        }
        if let error = answer["errorText"].text {
            throw BrowserError(.notLoaded, "\(url) could not be loaded: \(error)")
        }
        // Without a loader it is another place of the same document.
        guard let loader = answer["loaderId"].text else { return Response(url: url, status: nil, headers: [:]) }
        return try await wait(for: "\(url) to load", within: limit) { record in
            // Its scripts may have gone on to another document meanwhile.
            record.loaders.contains(loader) ? try record.loadedDocument() : nil
        }
    }

    /// Waits until a document that `body` asks for, by a click for example, is loaded.
    @discardableResult
    package func navigating(
        within limit: Duration = Page.limit, _ body: () async throws -> Void
    ) async throws -> Response {
        let before = record.documentCount
        try await body()
        return try await wait(for: "another document than \(record.document.url)", within: limit) { record in
            record.documentCount > before ? try record.loadedDocument() : nil
        }
    }

    /// Clicks on a link or button that leads to another document, and waits until that is loaded.
    @discardableResult
    package func follow(_ selector: String, containing text: String? = nil) async throws -> Response {
        try await navigating { try await click(selector, containing: text) }
    }

    /// Submits a form with its own button, and waits until the answer is loaded.
    /// - Parameter form: selects the form. Its first submit button is clicked.
    @discardableResult
    package func submit(_ form: String = "form") async throws -> Response {
        try await follow(":is(\(form)) :is(button:not([type=button], [type=reset]), input[type=submit])")
    }

    @discardableResult
    package func reload() async throws -> Response {
        try await navigating { _ = try await call("Page.reload") }
    }

    /// A file that the page saved.
    package struct Download: Sendable {
        /// The name as the server or the page has it.
        package let name: String
        package let data: Data
    }

    /// Waits until a download that `body` starts is complete.
    package func downloading(_ body: () async throws -> Void) async throws -> Download {
        let before = Set(record.downloads.keys)
        try await body()
        let (id, name) = try await wait(for: "a download to complete") { record -> (String, String)? in
            guard let (id, download) = record.downloads.first(where: { !before.contains($0.key) }) else { return nil }
            if download.isCanceled { throw BrowserError(.notLoaded, "the download of \(download.name) was canceled") }
            return download.isComplete ? (id, download.name) : nil
        }
        let file = browser.downloads.appendingPathComponent(id)
        defer { try? FileManager.default.removeItem(at: file) }
        return Download(name: name, data: try Data(contentsOf: file))
    }

    /// Switches the page's scripts off, or on again. A document that is there already is not loaded anew. Scripts of
    /// the test run nevertheless, but they must not wait for timers or events.
    package func setScripting(_ isOn: Bool) async throws {
        _ = try await call("Emulation.setScriptExecutionDisabled", ["value": .boolean(!isOn)])
        changeScripting(isOn)
    }

    package struct Cookie: Sendable, Hashable {
        package let name: String
        package let value: String
        package let domain: String
        package let path: String
        package let isHTTPOnly: Bool
        package let isSecure: Bool
        /// Strict, Lax or None; `nil` if the server did not say.
        package let sameSite: String?
        /// The time of its end in seconds since 1970; `nil`: it ends with the browser.
        package let expires: Double?
    }

    /// All cookies that the page's document would send.
    package func cookies() async throws -> [Cookie] {
        let answer = try await call("Network.getCookies")
        return (answer["cookies"].items).map { cookie in
            Cookie(
                name: cookie["name"].text ?? "", value: cookie["value"].text ?? "",
                domain: cookie["domain"].text ?? "", path: cookie["path"].text ?? "",
                isHTTPOnly: cookie["httpOnly"] == true, isSecure: cookie["secure"] == true,
                sameSite: cookie["sameSite"].text,
                expires: cookie["session"] == true ? nil : cookie["expires"].number)
        }
    }
}

extension PageRecord {
    /// The document that is shown, once it is loaded.
    fileprivate func loadedDocument() throws -> Page.Response? {
        if document.isErrorPage {
            let failure = requests.last { $0.isMainDocument }?.failure ?? "no answer"
            throw BrowserError(.notLoaded, "\(document.url) could not be loaded: \(failure)")
        }
        guard document.isLoaded else { return nil }
        let request = requests.last { $0.isMainDocument && $0.loader == document.loader }
        return Page.Response(url: document.url, status: request?.status, headers: request?.headers ?? [:])
    }
}
