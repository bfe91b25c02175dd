import FoundationEssentials
import WireModel

/// The whole state of the queue except its rows, as committed, kept in memory.
struct QueueState: Equatable, Sendable {
    /// The most records in one count. Then sums of counts do not overflow.
    static let greatestTally = BatchPart.greatestNumber >> 8

    var epoch: EpochID
    /// The current epoch's position among the file's epochs, from 1.
    var ordinal: Int64 = 1
    var clock: QueueClock
    var divergence: QueueDivergence?
    var binding: QueueBinding?
    /// When the last record was quarantined, on the queue clock.
    var quarantineTime: Int64?
    /// When the budget of epochs that end by divergence will be whole again (`DivergenceBudget`), on the queue clock.
    var divergenceBudgetWholeAt: Int64?
    /// Copies of files beside the queue, as opaque bytes.
    var copies: [CopiedFile: FileCopy] = [:]
    /// The ledgers of the current epoch.
    var streams = StreamLedgers()
    /// Ascending. The number of settled ones is limited.
    var ended: [EndedEpoch] = []
    /// The sum of all settled epochs.
    var past = StreamLedgers()

    /// A copy of a file; of several copies found in a damaged file, the one with the greatest sequence is the newest.
    struct FileCopy: Equatable, Sendable {
        var sequence: Int64
        var content: Data
    }

    subscript(_ stream: StreamName) -> StreamLedger {
        get { streams[stream] }
        _modify { yield &streams[stream] }
    }

    /// Bytes of all rows in the file, whatever they wait for.
    var bytes: UInt64 { streams.bytes + ended.reduce(0) { $0 + $1.streams.bytes } }

    /// Waiting records that move here from a closed epoch and have no number in this one yet.
    func apart(_ stream: StreamName) -> UInt64 {
        ended.reduce(0) { $0 + ($1.phase == .moving ? $1.streams[stream].rowCount : 0) }
    }

    /// The totals sent with a part.
    func totals(_ stream: StreamName) -> StreamTotals {
        let ledger = streams[stream]
        let apart = apart(stream)
        return StreamTotals(
            produced: ledger.produced + apart, waiting: ledger.rowCount + apart, apart: apart,
            dropped: ledger.droppedAboveMark, droppedUnnumbered: ledger.unnumbered)
    }

    /// Every ledger that has a row on disk, by ordinal.
    var chains: [Int64: StreamLedgers] {
        var chains = [ordinal: streams, ChainCode.past: past]
        for epoch in ended where epoch.phase != .settled { chains[epoch.ordinal] = epoch.streams }
        return chains
    }

    /// Tables with rows that wait or must be erased, the least important and oldest first.
    var tables: [RecordTable] {
        StreamName.allCases.reversed().flatMap { stream in
            ended.filter { $0.phase != .settled }.map { RecordTable.ended($0.ordinal, stream) } + [.current(stream)]
        }
    }

    subscript(_ table: RecordTable) -> StreamLedger {
        get {
            switch table {
            case .current(let stream): streams[stream]
            case .ended(let ordinal, let stream):
                ended.first { $0.ordinal == ordinal }?.streams[stream] ?? StreamLedger()
            }
        }
        set {
            switch table {
            case .current(let stream): streams[stream] = newValue
            case .ended(let ordinal, let stream):
                if let index = ended.firstIndex(where: { $0.ordinal == ordinal }) {
                    ended[index].streams[stream] = newValue
                }
            }
        }
    }

    /// Whether it contains rows of a closed epoch.
    func isMoving(_ table: RecordTable) -> Bool {
        guard case .ended(let ordinal, _) = table else { return false }
        return ended.first { $0.ordinal == ordinal }?.phase == .moving
    }

    /// Whether rows leave this table with a gap in their own chain, or are counted among what never had a number in
    /// this epoch.
    func isChained(_ table: RecordTable) -> Bool {
        switch table {
        case .current: true
        case .ended(let ordinal, _): ended.first { $0.ordinal == ordinal }?.phase == .closing
        }
    }
}

/// A table with records of one stream.
enum RecordTable: Hashable, Sendable {
    case current(StreamName)
    /// A table of the ended epoch with this ordinal.
    case ended(Int64, StreamName)

    var stream: StreamName {
        switch self {
        case .current(let stream), .ended(_, let stream): stream
        }
    }

    var name: String {
        switch self {
        case .current(let stream): stream.description
        case .ended(let ordinal, let stream): "ended_\(ordinal)_\(stream)"
        }
    }
}
