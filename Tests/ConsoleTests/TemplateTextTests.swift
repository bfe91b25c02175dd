import Foundation
import Testing
import WireModel

@testable import Console

/// What the templates write around values.
@Suite struct TemplateTextTests {
    private static func templates() throws -> [(name: String, text: String)] {
        let directory = URL(fileURLWithPath: ConsoleHarness.assets).appendingPathComponent("templates")
        let files = try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
        return try files.map { ($0.lastPathComponent, try String(contentsOf: $0, encoding: .utf8)) }
    }

    @Test func `A count and its noun are written as one`() throws {
        // A noun behind a plain number is wrong for 1: {{devices(total)}} writes both.
        let plural = #/\{\{count\([a-zA-Z.]*\)\}\} (?:more |further |other |whole )?(?:[a-z]{3,}s)\b/#
        for (name, text) in try Self.templates() {
            #expect(text.matches(of: plural).map { String($0.0) } == [], "\(name)")
        }
    }

    @Test func `The sign-in page shows code as code`() throws {
        let problem = Problem(
            status: 401, code: .credentialUnknown, title: "No", detail: "The token needs `role` and 1 < 2.")
        let harness = try ConsoleHarness()
        let page = harness.console.signIn(next: "/", present: nil, problem: problem, base: "")
        let html = String(decoding: page.body, as: UTF8.self)
        #expect(html.contains("The token needs <code>role</code> and 1 &lt; 2."))
    }

    @Test func `Texts of the API never show a back-tick`() throws {
        let section =
            #/\{\{#\.?(?:[a-zA-Z.]*[pP]roblem|[a-zA-Z.]*detail|endReason|message)\}\}(?: ?<[^>]*>)*\{\{\.\}\}/#
        let member = #/\{\{\.?(?:problem\.)?(?:detail|message|endReason)\}\}/#
        for (name, text) in try Self.templates() {
            #expect(text.matches(of: section).map { String($0.0) } == [], "\(name)")
            #expect(text.matches(of: member).map { String($0.0) } == [], "\(name)")
            #expect(!text.contains("`"), "\(name)")
        }
    }
}
