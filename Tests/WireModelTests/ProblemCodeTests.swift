import Foundation
import Testing
import WireModel

@Suite("Problem codes") struct ProblemCodeTests {
    /// The codes in a column of the table below a heading.
    private static func codes(_ document: String, _ heading: String, column: Int) throws -> Set<String> {
        let file = URL(filePath: #filePath).appending(path: "../../../Documentation/\(document)").standardized
        let text = try #require(
            try String(contentsOf: file, encoding: .utf8).split(separator: "\n## \(heading)\n").last)
        let table = text.split(separator: "\n## ")[0].split(separator: "\n").filter { $0.hasPrefix("| ") }
        return Set(
            table.flatMap { row in
                row.split(separator: "|")[column].matches(of: /`([a-z-]+)`/).map { String($0.output.1) }
            })
    }

    @Test func `The runbook reports of every code and of no other`() throws {
        let reported = try Self.codes("runbook.md", "HTTP problem codes", column: 0)
        #expect(reported == Set(Problem.Code.allCases.map(\.rawValue)))
    }

    @Test func `The protocol names no other code`() throws {
        let named = try Self.codes("wire-protocol.md", "Errors", column: 1)
        #expect(named.count > 30 && named.isSubset(of: Problem.Code.allCases.map(\.rawValue)))
    }
}
