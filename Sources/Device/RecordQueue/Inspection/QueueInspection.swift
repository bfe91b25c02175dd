import Encryption
import Glibc
import Logging
import SQLite
import WireModel

/// The contents of a queue's directory, for people. `Codable` is its JSON form.
package struct QueueInspection: Codable, Equatable, Sendable {
    package struct File: Codable, Equatable, Sendable {
        package var name: String
        package var bytes: Int64
    }

    package struct Gap: Codable, Equatable, Sendable {
        package var first: UInt64
        package var last: UInt64
        package var reason: String
    }

    package struct Stream: Codable, Equatable, Sendable {
        package var stream: String
        package var waiting: UInt64
        package var waitingBytes: UInt64
        package var oldestAgeSeconds: Double?
        package var lastNumber: UInt64
        package var markNumber: UInt64
        package var gaps: [Gap]
        package var apart: UInt64
    }

    package struct Ended: Codable, Equatable, Sendable {
        package var epoch: String
        package var end: EpochEnd
        package var isClosed: Bool
        package var waiting: UInt64
        /// Why the file was replaced, if this epoch ended so.
        package var cause: String?
        package var file: String?
        package var salvaged: UInt64?
        package var lost: UInt64?
    }

    /// A quarantined record.
    package struct Quarantined: Codable, Equatable, Sendable {
        package var id: Int64
        package var stream: String
        package var number: UInt64
        package var reason: String
        package var bytes: Int
        /// The device's wall clock when the record was made, in microseconds since 1970; 0 if the record is sealed and
        /// its key is not at hand.
        package var wallTime: Int64
        /// Whether the collector has it: `open`, `not-stored` or `uncertain`; `nil` from an older agent, which did not
        /// know it.
        package var fate: String?
    }

    package var directory: String
    package var epoch: String
    package var collector: String?
    package var organization: String?
    package var device: String?
    package var divergence: String?
    package var streams: [Stream]
    package var ended: [Ended]
    package var quarantine: [Quarantined]
    /// The queue's own files.
    package var files: [File]
    /// Names of the directories with corrupt files, oldest first.
    package var corruptFiles: [String]
}

/// The result of `verify`.
package struct QueueVerification: Codable, Equatable, Sendable {
    /// Findings for people. Empty if the chain holds over every row, all counts match the rows, and SQLite finds no
    /// fault.
    package var findings: [String]
    package var rows: UInt64
    package var isWhole: Bool { findings.isEmpty }
}

/// The result of `repair`.
package struct QueueRepair: Codable, Equatable, Sendable {
    /// The findings: what was wrong. Empty if nothing was wrong, and then nothing was changed.
    package var findings: [String]
    /// The directory that keeps the bad file.
    package var file: String?
    package var salvaged: UInt64
    package var lost: UInt64
}

/// A page of exported records.
package struct QueueExport: Codable, Equatable, Sendable {
    /// One JSON object each, without newline.
    package var lines: [String]
    /// The position of the next page; `nil` at the end.
    package var next: String?
}

/// Reads everything for people.
extension QueueStore {
    func inspect() throws -> QueueInspection {
        let now = queueClock.time
        let streams = try StreamName.allCases.map { stream in
            let ledger = state[stream]
            return QueueInspection.Stream(
                stream: stream.description, waiting: ledger.rowCount, waitingBytes: ledger.bytes,
                oldestAgeSeconds: try oldestQueueTime(of: .current(stream)).map {
                    max(0, Double(now) - Double($0)) / 1_000_000
                },
                lastNumber: ledger.last, markNumber: ledger.mark.number,
                gaps: ledger.gaps.map {
                    QueueInspection.Gap(first: $0.first, last: $0.last, reason: $0.reason.description)
                },
                apart: state.apart(stream))
        }
        let ended = state.ended.map {
            QueueInspection.Ended(
                epoch: $0.id.description, end: $0.end, isClosed: $0.phase != .closing, waiting: $0.streams.rowCount,
                cause: $0.salvage?.cause, file: $0.salvage?.file, salvaged: $0.salvage?.salvaged, lost: $0.salvage?.lost
            )
        }
        return QueueInspection(
            directory: directory, epoch: state.epoch.description, collector: state.binding?.collector.description,
            organization: state.binding?.organization, device: state.binding?.device.description,
            divergence: state.divergence?.reason.rawValue, streams: streams, ended: ended,
            quarantine: try quarantined(),
            files: files(), corruptFiles: SalvageFiles(directory: directory).kept)
    }

    private func quarantined() throws -> [QueueInspection.Quarantined] {
        let rows = try connection.prepare(
            "SELECT \(StoredRow.columns), id, stream, reason, wall_time, fate FROM quarantine ORDER BY id")
        var found: [QueueInspection.Quarantined] = []
        while try rows.step() {
            let row = rows.row
            var wallTime = try row.int64("wall_time")
            if let stream = StreamName(rawValue: try row.int("stream")), rows.int64(3) != 0 {
                // A sealed record has its time inside.
                let content = try? seal.open(try StoredRow(rows, of: stream))
                wallTime = content.flatMap { RecordHeader(scanning: $0.bytes)?.wallTime } ?? 0
            }
            found.append(
                QueueInspection.Quarantined(
                    id: try row.int64("id"), stream: StreamName(rawValue: try row.int("stream"))?.description ?? "",
                    number: try row.uint64("number"),
                    reason: DropReason(rawValue: try row.int("reason")).description, bytes: try row.int("size"),
                    wallTime: wallTime,
                    fate: (QuarantineFate(rawValue: try row.string("fate")) ?? .uncertain).rawValue))
        }
        return found
    }

