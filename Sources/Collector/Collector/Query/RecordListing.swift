import CollectorStore
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import WireModel

/// One page of a list of records, written as it is read: however large the records are, a piece of them is in memory at
/// a time.
struct RecordListing: Sendable {
    let store: any RecordStore
    let query: RecordQuery
    /// Of the person who looks.
    let role: PersonRole
    /// Which of the events; `nil` for all, and for other records.
    var events: EventFilter?
    let limit: Int
    /// Whether samples come with the catalog's points too.
    var withMetrics = false
    /// Of the list the page is of; `nil` over the fleet.
    let device: DeviceID?

    /// Records looked at for one page: a filter that finds nothing gives an empty page with a `next`, not a request
    /// without end.
    private static let scanBudget = 5000
    private static let pieceRecords = 100

    /// A piece of the page.
    private struct Piece {
        var items: [RecordView] = []
        /// Where the list goes on after it; `nil` at its end.
        var position: String?
        /// Records that may still be looked at.
        var budget: Int
        /// Items that are still wanted.
        var wanted: Int

        var isLast: Bool { position == nil || budget <= 0 || wanted <= 0 }
    }

    /// - Parameter cursor: `nil` from the newest.
    /// - Throws: `Problem` for a cursor of another list, or where the store cannot be read.
    func response(from cursor: PageCursor?) async throws -> Response {
        if let cursor, cursor.device != device { throw Problem.invalidParameter("cursor", "is of another list.") }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // What cannot be read is said while it still can be.
        let first = try await piece(after: Piece(position: cursor?.before, budget: Self.scanBudget, wanted: limit))
        let body = ResponseBody { writer in
            var piece = first
            var isFirst = true
            var text = ByteBuffer(string: #"{"items":["#)
            while true {
                for item in piece.items {
                    if !isFirst { text.writeString(",") }
                    isFirst = false
                    text.writeBytes(try encoder.encode(item))
                }
                try await writer.write(text)
                text.clear()
                if piece.isLast { break }
                piece = try await self.piece(after: piece)
            }
            let next = piece.position.map { #""\#(PageCursor(device: device, before: $0).text)""# } ?? "null"
            text.writeString(#"],"next":\#(next)"#)
            let missing = store.unreadableFiles(of: query.stream)
            if !missing.isEmpty {
                text.writeString(#","missing":"#)
                text.writeBytes(try encoder.encode(missing))
            }
            text.writeString("}")
            try await writer.write(text)
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: WireNames.json, .cacheControl: "no-store"], body: body)
            .naming(missing: store.unreadableFiles(of: query.stream))
    }

    /// The next items that there are: at least one, unless the list or the budget ends before.
    private func piece(after former: Piece) async throws -> Piece {
        var piece = former
        piece.items = []
        repeat {
            let page: RecordPage
            do throws(StoreError) {
                page = try await store.records(
                    query, before: piece.position, limit: max(1, min(piece.wanted, piece.budget, Self.pieceRecords)))
            } catch {
                guard error.code == .invalid else { throw error }
                throw Problem.invalidParameter("cursor", "is not one that this collector gave.")
            }
            // An empty look costs too: what is passed over in the store must not make one request endless.
            piece.budget -= max(Self.pieceRecords, page.records.count)
            for record in page.records where events?.admits(record) ?? true {
                piece.items.append(try RecordView(record, for: role, withMetrics: withMetrics))
            }
            piece.position = page.next
            piece.wanted = former.wanted - piece.items.count
        } while !piece.isLast && piece.items.isEmpty
        return piece
    }
}

/// Goes over every record of a query in one pass, newest first, a page at a time: others are answered in between, and
/// memory holds one page.
struct RecordPages {
    let store: any RecordStore
    let query: RecordQuery

    /// Records one request may go over.
    static let maximumRecords = 5_000_000
    private static let pageRecords = 1000

    /// - Throws: `Problem` where the store cannot be read, or holds more than one request may go over; what `visit`
    ///   throws.
    func visit(_ visit: (StoredRecord) throws -> Void) async throws {
        var position: String?
        var seen = 0
        repeat {
            try Task.checkCancellation()
            let page = try await store.records(query, before: position, limit: Self.pageRecords)
            for record in page.records { try visit(record) }
            seen += page.records.count
            guard seen <= Self.maximumRecords else {
                throw Problem.tooMuch(
                    "More than \(Self.maximumRecords) records would have to be read. Ask for less time.")
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

extension HTTPField.Name {
    /// Record files that an answer passes over because they are damaged, separated by commas.
    static let missingFiles = Self("WS1-Missing-Files")!
}

extension Response {
    /// Says that the answer is not of all that devices have sent.
    func naming(missing files: [String]) -> Response {
        guard !files.isEmpty else { return self }
        var response = self
        response.headers[.missingFiles] = files.joined(separator: ", ")
        return response
    }
}
