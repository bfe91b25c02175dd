import Foundation
import JSON

// What is wrong with a page.
extension Page {
    /// Everything that the page and those before it should not have done, in the order in which the browser reported
    /// it. Waits first until all requests so far are answered.
    /// - Parameters:
    ///   - allowedOrigin: the only origin that may be asked for anything, such as `http://127.0.0.1:8080`.
    ///   - expectedStatuses: error statuses that documents may have that the test itself went to.
    package func findings(
        allowedOrigin: String, expectedStatuses: Set<Int> = [], within limit: Duration = Page.limit
    ) async throws -> [Finding] {
        // What the page does at once after an event it does before this.
        try await evaluate("0")
        do {
            try await wait(for: "all requests to be answered", within: limit) { record in
                record.requests.allSatisfy(\.isAnswered) ? () : nil
            }
        } catch let error as BrowserError where error.code == .timedOut {
            let open = record.requests.filter { !$0.isAnswered }.map { "\($0.method) \($0.url)" }
            throw BrowserError.timedOut(limit, waitingFor: "answers to \(open.joined(separator: ", "))")
        }
        return record.findings(allowedOrigin: allowedOrigin, expectedStatuses: expectedStatuses)
    }

    /// `findings` leaves out what came before.
    package func forgetFindings() { changeRecord { $0.forgetFindings() } }

    /// Something of a page that some people cannot use.
    package struct AccessibilityViolation: Sendable, Hashable, CustomStringConvertible {
        /// axe-core's name of the rule, such as `color-contrast`.
        package let rule: String
        /// minor, moderate, serious or critical.
        package let impact: String
        package let selector: String
        package let help: String
        /// What would mend it.
        package let summary: String

        package var description: String {
            "\(rule) (\(impact)) at \(selector): \(help). \(summary.replacingOccurrences(of: "\n", with: " "))"
        }
    }

    /// Rules of WCAG 2.1 at levels A and AA, and those that axe-core recommends beyond.
    private static let rules: JSONValue = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]

    /// What axe-core finds in the page as it is shown now. The page's scripts must be on.
    package func accessibilityViolations() async throws -> [AccessibilityViolation] {
        guard runsScripts else {
            throw BrowserError(.script, "axe-core cannot check a page whose scripts are off")
        }
        if try await evaluate("typeof axe") != "object" { try await evaluate(AxeCore.source.get()) }
        let found = try await evaluate(function: PageScript.accessibility, Self.rules)
        return found.items.map { violation in
            AccessibilityViolation(
                rule: violation["rule"].text ?? "", impact: violation["impact"].text ?? "",
                selector: violation["selector"].text ?? "", help: violation["help"].text ?? "",
                summary: violation["summary"].text ?? "")
        }
    }

    package struct OverflowingElement: Sendable, Hashable, CustomStringConvertible {
        package enum Kind: String, Sendable {
            /// It reaches beyond the window's right edge, so that the page scrolls sideways.
            case page
            /// It cuts off text that no `title` contains.
            case text
        }

        package let kind: Kind
        package let selector: String
        package let text: String
        /// The excess in CSS pixels.
        package let excess: Double

        package var description: String {
            let what = kind == .page ? "makes the page too wide" : "cuts its text off"
            return "\(selector) \(what) by \(Int(excess.rounded(.up))) pixels: \"\(text)\""
        }
    }

    /// Elements that make the page scroll sideways, and elements that cut text off without a `title`. What scrolls by
    /// itself (`overflow-x: auto`) is fine, and so is text for screen readers only.
    package func overflowingElements() async throws -> [OverflowingElement] {
        let width = JSONValue.init(appearance.viewport.width)
        let found = try await evaluate(function: PageScript.overflowing, width)
        return found.items.map { element in
            OverflowingElement(
                kind: element["kind"].text.flatMap { .init(rawValue: $0) } ?? .page,
                selector: element["selector"].text ?? "", text: element["text"].text ?? "",
                excess: element["excess"].number ?? 0)
        }
    }
}

/// The script of axe-core, as `Tools/axe-core` has fetched it.
private enum AxeCore {
    static let source = Result<String, BrowserError> { () throws(BrowserError) in
        let root = (#filePath as String).components(separatedBy: "/Tests/")[0]
        let file = URL(fileURLWithPath: root).appendingPathComponent(".build/axe-core/axe.min.js")
        guard let source = try? String(contentsOf: file, encoding: .utf8) else {
            throw BrowserError(.missing, "\(file.path) is missing; run Tools/axe-core")
        }
        return source
    }
}
