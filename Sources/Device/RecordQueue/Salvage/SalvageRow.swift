import FoundationEssentials
import SQLite
import WireModel

/// A row of a queue's file, recognized by its columns alone.
enum SalvageRow {
    struct Record {
        var chain: ChainCode
        var number: UInt64
        var kind: Int64
        var wallTime: Int64
        var queueTime: Int64
        var keyID: Int64
        /// Empty for a record without a number.
        var link: Data
        var body: Data
    }

    /// A row of table `epoch`. The store reads it as this type too.
    struct Epoch {
        var ordinal: Int64
        var id: EpochID
        var end: EpochEnd?
        var phase: EndedEpoch.Phase
        var endedWallTime: Int64
        var note: QueueStatus.Salvage?
    }

    struct Meta {
        var clock: QueueClock
        var binding: QueueBinding?
        /// Version 1 stored the epoch here.
        var epoch: EpochID?
    }

    case record(Record)
    case ledger(ChainCode, StreamLedger)
    case gap(ChainCode, Gap)
    case tally(ChainCode, TallyAccount, Int, UInt64)
    case epoch(Epoch)
    case meta(Meta)
    case copy(CopiedFile, QueueState.FileCopy)

    /// `nil` if the row is not ours or is damaged.
    init?(id: Int64, _ row: RawRow) {
        switch row.columns.count {
        case 3: self.init(copy: id, row)
        case 4: self.init(tally: row)
        case 5: self.init(gap: row)
        case 8, 9:
            if row.isNull(0), row.bytes(1)?.count == 16 {
                self.init(epoch: id, row)
            } else if row.columns.count == 9, row.bytes(2) != nil {
                self.init(formerLedger: id, row)
            } else {
                self.init(record: id, row)
            }
        case 13:
            if row.bytes(2)?.count == 16 { self.init(ledger: id, row) } else { self.init(meta: id, row) }
        default: return nil
        }
    }

    /// Up to version 4: a row of table `identity`, which had the same columns and the id of the identity.
    private init?(copy id: Int64, _ row: RawRow) {
        guard let file = CopiedFile(rawValue: id), row.isNull(0), let sequence = row.integer(1), sequence > 0,
            let content = row.bytes(2)
        else { return nil }
        self = .copy(file, QueueState.FileCopy(sequence: sequence, content: Data(content)))
    }

    private init?(record id: Int64, _ row: RawRow) {
        guard let number = UInt64(exactly: id), number > 0, row.isNull(0), let kind = row.integer(1),
            let wallTime = row.integer(2),
            let queueTime = row.integer(3), (0...QueueClock.greatestTime).contains(queueTime),
            let size = row.integer(4),
            let keyID = row.integer(5), let link = row.bytes(6), let body = row.bytes(7), body.count == size
        else { return nil }
        let data = Data(body)
        // Rows without a chain column belong to the first epoch, and to the stream of their kind.
        let chain = row.columns.count == 9 ? row.integer(8).flatMap { ChainCode(rawValue: $0) } : Self.formerChain(kind)
        // The sum of settled epochs has no records. A damaged column may say so.
        guard let chain, chain.ordinal != ChainCode.past else { return nil }
        // The envelope repeats these facts.
        let header: RecordHeader?
        if chain.ordinal == ChainCode.shelf {
            header = link.isEmpty ? RecordHeader(scanning: Data([8, 1]) + data) : nil
        } else {
            header =
                link.count == ChainLink.byteCount
                ? RecordHeader(scanning: data).flatMap { $0.number == number ? $0 : nil } : nil
        }
        guard let header, header.kind == kind, header.wallTime == wallTime else { return nil }
        self = .record(
            Record(
                chain: chain, number: number, kind: kind, wallTime: wallTime, queueTime: queueTime, keyID: keyID,
                link: Data(link), body: data))
    }

    private static func formerChain(_ kind: Int64) -> ChainCode? {
        switch kind {
        case 1...9: ChainCode(ordinal: 1, stream: .status)
        case 10...19: ChainCode(ordinal: 1, stream: .event)
        default: ChainCode(ordinal: 1, stream: .sample)
        }
    }