    private func files() -> [QueueInspection.File] {
        [QueueFile.databaseName, QueueFile.databaseName + "-wal", QueueFile.markerName, QueueFile.lockName].compactMap {
            name in
            var status = stat()
            guard stat("\(directory)/\(name)", &status) == 0 else { return nil }
            return QueueInspection.File(name: name, bytes: Int64(status.st_size))
        }
    }

    /// Recomputes the chain over every row and every count, and lets SQLite check the file. Reads everything.
    func verify() throws -> QueueVerification {
        var result = QueueVerification(findings: try connection.integrityCheck(limit: 20), rows: 0)
        guard result.findings.isEmpty else { return result }
        for table in state.tables { try verify(table, &result) }
        for (stream, balance) in try balance() where !balance.closes {
            result.findings.append("the balance of stream \(stream) does not close")
        }
        return result
    }

    private func verify(_ table: RecordTable, _ result: inout QueueVerification) throws {
        let ledger = state[table]
        let rows = try connection.prepare("SELECT \(StoredRow.columns) FROM \(table.name) ORDER BY number")
        var running = (number: ledger.front, link: ledger.frontLink)
        var removed = RemovedRows()
        while try rows.step() {
            let row = try StoredRow(rows, of: table.stream)
            let number = row.number
            removed.bytes += try rows.uint64(2)
            guard number > ledger.front else { continue }
            removed.count += 1
            let size = row.body.count - (row.keyID == 0 ? 0 : SealedRecord.overhead)
            if Int64(size) != row.size {
                result.findings.append("\(table.name) \(number): \(size) bytes, but the row says \(row.size)")
            }
            let content: RowContent?
            do throws(QueueError) { content = try seal.open(row) } catch {
                // Sealed, and its key is not at hand: nothing can be said of its content.
                running = (number, .zero)
                continue
            }
            if row.keyID != 0, content == nil {
                result.findings.append("\(table.name) \(number) is sealed and was changed")
            }
            let link = content?.link ?? .zero
            let isNext = number == running.number + 1
            if !isNext, state.ended.allSatisfy({ $0.salvage == nil && $0.end != .givenUp }) {
                result.findings.append("\(table.name): numbers \(running.number + 1)...\(number - 1) are missing")
            }
            let isKnown = isNext && running.link != .zero || number == 1
            if isKnown, let content, running.link.appending(content.bytes) != link {
                result.findings.append("\(table.name) \(number) does not follow from the record before it")
            }
            running = (number, link)
            if result.findings.count > 100 { break }
        }
        rows.reset()
        result.rows += removed.count
        if removed.count != ledger.rowCount {
            result.findings.append("\(table.name): \(removed.count) rows, but the ledger says \(ledger.rowCount)")
        }
        if removed.bytes != ledger.bytes {
            result.findings.append("\(table.name): \(removed.bytes) bytes, but the ledger says \(ledger.bytes)")
        }
        let isOtherLink = running.link != ledger.lastLink && running.link != .zero && ledger.lastLink != .zero
        if table == .current(table.stream), running.number != ledger.last || isOtherLink {
            result.findings.append("\(table.name) ends at \(running.number), but the ledger says \(ledger.last)")
        }
    }
}

/// The functions for `ws1agent queue inspect|verify|repair|export`. They go through a running agent, or open the queue
/// if none runs.
extension RecordQueue {
    /// The present contents.
    package func inspect() async throws(QueueError) -> QueueInspection {
        try await run(committingFirst: true) { try $0.inspect() }
    }

    /// Recomputes the chain and all counts. Reads everything, which needs seconds for a large queue; nothing else is
    /// committed meanwhile.
    package func verify() async throws(QueueError) -> QueueVerification {
        try await run(committingFirst: true) { try $0.verify() }
    }

    /// Records as JSON, one per line, page by page. Records that change between two pages may be included or not.
    /// - Parameters:
    ///   - cursor: `next` of the former page; `nil` for the start.
    ///   - limit: lines, 1 to 10,000.
    /// - Throws: `.invalid` for an unknown cursor.
    package func export(after cursor: String? = nil, limit: Int = 1000) async throws(QueueError) -> QueueExport {
        try await run(committingFirst: true) { try $0.export(after: cursor, limit: min(max(1, limit), 10_000)) }
    }

    /// Salvages a queue on demand while no agent runs. If `verify` finds anything, the file is moved aside and its
    /// readable records go into a new file, in a new epoch.
    /// - Throws: `.inUse` while an agent runs, `.newerVersion`, `.diskFull`, `.io`.
    package static func repair(
        directory: String, configuration: Configuration = Configuration(), clock: any RecordClock, logger: Logger
    ) throws(QueueError) -> QueueRepair {
        let lock = try DirectoryLock(directory: directory)
        defer { withExtendedLifetime(lock) {} }
        do {
            let before = SalvageFiles(directory: directory).kept
            var (store, _) = try Salvage.open(
                directory: directory, configuration: configuration, clock: clock, logger: logger)
            var findings: [String] = []
            if SalvageFiles(directory: directory).kept == before {
                findings = try store.verify().findings
                guard let first = findings.first else {
                    try store.close()
                    return QueueRepair(findings: [], file: nil, salvaged: 0, lost: 0)
                }
                try store.close()
                try Salvage.replace(
                    "repair: \(first)", files: SalvageFiles(directory: directory), configuration: configuration,
                    clock: clock, logger: logger)
                store = try QueueStore(directory: directory, configuration: configuration, clock: clock, logger: logger)
            }
            let note = store.state.ended.last { $0.salvage != nil }?.salvage
            try store.close()
            return QueueRepair(
                findings: findings.isEmpty ? [note?.cause ?? ""] : findings, file: note?.file,
                salvaged: note?.salvaged ?? 0, lost: note?.lost ?? 0)
        } catch {
            throw QueueError(error)
        }
    }
}
