import JSON

/// The reports of a page so far, event by event: its documents, requests, downloads and messages.
struct PageRecord: Sendable {
    /// The document in the page's main frame.
    struct Document: Sendable {
        var loader = ""
        var url = "about:blank"
        var isLoaded = true
        /// The browser's own error page stands in for a document that could not be loaded.
        var isErrorPage = false
    }

    struct Request: Sendable {
        var url: String
        var method: String
        /// The type as the protocol names it: Document, Script, Fetch, EventSource, WebSocket...
        var type: String
        var session: String
        /// The document it is for, or that asked for it.
        var loader: String
        var isMainDocument: Bool
        var status: Int?
        var failure: String?
        var headers: [String: String] = [:]
        /// Whether its headers or its failure came. Streams and sockets count as answered at once.
        var isAnswered: Bool
        var isForgotten = false
    }

    struct Download: Sendable {
        var name: String
        var isComplete = false
        var isCanceled = false
    }

    enum Action: Equatable {
        case answerDialog(accept: Bool, session: String)
        /// A frame of another origin or a worker waits to be watched.
        case watch(session: String)
    }

    let mainFrame: String
    private(set) var document = Document()
    /// Documents that the main frame has gone to, the first being 1.
    private(set) var documentCount = 0
    private(set) var loaders: Set<String> = []
    private(set) var requests: [Request] = []
    private(set) var messages: [Finding] = []
    /// The downloads by the browser's id, which is also the name of the file.
    private(set) var downloads: [String: Download] = [:]
    private(set) var ending: BrowserError?

    /// Indexes of `requests`. A redirected request keeps its id. One for a worker's script begins in the page's session
    /// and ends in the worker's.
    private var latest: [String: Int] = [:]

    init(mainFrame: String) {
        self.mainFrame = mainFrame
    }

    mutating func end(_ error: BrowserError) { ending = ending ?? error }

    /// What is not answered yet may still become a finding.
    mutating func forgetFindings() {
        messages = []
        for index in requests.indices where requests[index].isAnswered { requests[index].isForgotten = true }
    }

    /// - Returns: what the page has to do at once; it waits for that.
    mutating func handle(_ event: DevToolsEvent) -> [Action] {
        let parameters = event.parameters
        let session = event.session ?? ""
        switch event.method {
        case "Page.frameNavigated": navigated(parameters["frame"])
        case "Page.lifecycleEvent":
            if parameters["name"] == "load", parameters["frameId"].text == mainFrame,
                parameters["loaderId"].text == document.loader
            {
                document.isLoaded = true
            }
        case "Page.javascriptDialogOpening":
            // The browser asks whether to leave a page with unsaved input; the test has asked to.
            if parameters["type"] == "beforeunload" { return [.answerDialog(accept: true, session: session)] }
            messages.append(
                .dialog("\(parameters["type"].text ?? "dialog") \"\(parameters["message"].text ?? "")\""))
            return [.answerDialog(accept: false, session: session)]
        case "Runtime.consoleAPICalled": Finding(consoleCall: parameters).map { messages.append($0) }
        case "Runtime.exceptionThrown": messages.append(Finding(exception: parameters))
        case "Log.entryAdded": Finding(logEntry: parameters["entry"]).map { messages.append($0) }
        case "Audits.issueAdded": messages.append(Finding(issue: parameters["issue"]))
        case "Network.requestWillBeSent": requested(parameters, session)
        case "Network.responseReceived": responded(parameters)
        case "Network.loadingFailed": failed(parameters)
        case "Network.webSocketCreated": connected(parameters, session)
        case "Browser.downloadWillBegin", "Browser.downloadProgress": downloaded(parameters)
        case "Target.attachedToTarget":
            if event.session != nil, let child = parameters["sessionId"].text { return [.watch(session: child)] }
        case "Target.detachedFromTarget": detached(parameters["sessionId"].text)
        case "Inspector.targetCrashed":
            end(BrowserError(.pageEnded, "the page's process crashed; it showed \(document.url)"))
        default: break
        }
        return []
    }

