import Encryption
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
        /// Of the record; a sealed body is longer.
        var size: Int64
        var keyID: Int64
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
    }

    case record(Record)
    case ledger(ChainCode, StreamLedger)
    case gap(ChainCode, Gap)
    case tally(ChainCode, TallyAccount, Int, UInt64)
    case epoch(Epoch)
    case meta(Meta)
    case copy(CopiedFile, QueueState.FileCopy)

    /// `nil` if the row is not ours or is damaged. A link whose key is not at hand is zero.
    init?(id: Int64, _ row: RawRow, _ seal: QueueSeal) {
        switch row.columns.count {
        case 3: self.init(copy: id, row)
        case 4: self.init(tally: row)
        case 5: self.init(gap: row, seal)
        case 9:
            // The second column of an epoch is its id, that of a record its kind.
            if row.bytes(1) != nil { self.init(epoch: id, row) } else { self.init(record: id, row) }
        case 13:
            if [ChainLink.byteCount, QueueSeal.linkBytes].contains(row.bytes(2)?.count) {
                self.init(ledger: id, row, seal)
            } else {
                self.init(meta: id, row)
            }
        default: return nil
        }
    }

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
            let keyID = row.integer(5), let chain = row.integer(6).flatMap({ ChainCode(rawValue: $0) }),
            // The sum of settled epochs has no records. A damaged column may say so.
            chain.ordinal != ChainCode.past,
            let link = row.bytes(7), let body = row.bytes(8)
        else { return nil }
        let data = Data(body)
        if keyID != 0 {
            // Only the tag says whether it is whole, and the key may not be at hand.
            guard kind == 0, wallTime == 0, link.isEmpty, size >= 0, keyID > 0,
                body.count == size + Int64(SealedRecord.overhead)
            else { return nil }
            self = .record(
                Record(
                    chain: chain, number: number, kind: kind, wallTime: wallTime, queueTime: queueTime, size: size,
                    keyID: keyID, link: Data(), body: data))
            return
        }
        guard link.count == ChainLink.byteCount, body.count == size else { return nil }
        // The envelope repeats these facts.
        guard let header = RecordHeader(scanning: data), header.number == number, header.kind == kind,
            header.wallTime == wallTime
        else { return nil }
        self = .record(
            Record(
                chain: chain, number: number, kind: kind, wallTime: wallTime, queueTime: queueTime, size: size,
                keyID: keyID,
                link: Data(link), body: data))
    }

    private init?(ledger id: Int64, _ row: RawRow, _ seal: QueueSeal) {
        guard let chain = ChainCode(rawValue: id), let last = row.count(1),
            let lastLink = seal.salvaged(row.bytes(2), at: last, of: chain), let lastQueueTime = row.integer(3),
            let rows = row.count(4), let bytes = row.count(5), let mark = row.count(6),
            let markLink = seal.salvaged(row.bytes(7), at: mark, of: chain), let stored = row.count(8),
            let lost = row.count(9)
        else { return nil }
        var ledger = StreamLedger()
        ledger.last = last
        ledger.lastLink = lastLink
        ledger.lastQueueTime = lastQueueTime
        ledger.rowCount = rows
        ledger.bytes = bytes
        ledger.mark = StreamMark(number: mark, link: markLink, stored: stored, lostAtCollector: lost)
        self = .ledger(chain, ledger)
    }

    private init?(gap row: RawRow, _ seal: QueueSeal) {
        guard let chain = row.integer(0).flatMap({ ChainCode(rawValue: $0) }), let first = row.count(1),
            let last = row.count(2),
            first > 0, last >= first, let reason = row.integer(3),
            let link = seal.salvaged(row.bytes(4), at: last, of: chain)
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
        guard row.isNull(0), ChainCode.foundOrdinals.contains(id),
            let identifier = row.bytes(1).flatMap({ EpochID($0) }),
            // The current epoch has no phase. It will be closed.
            let phase = row.isNull(3)
                ? EndedEpoch.Phase.closing : row.text(3).flatMap({ EndedEpoch.Phase(rawValue: $0) }),
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
        guard id == 1, row.isNull(0), let time = row.integer(1), (0...QueueClock.greatestTime).contains(time),
            let wallTime = row.integer(2), let sinceBoot = row.count(4)
        else { return nil }
        let stamp = RecordStamp(
            wallTime: wallTime, bootID: row.bytes(3).flatMap { BootID($0) }, timeSinceBoot: sinceBoot)
        var meta = Meta(clock: QueueClock(time: time, stamp: stamp))
        if let collector = row.bytes(8).flatMap({ CollectorID($0) }), let organization = row.text(9),
            let device = row.bytes(10).flatMap({ DeviceID($0) })
        {
            meta.binding = QueueBinding(collector: collector, organization: organization, device: device)
        }
        self = .meta(meta)
    }
}

extension QueueSeal {
    /// A link of a row that was found; zero if it cannot be opened. `nil` if it is no link.
    fileprivate func salvaged(_ stored: ArraySlice<UInt8>?, at number: UInt64, of chain: ChainCode) -> ChainLink? {
        guard let stored else { return nil }
        switch link(Data(stored), at: number, of: chain) {
        case .link(let link): return link
        case .unavailable: return .zero
        case .damaged: return nil
        }
    }
}
