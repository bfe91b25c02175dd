import Foundation
import JSON

/// A table as text (RFC 4180).
enum CSV {
    static func text(_ rows: [[String]]) -> Data {
        Data(rows.map { $0.map(field).joined(separator: ",") + "\r\n" }.joined().utf8)
    }

    /// Quoted where it must be. Spreadsheets compute a text that begins like a formula; an apostrophe prevents that.
    private static func field(_ text: String) -> String {
        var text = text
        if let first = text.unicodeScalars.first, "=+-@\t\r".unicodeScalars.contains(first), Double(text) == nil {
            text = "'" + text
        }
        guard text.contains(where: { $0 == "," || $0 == "\"" || $0.isNewline }) else { return text }
        return "\"\(text.replacing("\"", with: "\"\""))\""
    }
}

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
    /// - Throws: `APIProblem` if the API refuses the first page. If it refuses a later one, the answer breaks off.
    init(
        _ visit: Visit, _ path: String, _ query: FormFields, columns: [String],
        row: @escaping @Sendable (JSONValue) -> [String]
    ) async throws {
        let query = query.with("limit", Self.largestPage)
        let page = { @Sendable (cursor: String?) async throws -> (rows: [[String]], next: String?) in
            let page = try await visit.api.get(path, query.with("cursor", cursor))
            return (page.pageItems.map(row), page["next"].text)
        }
        self.page = { try await page($0) }
        let begin = try await page(nil)
        first = [columns] + begin.rows
        cursor = begin.next
    }
}