    private init?(ledger id: Int64, _ row: RawRow) {
        guard let chain = ChainCode(rawValue: id), let rows = row.count(4), var ledger = Self.ledger(row, bytesAt: 5)
        else { return nil }
        ledger.rowCount = rows
        self = .ledger(chain, ledger)
    }

    /// A ledger of version 1, which had no count of rows.
    private init?(formerLedger id: Int64, _ row: RawRow) {
        guard let stream = StreamName(rawValue: Int(clamping: id)), let ledger = Self.ledger(row, bytesAt: 4)
        else { return nil }
        self = .ledger(ChainCode(ordinal: 1, stream: stream), ledger)
    }

    /// - Parameter place: the column of the bytes; the mark's columns follow it.
    private static func ledger(_ row: RawRow, bytesAt place: Int) -> StreamLedger? {
        guard let last = row.count(1), let lastLink = row.bytes(2).flatMap({ ChainLink($0) }),
            let lastQueueTime = row.integer(3), let bytes = row.count(place), let mark = row.count(place + 1),
            let markLink = row.bytes(place + 2).flatMap({ ChainLink($0) }), let stored = row.count(place + 3),
            let lost = row.count(place + 4)
        else { return nil }
        var ledger = StreamLedger()
        ledger.last = last
        ledger.lastLink = lastLink
        ledger.lastQueueTime = lastQueueTime
        ledger.bytes = bytes
        ledger.mark = StreamMark(number: mark, link: markLink, stored: stored, lostAtCollector: lost)
        return ledger
    }

    private init?(gap row: RawRow) {
        guard let chain = row.integer(0).flatMap({ ChainCode(rawValue: $0) }), let first = row.count(1),
            let last = row.count(2),
            first > 0, last >= first, let reason = row.integer(3), let link = row.bytes(4).flatMap({ ChainLink($0) })
        else { return nil }
        self = .gap(
            chain, Gap(first: first, last: last, reason: DropReason(rawValue: Int(clamping: reason)), link: link))
    }

    private init?(tally row: RawRow) {
        guard let chain = row.integer(0).flatMap({ ChainCode(rawValue: $0) }),
            let account = row.text(1).flatMap({ TallyAccount(rawValue: $0) }),
            let reason = row.integer(2), let count = row.count(3), count <= QueueState.greatestTally
        else { return nil }
        self = .tally(chain, account, Int(clamping: reason), count)
    }

    private init?(epoch id: Int64, _ row: RawRow) {
        guard row.columns.count == 9, ChainCode.foundOrdinals.contains(id),
            let identifier = row.bytes(1).flatMap({ EpochID($0) }),
            let phase = row.integer(3).flatMap({ EndedEpoch.Phase(rawValue: Int(clamping: $0)) }),
            let ended = row.integer(4), let salvaged = row.count(7), let lost = row.count(8)
        else { return nil }
        let end = row.text(2).flatMap { EpochEnd(rawValue: $0) }
        guard end != nil || row.isNull(2) else { return nil }
        let note = row.text(5).map {
            QueueStatus.Salvage(cause: $0, file: row.text(6) ?? "", salvaged: salvaged, lost: lost)
        }
        self = .epoch(Epoch(ordinal: id, id: identifier, end: end, phase: phase, endedWallTime: ended, note: note))
    }

    private init?(meta id: Int64, _ row: RawRow) {
        // In version 1 the epoch comes first.
        let epoch = row.bytes(1).flatMap { EpochID($0) }
        let first = epoch == nil ? 1 : 2
        guard id == 1, row.isNull(0), let time = row.integer(first), (0...QueueClock.greatestTime).contains(time),
            let wallTime = row.integer(first + 1), let sinceBoot = row.count(first + 3)
        else { return nil }
        let stamp = RecordStamp(
            wallTime: wallTime, bootID: row.bytes(first + 2).flatMap { BootID($0) }, timeSinceBoot: sinceBoot)
        var meta = Meta(clock: QueueClock(time: time, stamp: stamp), epoch: epoch)
        if let collector = row.bytes(first + 7).flatMap({ CollectorID($0) }), let organization = row.text(first + 8),
            let device = row.bytes(first + 9).flatMap({ DeviceID($0) })
        {
            meta.binding = QueueBinding(collector: collector, organization: organization, device: device)
        }
        self = .meta(meta)
    }
}
