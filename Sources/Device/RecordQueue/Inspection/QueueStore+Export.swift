import FoundationEssentials
import Glibc
import SQLite
import SwiftProtobuf
import TelemetryBasics
import WireModel

/// Exports records as JSON, one per line.
extension QueueStore {
    /// - Parameters:
    ///   - cursor: `next` of the former page; `nil` for the start.
    ///   - limit: 1 or more. A page also ends at about a mebibyte of records.
    func export(after cursor: String?, limit: Int) throws -> QueueExport {
        let tables = state.tables.sorted { ($0.stream, $0.name) < ($1.stream, $1.name) }
        var (start, number) = try Self.parse(cursor, tables)
        var page = QueueExport(lines: [], next: nil)
        var bytes = 0
        while start < tables.count {
            let table = tables[start]
            let rows = try connection.cached(
                "SELECT \(StoredRow.columns) FROM \(table.name) WHERE number > ? ORDER BY number")
            try rows.bind(max(number, state[table].front), at: 1)
            defer { rows.reset() }
            while try rows.step() {
                guard page.lines.count < max(1, limit), bytes < WireLimits.partBytes else {
                    page.next = "\(table.name):\(number)"
                    return page
                }
                let row = try StoredRow(rows, of: table.stream)
                number = row.number
                bytes += row.body.count
                page.lines.append(try line(table, row))
            }
            start += 1
            number = 0
        }
        return page
    }

    private static func parse(_ cursor: String?, _ tables: [RecordTable]) throws -> (Int, UInt64) {
        guard let cursor else { return (0, 0) }
        let parts = cursor.split(separator: ":")
        guard parts.count == 2, let number = UInt64(parts[1]),
            let index = tables.firstIndex(where: { $0.name == parts[0] })
        else {
            throw QueueError(.invalid, "the cursor of the export does not belong to this queue; begin the export again")
        }
        return (index, number)
    }

    private struct Line: Encodable {
        var stream: String
        var epoch: String?
        var number: UInt64
        var kind: String
        var module: String?
        /// RFC 3339.
        var wallTime: String?
        var bootID: String?
        var timeSinceBoot: UInt64?
        var test: Bool?
        var application: String?
        /// The body; in base64 if the kind is unknown or the body is malformed.
        var body: String?
        /// The row cannot be read.
        var isDamaged: Bool?
        /// The row is sealed, and its key is not at hand.
        var isSealed: Bool?
    }

    private func line(_ table: RecordTable, _ row: StoredRow) throws -> String {
        let epoch: EpochID? =
            switch table {
            case .current: state.epoch
            case .ended(let ordinal, _): state.ended.first { $0.ordinal == ordinal }?.id
            }
        var line = Line(
            stream: table.stream.description, epoch: epoch?.description, number: row.number, kind: "unknown")
        let record: Data
        do throws(QueueError) {
            // A plain record is shown even if its link is damaged.
            record = row.keyID == 0 ? row.body : try seal.open(row)?.bytes ?? Data()
        } catch {
            line.isSealed = true
            return try Self.text(line)
        }
        guard let header = RecordHeader(scanning: record) else {
            line.isDamaged = true
            line.body = record.base64EncodedString()
            return try Self.text(line)
        }
        let body = header.body(of: record)
        line.kind = WireRecordKind(rawValue: header.kind)?.word ?? "kind-\(header.kind)"
        line.module = header.module.isEmpty ? nil : header.module
        line.wallTime = Timestamp.text(header.wallTime)
        line.bootID = header.bootID?.description
        line.timeSinceBoot = header.timeSinceBoot
        line.test = header.test ? true : nil
        line.application = header.application.isEmpty ? nil : header.application
        let json = WireRecordKind(rawValue: header.kind).flatMap { Self.json(body, $0) }
        if json == nil { line.body = body.base64EncodedString() }
        let text = try Self.text(line)
        // The decoded body is JSON already.
        return json.map { "\(text.dropLast()),\"body\":\($0)}" } ?? text
    }

    private static func text(_ line: Line) throws -> String {
        String(decoding: try JSONEncoder.stable().encode(line), as: UTF8.self)
    }

    private static func json(_ body: Data, _ kind: WireRecordKind) -> String? {
        kind.body.flatMap { json(body, $0) }
    }

    private static func json<Body: Message>(_ body: Data, _: Body.Type) -> String? {
        guard let message = try? Body(serializedBytes: body), let bytes: Data = try? message.jsonUTF8Bytes() else {
            return nil
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A file beside the queue of which the queue keeps a copy.
package enum CopiedFile: Int64, CaseIterable, Sendable {
    /// The device's identity.
    case identity = 1
    /// The person's consent.
    case consent = 2
}

/// Copies of small files, used if a file is damaged or gone. The queue does not interpret them.
extension RecordQueue {
    /// The largest copy. Two certificates with their credentials have a few thousand bytes.
    package static let maximumCopyBytes = 64 << 10

    /// The stored copy; `nil` if there is none. Waits for the writer.
    package func copy(of file: CopiedFile) throws(QueueError) -> Data? {
        try writer.runWaiting { $0.state.copies[file]?.content }
    }

    /// The stored copy in a directory whose queue is not open; `nil` if there is none. Changes nothing.
    /// - Throws: `.inUse` while the queue is open, `.corrupt` and others if the file cannot be read.
    package static func copy(of file: CopiedFile, inDirectory directory: String) throws(QueueError) -> Data? {
        guard access("\(directory)/\(QueueFile.databaseName)", F_OK) == 0 else { return nil }
        let lock = try DirectoryLock(directory: directory)
        defer { withExtendedLifetime(lock) {} }
        do {
            var options = QueueFile.options()
            options.mode = .readWrite
            let connection = try Connection(path: "\(directory)/\(QueueFile.databaseName)", options: options)
            try connection.setCheckpointOnClose(false)
            let row = try connection.prepare("SELECT content FROM file_copy WHERE id = ?")
            try row.bind(file.rawValue, at: 1)
            return try row.step() ? row.data(0) : nil
        } catch {
            throw QueueError(error)
        }
    }

    /// Replaces the copy. It is on synced disk when this returns, and the former one is overwritten in the file. WAL
    /// frames of the former copy may remain until the WAL starts again. Writes nothing if the copy is the same.
    /// - Throws: `.invalid` for more than `maximumCopyBytes`.
    package func keepCopy(_ content: Data, of file: CopiedFile) throws(QueueError) {
        guard content.count <= Self.maximumCopyBytes else {
            throw QueueError(
                .invalid,
                "a copy of the \(file) file of \(content.count) bytes exceeds the limit of \(Self.maximumCopyBytes)")
        }
        try writer.runWaiting { try $0.keepCopy(content, of: file) }
    }
}

extension QueueStore {
    func keepCopy(_ content: Data, of file: CopiedFile) throws {
        guard state.copies[file]?.content != content else { return }
        try connection.setPragma("secure_delete", to: 1)
        defer { try? connection.setPragma("secure_delete", to: 0) }
        try change { next in
            // A damaged row may have the greatest number.
            let sequence = (next.copies[file]?.sequence ?? 0) &+ 1
            next.copies[file] = QueueState.FileCopy(sequence: sequence, content: content)
        }
        // A damaged WAL must not bring back an obsolete credential or decision.
        checkpoint()
    }
}
