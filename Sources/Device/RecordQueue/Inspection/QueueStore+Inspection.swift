import SQLite
import WireModel

#if canImport(Glibc)
import Glibc
#endif

/// Looking at everything.
extension QueueStore {
    func inspect() throws -> QueueInspection {
        let now = queueClock.time
        let streams = try StreamName.allCases.map { stream in
            let ledger = state[stream]
            return QueueInspection.Stream(
                stream: stream.description, waiting: ledger.rowCount, waitingBytes: ledger.bytes,
                oldestAgeSeconds: try oldestQueueTime(of: .current(stream)).map { max(0, Double(now) - Double($0)) / 1_000_000 },
                lastNumber: ledger.last, markNumber: ledger.mark.number,
                gaps: ledger.gaps.map { QueueInspection.Gap(first: $0.first, last: $0.last, reason: $0.reason.description) },
                consentPending: state.consent[stream].rowCount, apart: state.apart(stream))
        }
        let ended = state.ended.map {
            QueueInspection.Ended(
                epoch: $0.id.description, end: $0.end, isClosed: $0.phase != .closing, waiting: $0.streams.rowCount,
                cause: $0.salvage?.cause, file: $0.salvage?.file, salvaged: $0.salvage?.salvaged, lost: $0.salvage?.lost)
        }
        return QueueInspection(
            directory: directory, epoch: state.epoch.description, collector: state.binding?.collector.description,
            organization: state.binding?.organization, device: state.binding?.device.description,
            parting: state.divergence?.reason.rawValue, streams: streams, ended: ended, quarantine: try quarantined(), files: files(),
            corruptFiles: SalvageFiles(directory: directory).kept)
    }

    private func quarantined() throws -> [QueueInspection.Quarantined] {
        let rows = try connection.prepare(
            "SELECT id, stream, number, reason, size, wall_time, fate FROM quarantine ORDER BY id")
        var found: [QueueInspection.Quarantined] = []
        while try rows.step() {
            found.append(
                QueueInspection.Quarantined(
                    id: rows.int64(0), stream: StreamName(rawValue: rows.int(1))?.description ?? "", number: try rows.uint64(2),
                    reason: DropReason(rawValue: rows.int(3)).description, bytes: rows.int(4), wallTime: rows.int64(5),
                    fate: (QuarantineFate(rawValue: rows.int(6)) ?? .uncertain).description))
        }
        return found
    }

    private func files() -> [QueueInspection.File] {
        [QueueFile.databaseName, QueueFile.databaseName + "-wal", QueueFile.markerName, QueueFile.lockName].compactMap { name in
            var status = stat()
            guard stat("\(directory)/\(name)", &status) == 0 else { return nil }
            return QueueInspection.File(name: name, bytes: Int64(status.st_size))
        }
    }

    /// Recomputes the chain over every row and every count, and lets SQLite check the file. Reads all there is.
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
        let rows = try connection.prepare("SELECT number, size, link, body FROM \(table.name) ORDER BY number")
        var running = (number: ledger.front, link: ledger.frontLink)
        var removed = RemovedRows()
        let isChained = table != .consent(table.stream)
        while try rows.step() {
            let number = try rows.uint64(0)
            removed.bytes += try rows.uint64(1)
            guard number > ledger.front else { continue }
            removed.count += 1
            let link = ChainLink(rows.data(2)) ?? .zero
            let size = rows.withBlob(3) { $0.count }
            if size != rows.int(1) { result.findings.append("\(table.name) \(number): \(size) bytes where \(rows.int(1)) are noted") }
            if isChained {
                let isNext = number == running.number + 1
                if !isNext, state.ended.allSatisfy({ $0.salvage == nil }) {
                    result.findings.append("\(table.name): numbers \(running.number + 1)...\(number - 1) are missing")
                }
                let isKnown = isNext && running.link != .zero || number == 1
                if isKnown, rows.withBlob(3, { running.link.appending($0) }) != link {
                    result.findings.append("\(table.name) \(number) does not follow from the record before it")
                }
                running = (number, link)
            }
            if result.findings.count > 100 { break }
        }
        rows.reset()
        result.rows += removed.count
        if removed.count != ledger.rowCount {
            result.findings.append("\(table.name): \(removed.count) rows where the ledger says \(ledger.rowCount)")
        }
        if removed.bytes != ledger.bytes {
            result.findings.append("\(table.name): \(removed.bytes) bytes where the ledger says \(ledger.bytes)")
        }
        if isChained, table == .current(table.stream), running.number != ledger.last || running.link != ledger.lastLink {
            result.findings.append("\(table.name) ends at \(running.number) where the ledger says \(ledger.last)")
        }
    }
}
