import CollectorStore
import WireModel

/// Goes over every record of a query in one pass, newest first, a page at a time: others are answered in between, and memory holds one page.
struct RecordPages {
    let store: any RecordStore
    let query: RecordQuery

    /// Records one request may go over.
    static let maximumRecords = 5_000_000
    private static let pageRecords = 1000

    /// - Throws: `Problem` where the store cannot be read, or holds more than one request may go over; what `visit` throws.
    func visit(_ visit: (StoredRecord) throws -> Void) async throws {
        var position: String?
        var seen = 0
        repeat {
            try Task.checkCancellation()
            let page = try await store.records(query, before: position, limit: Self.pageRecords)
            for record in page.records { try visit(record) }
            seen += page.records.count
            guard seen <= Self.maximumRecords else {
                throw Problem.tooMuch("More than \(Self.maximumRecords) records would have to be read. Ask for less time.")
            }
            position = page.next
        } while position != nil
    }
}

extension Problem {
    /// An answer that would be, or would take, more than one request may.
    static func tooMuch(_ detail: String) -> Problem {
        Problem(status: 400, code: "too-much", title: "Too much for one answer", detail: detail)
    }
}
