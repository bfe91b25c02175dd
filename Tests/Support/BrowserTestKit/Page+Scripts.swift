import Foundation
import JSON

// Asking the page.
extension Page {
    /// Runs a script in the page and returns its last value. Waits for it if that is a promise.
    /// - Throws: `BrowserError` with the script's error.
    @discardableResult
    package func evaluate(_ script: String) async throws -> JSONValue {
        let answer = try await call(
            "Runtime.evaluate",
            [
                "expression": .text(script), "returnByValue": true, "awaitPromise": true, "userGesture": true,
            ])
        let exception = answer["exceptionDetails"]
        if exception != .null {
            throw BrowserError(.script, "\(Finding.text(exception: exception)) (in the script \(script.prefix(200)))")
        }
        return answer["result"]["value"]
    }

    /// The same, with the value as a type of Swift.
    package func evaluate<Value: Decodable>(_ script: String, as type: Value.Type) async throws -> Value {
        try JSONDecoder().decode(type, from: Data(try await evaluate(script).script.utf8))
    }

    /// Calls a function of JavaScript.
    func evaluate(function: String, _ arguments: JSONValue...) async throws -> JSONValue {
        try await evaluate("(\(function))(\(arguments.map(\.script).joined(separator: ", ")))")
    }

    /// Waits until a condition holds, in whatever document is shown then.
    /// - Parameters:
    ///   - condition: an expression of JavaScript. It does not hold while it throws an error.
    ///   - limit: how long to wait.
    package func waitUntil(_ condition: String, within limit: Duration = Page.limit) async throws {
        try await poll(for: "`\(condition)`", within: limit) {
            try await evaluate("(async () => !!(await (\(condition))))()") == true ? () : nil
        }
    }

    /// The text of the first element, as shown. Waits until there is one.
    package func text(of selector: String) async throws -> String {
        try await poll(for: "an element \(selector)") {
            try await evaluate(function: "selector => document.querySelector(selector)?.innerText", .text(selector))
                .text
        }
    }

    /// The texts of all elements, as shown.
    package func texts(of selector: String) async throws -> [String] {
        let texts = try await evaluate(
            function: "selector => [...document.querySelectorAll(selector)].map(element => element.innerText)",
            .text(selector))
        return texts.items.compactMap(\.text)
    }

    /// What a field of a form holds. Waits until there is one.
    package func value(of selector: String) async throws -> String {
        try await poll(for: "a field \(selector)") {
            try await evaluate(function: "selector => document.querySelector(selector)?.value", .text(selector))
                .text
        }
    }

    /// Whether the first element has the keyboard's focus.
    package func isFocused(_ selector: String) async throws -> Bool {
        try await evaluate(
            function: """
                selector => document.hasFocus() && document.activeElement !== null
                    && document.activeElement === document.querySelector(selector)
                """, .text(selector)) == true
    }

    /// The element that has the keyboard's focus, as a selector that says most of it; `body` if none has.
    package var focus: String {
        get async throws {
            try await evaluate("(\(PageScript.path))(document.activeElement ?? document.body)").text ?? ""
        }
    }

    /// Asks again and again until there is an answer. What the page refuses or fails at meanwhile, for example because
    /// it goes to another document, is in the error after the time limit.
    func poll<Value: Sendable>(
        for what: String, within limit: Duration = Page.limit, _ answer: () async throws -> Value?
    ) async throws -> Value {
        let clock = ContinuousClock()
        let deadline = clock.now + limit
        var lastFailure: String?
        while true {
            do {
                if let value = try await answer() { return value }
                lastFailure = nil
            } catch let error as BrowserError where error.code == .script || error.code == .refused {
                // A script that cannot be read will not do better later.
                if error.description.hasPrefix("SyntaxError") { throw error }
                if let ending = record.ending { throw ending }
                lastFailure = error.description
            }
            guard clock.now < deadline else {
                let page = record
                let findings = page.messages.suffix(3).map { "\n  \($0)" }.joined()
                throw BrowserError.timedOut(
                    limit,
                    waitingFor: "\(what) in \(page.document.url)\(lastFailure.map { "; last: \($0)" } ?? "")\(findings)"
                )
            }
            try await Task.sleep(for: .milliseconds(30))
        }
    }
}
