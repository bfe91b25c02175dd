import ClickHouse
import ClickHouseTestKit
import Foundation
import Testing
import WireModel

@testable import ClusterStore

/// `Documentation/tables.md` describes the tables as they are. `Tools/checks/tables` runs its statements with a current
/// engine too.
@Suite struct DocumentedTablesTests {
    private static func page() throws -> String {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Documentation/tables.md")
        return try String(contentsOf: path, encoding: .utf8)
    }

    @Test(arguments: StreamName.allCases)
    func `Every column is documented`(_ stream: StreamName) throws {
        var columns: [String: [String]] = [:]
        var heading = ""
        for line in try Self.page().split(separator: "\n") {
            if line.hasPrefix("## ") { heading = String(line.dropFirst(3)) }
            let cells = line.split(separator: "`", omittingEmptySubsequences: false)
            guard line.hasPrefix("| `"), cells.count > 3 else { continue }
            columns[heading, default: []].append("\(cells[1]) \(cells[3])")
        }
        let documented =
            columns["Columns of all tables", default: []]
            + columns["Columns of `\(PeopleSchema.table(of: stream))`", default: []]
        #expect(documented == PeopleSchema.columns(of: stream).map { "\($0.name) \($0.type)" })
    }

    @Test func `Every statement runs`() async throws {
        let statements = try Self.page().components(separatedBy: "```sql\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
        #expect(statements.count >= 6)
        let bed = try await ClusterTestBed()
        let client = try ClickHouseClient(bed.configuration.clickHouse, logger: ClusterTestBed.logger)
        for statement in statements {
            #expect(statement.contains("organization = 'default'") && statement.contains(" FINAL\n"))
            _ = try await client.query(statement)
        }
        await client.shutDown()
        await bed.remove()
    }
}
