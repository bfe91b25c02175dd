import JSON

/// Something that a page should not have done.
package enum Finding: Sendable, Hashable, CustomStringConvertible {
    case consoleError(String)
    case consoleWarning(String)
    /// An error or a rejected promise that no script caught.
    case uncaughtException(String)
    /// Something that the page's Content-Security-Policy forbids, blocked or only reported.
    case contentSecurityPolicy(String)
    /// A request to another origin than the allowed one, whether it succeeded, failed or was blocked.
    case foreignRequest(String)
    /// A request without an answer, or with an error status.
    case failedRequest(String)
    /// What the browser itself has to say about the page: a deprecated feature, a missing doctype, a form field without
    /// name.
    case browserMessage(String)
    /// A dialog of a script (`alert`, `confirm`, `prompt`). The kit has dismissed it.
    case dialog(String)

    package var description: String {
        switch self {
        case .consoleError(let text): "console error: \(text)"
        case .consoleWarning(let text): "console warning: \(text)"
        case .uncaughtException(let text): "uncaught exception: \(text)"
        case .contentSecurityPolicy(let text): "Content-Security-Policy: \(text)"
        case .foreignRequest(let text): "request to another origin: \(text)"
        case .failedRequest(let text): "failed request: \(text)"
        case .browserMessage(let text): "message of the browser: \(text)"
        case .dialog(let text): "dialog: \(text)"
        }
    }
}

extension Finding {
    /// - Parameter parameters: of `Runtime.consoleAPICalled`.
    /// - Returns: `nil` for what is neither error nor warning.
    init?(consoleCall parameters: JSONValue) {
        let words = parameters["args"].items.map { argument in
            argument["value"].text ?? argument["description"].text ?? argument["value"].script
        }
        let text =
            words.joined(separator: " ") + Self.place(parameters["stackTrace"]["callFrames"].items.first ?? .null)
        switch parameters["type"].text {
        case "error", "assert": self = .consoleError(text)
        case "warning": self = .consoleWarning(text)
        default: return nil
        }
    }

    /// - Parameter parameters: of `Runtime.exceptionThrown`.
    init(exception parameters: JSONValue) {
        let details = parameters["exceptionDetails"]
        self = .uncaughtException(Self.text(exception: details) + Self.place(details))
    }

    /// - Parameter entry: of `Log.entryAdded`.
    /// - Returns: `nil` for what is no error or warning, and for what other events report better.
    init?(logEntry entry: JSONValue) {
        let text = entry["text"].text ?? ""
        guard entry["level"].text == "error" || entry["level"].text == "warning",
            // Failed requests, and what workers write to the console.
            entry["source"].text != "network", entry["source"].text != "worker",
            // `Audits.issueAdded` has all violations; the log lacks some.
            !(text.contains("Content Security Policy") && text.contains("violates"))
        else { return nil }
        self = .browserMessage(text + Self.place(entry))
    }

    /// - Parameter issue: of `Audits.issueAdded`.
    init(issue: JSONValue) {
        let violation = issue["details"]["contentSecurityPolicyIssueDetails"]
        guard violation != .null else {
            self = .browserMessage("\(issue["code"].text ?? "an issue"): \(issue["details"].script)")
            return
        }
        let directive = violation["violatedDirective"].text ?? "a directive"
        let kind =
            switch violation["contentSecurityPolicyViolationType"].text {
            case "kInlineViolation": "inline code or style"
            case "kEvalViolation": "eval"
            case let kind: kind ?? "something"
            }
        let what = violation["blockedURL"].text ?? kind
        self = .contentSecurityPolicy("\(directive) forbids \(what)" + Self.place(violation["sourceCodeLocation"]))
    }

    static func text(exception details: JSONValue) -> String {
        details["exception"]["description"].text
            ?? details["exception"]["value"].text
            ?? details["text"].text ?? "an error"
    }

    private static func place(_ location: JSONValue) -> String {
        guard let url = location["url"].text, !url.isEmpty else { return "" }
        // The protocol counts lines from 0.
        return " (\(url)\(location["lineNumber"].integer.map { ":\($0 + 1)" } ?? ""))"
    }
}