    private mutating func navigated(_ frame: JSONValue) {
        guard frame["id"].text == mainFrame, let loader = frame["loaderId"].text else { return }
        document = Document(
            loader: loader, url: frame["url"].text ?? "", isLoaded: false,
            isErrorPage: frame["unreachableUrl"] != .null)
        if let url = frame["unreachableUrl"].text { document.url = url }
        documentCount += 1
        loaders.insert(loader)
        // Requests that the document before has left unanswered stay so.
        for index in requests.indices where requests[index].loader != loader { requests[index].isAnswered = true }
    }

    private mutating func requested(_ parameters: JSONValue, _ session: String) {
        guard let id = parameters["requestId"].text, let url = parameters["request"]["url"].text else { return }
        if parameters["redirectResponse"] != .null, let former = latest[id] {
            requests[former].status = parameters["redirectResponse"]["status"].integer
            requests[former].isAnswered = true
        }
        let type = parameters["type"].text ?? ""
        latest[id] = requests.count
        requests.append(
            Request(
                url: url, method: parameters["request"]["method"].text ?? "", type: type, session: session,
                loader: parameters["loaderId"].text ?? "",
                isMainDocument: type == "Document" && parameters["frameId"].text == mainFrame,
                isAnswered: type == "EventSource"))
    }

    private mutating func responded(_ parameters: JSONValue) {
        guard let id = parameters["requestId"].text, let index = latest[id] else { return }
        let response = parameters["response"]
        requests[index].status = response["status"].integer
        requests[index].headers = Dictionary(
            response["headers"].members.map { ($0.key.lowercased(), $0.value.text ?? "") }
        ) { $1 }
        requests[index].isAnswered = true
    }

    private mutating func failed(_ parameters: JSONValue) {
        guard let id = parameters["requestId"].text, let index = latest[id] else { return }
        requests[index].isAnswered = true
        // The page itself gave it up, or became a download.
        if parameters["canceled"] == true { return }
        let reasons = [parameters["errorText"].text, parameters["blockedReason"].text.map { "blocked (\($0))" }]
        requests[index].failure = reasons.compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: ", ")
    }

    private mutating func connected(_ parameters: JSONValue, _ session: String) {
        requests.append(
            Request(
                url: parameters["url"].text ?? "", method: "GET", type: "WebSocket", session: session,
                loader: document.loader, isMainDocument: false, isAnswered: true))
    }

    private mutating func downloaded(_ parameters: JSONValue) {
        guard let id = parameters["guid"].text else { return }
        if parameters["frameId"].text == mainFrame {
            downloads[id] = Download(name: parameters["suggestedFilename"].text ?? "")
        }
        downloads[id]?.isComplete = parameters["state"] == "completed"
        downloads[id]?.isCanceled = parameters["state"] == "canceled"
    }

    private mutating func detached(_ session: String?) {
        for index in requests.indices where requests[index].session == session { requests[index].isAnswered = true }
    }
}

extension PageRecord {
    /// - Parameters:
    ///   - allowedOrigin: scheme, host and port, without a slash at the end.
    ///   - expectedStatuses: error statuses that the page's own documents may have.
    func findings(allowedOrigin: String, expectedStatuses: Set<Int>) -> [Finding] {
        messages
            + requests.filter { !$0.isForgotten }.flatMap { request -> [Finding] in
                var findings: [Finding] = []
                if !request.isLocal(to: allowedOrigin) {
                    findings.append(.foreignRequest("\(request.method) \(request.url) (\(request.type))"))
                }
                let isExpected = request.isMainDocument && expectedStatuses.contains(request.status ?? 0)
                if let failure = request.failure {
                    findings.append(.failedRequest("\(request.method) \(request.url): \(failure)"))
                } else if let status = request.status, status >= 400, !isExpected {
                    findings.append(.failedRequest("\(request.method) \(request.url): status \(status)"))
                }
                return findings
            }
    }
}

extension PageRecord.Request {
    /// Whether it stays in the browser, or goes to that origin.
    fileprivate func isLocal(to origin: String) -> Bool {
        if ["data:", "blob:", "about:"].contains(where: url.hasPrefix) { return true }
        // A socket's scheme is another, its origin the same: ws for http, wss for https.
        let web = url.hasPrefix("ws") ? "http" + url.dropFirst(2) : url
        guard web.hasPrefix(origin) else { return false }
        return web.dropFirst(origin.count).first.map { "/?#".contains($0) } ?? true
    }
}
