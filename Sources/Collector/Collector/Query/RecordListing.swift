import CollectorAPI
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import RecordStore
import Registry
import WireModel

/// One page of a list of records, written while it is read. However large the records are, only a piece of them is in
/// memory, and only one record of it as JSON.
struct RecordListing: Sendable {
    let store: any RecordStore
    let query: RecordQuery
    /// The viewer's role.
    let role: PersonRole
    /// Selects events; `nil` for all, and for other records.
    var events: EventFilter?
    let limit: Int
    /// Whether samples also contain the catalog's metrics.
    var withMetrics = false
    /// Whether records that came as OTLP are shown as they came.
    var asOTLP = false
    /// Whether records name their kind.
    var withKind = false
    /// The device of the list; `nil` for the fleet.
    let device: DeviceID?
    /// The names of devices, for a list over the fleet.
    var names: @Sendable (Set<DeviceID>) async throws(StoreError) -> [DeviceID: String] = { _ in [:] }

    /// The most records examined for one page. A filter that finds nothing returns an empty page with a `next`, not an
    /// endless request.
    private static let scanBudget = 5000
    private static let pieceRecords = 100
    /// A page ends once its records have so many bytes, for readers that need it whole.
    static let pageBytes = 4 << 20

    /// Answers are written in pieces of about this size.
    private static let writtenBytes = 64 << 10

    /// A piece of the page.
    private struct Piece {
        var records: [StoredRecord] = []
        /// The position after it; `nil` at the end of the list.
        var position: String?
        /// Records that may still be examined.
        var budget: Int
        /// Items that are still wanted.
        var wanted: Int
        /// The names of the records' devices, for a list over the fleet.
        var names: [DeviceID: String] = [:]
        /// Bytes of records that still fit in the page.
        var bytes = RecordListing.pageBytes

        var isLast: Bool { position == nil || budget <= 0 || wanted <= 0 || bytes <= 0 }
    }

    /// - Parameter cursor: `nil` starts at the newest record.
    /// - Throws: `Problem` for a cursor of another list, or if the store cannot be read.
    func response(from cursor: PageCursor?) async throws -> Response {
        if let cursor, cursor.device != device { throw Problem.invalidParameter("cursor", "belongs to another list.") }
        let encoder = JSONEncoder.stable()
        // An unreadable store can only be reported before the answer begins.
        let first = try await piece(after: Piece(position: cursor?.before, budget: Self.scanBudget, wanted: limit))
        if Handover.current != nil { return try await page(from: first).response() }
        let body = ResponseBody { writer in
            var piece = first
            var isFirst = true
            var text = ByteBuffer(string: #"{"items":["#)
            while true {
                for record in piece.records {
                    if !isFirst { text.writeString(",") }
                    isFirst = false
                    let view = try view(of: record, in: piece)
                    text.writeBytes(try encoder.encode(view))
                    guard text.readableBytes >= Self.writtenBytes else { continue }
                    try await writer.write(text)
                    text.clear()
                }
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

    private func view(of record: StoredRecord, in piece: Piece) throws -> RecordView {
        var view = try RecordView(record, for: role, withMetrics: withMetrics, asOTLP: asOTLP)
        view.deviceName = piece.names[record.device]
        if withKind { view.kind = RecordKindName.text(record.header.kind) }
        return view
    }

    /// The page in memory, at most `pageBytes` of it.
    private func page(from first: Piece) async throws -> RecordsView {
        var (piece, page) = (first, RecordsView())
        while true {
            for record in piece.records {
                page.items.append(try view(of: record, in: piece))
            }
            if piece.isLast { break }
            piece = try await self.piece(after: piece)
        }
        page.next = piece.position.map { PageCursor(device: device, before: $0).text }
        let missing = store.unreadableFiles(of: query.stream)
        page.missing = missing.isEmpty ? nil : missing
        return page
    }

    /// The next items: at least one, unless the list or the budget ends before.
    private func piece(after former: Piece) async throws -> Piece {
        var piece = former
        piece.records = []
        repeat {
            let page: RecordPage
            do throws(StoreError) {
                page = try await store.records(
                    query, before: piece.position, limit: max(1, min(piece.wanted, piece.budget, Self.pieceRecords)))
            } catch {
                guard error.code == .invalid else { throw error }
                throw Problem.invalidParameter("cursor", "is not one that this collector gave.")
            }
            // An empty result costs too. Records skipped in the store must not make a request endless.
            piece.budget -= max(Self.pieceRecords, page.records.count)
            // A context is shown with the records that it holds for.
            for record in page.records
            where record.header.kind != WireRecordKind.otlpContext.rawValue && events?.admits(record) ?? true {
                piece.records.append(record)
                piece.bytes -= record.bytes.count
            }
            piece.position = page.next
            piece.wanted = former.wanted - piece.records.count
        } while !piece.isLast && piece.records.isEmpty
        piece.names = try await names(Set(piece.records.map(\.device)))
        return piece
    }
}

/// Reads every record of a query in one pass, newest first, page by page. Others are served in between, and memory
/// holds one page.
struct RecordPages {
    let store: any RecordStore
    let query: RecordQuery

    /// The most records of one request.
    static let recordsLimit = 5_000_000

    /// - Throws: `Problem` if the store cannot be read or has more records than one request may read, and what `visit`
    ///   throws.
    func visit(_ visit: (StoredRecord) throws -> Void) async throws {
        var position: String?
        var seen = 0
        repeat {
            try Task.checkCancellation()
            let page = try await store.records(query, before: position, limit: RecordPage.maximumRecords)
            for record in page.records { try visit(record) }
            seen += page.records.count
            guard seen <= Self.recordsLimit else {
                throw Problem.tooMuch("The answer needs more than \(Self.recordsLimit) records. Ask for less time.")
            }
            position = page.next
        } while position != nil
    }
}

extension Problem {
    /// The answer would be too large or last too long.
    static func tooMuch(_ detail: String) -> Problem {
        Problem(status: 400, code: .tooMuch, title: "Too much for one answer", detail: detail)
    }
}

extension HTTPField.Name {
    /// Damaged record files that the answer leaves out, separated by commas.
    static let missingFiles = Self("WS1-Missing-Files")!
}

extension Response {
    /// Says that the answer does not contain everything that devices have sent.
    func naming(missing files: [String]) -> Response {
        guard !files.isEmpty else { return self }
        var response = self
        response.headers[.missingFiles] = files.joined(separator: ", ")
        return response
    }
}
