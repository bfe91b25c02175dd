import CollectorAPI
import Foundation
import JSON
import WireModel

/// A table that is read from the API and sent page by page.
struct CSVPages: Sendable {
    private static let largestPage = "1000"

    /// The column names and the first page.
    var first: [[String]]
    /// Where the next page begins; `nil` if the first one is all.
    var cursor: String?
    /// The page from a cursor on.
    var page: @Sendable (_ cursor: String) async throws -> (rows: [[String]], next: String?)

    /// The whole list that a route of the API gives.
    /// - Parameter row: a row of an item, with as many fields as columns.
    /// - Throws: `Problem` if the API refuses the first page. If it refuses a later one, the answer breaks off.
    init<Item>(
        _ visit: Visit, _ operation: APIOperation<Page<Item>>, _ query: FormFields, columns: [String],
        row: @escaping @Sendable (Item) -> [String]
    ) async throws {
        let query = query.with("limit", Self.largestPage)
        let page = { @Sendable (cursor: String?) async throws -> (rows: [[String]], next: String?) in
            let page = try await visit.api.call(operation, query.with("cursor", cursor))
            return (page.items.map(row), page.next)
        }
        self.page = { try await page($0) }
        let begin = try await page(nil)
        first = [columns] + begin.rows
        cursor = begin.next
    }
}
