import WireModel

/// The state that a corrupt file still shows of itself, collected row by row, and the state that a new file starts
/// with. Pure.
struct SalvagedState {
    private var meta: SalvageRow.Meta?
    private var copies: [CopiedFile: QueueState.FileCopy] = [:]
    private var epochs: [Int64: SalvageRow.Epoch] = [:]
    private var ledgers: [ChainCode: StreamLedger] = [:]
    private var gaps: [ChainCode: Set<Gap>] = [:]
    private var tallies: [ChainCode: [TallyAccount: [Int: UInt64]]] = [:]
    private var greatestOrdinal: Int64 = 0
    private var greatestRecordOrdinal: Int64 = 0

    /// Newer copies win over stale ones on unused pages.
    mutating func add(_ row: SalvageRow) {
        switch row {
        case .meta(let found): if found.clock.time >= meta?.clock.time ?? 0 { meta = found }
        case .copy(let file, let found): if found.sequence > copies[file]?.sequence ?? 0 { copies[file] = found }
        case .epoch(let found):
            greatestOrdinal = max(greatestOrdinal, found.ordinal)
            let former = epochs[found.ordinal]
            if former.map({ $0.end == nil || found.phase.isAfter($0.phase) }) ?? true {
                epochs[found.ordinal] = found
            }
        case .ledger(let chain, let found):
            greatestOrdinal = max(greatestOrdinal, chain.ordinal)
            let former = ledgers[chain]
            if former == nil || (found.last, found.mark.number) >= (former?.last ?? 0, former?.mark.number ?? 0) {
                ledgers[chain] = found
            }
        case .gap(let chain, let gap): gaps[chain, default: []].insert(gap)
        case .tally(let chain, let account, let reason, let count):
            let former = tallies[chain]?[account]?[reason] ?? 0
            tallies[chain, default: [:]][account, default: [:]][reason] = max(former, count)
        case .record(let record): greatestRecordOrdinal = max(greatestRecordOrdinal, record.chain.ordinal)
        }
    }

    /// The newest time on the queue clock in the file; `nil` if there is none.
    var greatestQueueTime: Int64? {
        meta?.clock.time
            ?? ledgers.values.map(\.lastQueueTime).filter { (0...QueueClock.greatestTime).contains($0) }.max()
    }

    /// Whether a row of an epoch without tables is only a copy left on a page, or has a damaged chain. If the current
    /// epoch is known, all earlier ones are too, unless only the marker knows it.
    func isStale(_ chain: ChainCode, marker: EpochMarker?) -> Bool {
        if epochs.values.contains(where: { $0.end == nil }) { return true }
        return marker.map { chain.ordinal > $0.ordinal } ?? false
    }

    /// The state of the new file: a new epoch, and the former epochs as ended ones. Rows are counted later.
    ///
    /// - Parameter marker: the content of `queue.epoch`, which knows the epoch even if the file does not.
    func state(marker: EpochMarker?, now: RecordStamp) -> QueueState {
        var state = QueueState(
            epoch: .random(), clock: meta?.clock ?? QueueClock(time: greatestQueueTime ?? 0, stamp: now))
        state.binding = meta?.binding
        state.copies = copies
        var known = epochs
        if let marker, known[marker.ordinal] == nil, known.values.allSatisfy({ $0.ordinal < marker.ordinal }) {
            known[marker.ordinal] = SalvageRow.Epoch(
                ordinal: marker.ordinal, id: marker.epoch, end: nil, phase: .closing, endedWallTime: now.wallTime)
        }
        // One ordinal stays free for a note if the epoch is unknown.
        state.ordinal = max(greatestOrdinal, known.keys.max() ?? greatestRecordOrdinal) + 2
        for epoch in known.values.sorted(by: { $0.ordinal < $1.ordinal }) {
            var ended = EndedEpoch(
                ordinal: epoch.ordinal, id: epoch.id, end: epoch.end ?? .salvaged,
                phase: epoch.end == nil ? .closing : epoch.phase,
                endedWallTime: epoch.end == nil ? now.wallTime : epoch.endedWallTime, salvage: epoch.note,
                streams: StreamLedgers())
            if ended.phase != .settled {
                for stream in StreamName.allCases {
                    ended.streams[stream] = ledger(ChainCode(ordinal: epoch.ordinal, stream: stream))
                    if ended.phase == .closing { ended.streams[stream].rowCount = 0 }
                    if epoch.id == marker?.epoch, let known = marker?.streams[stream] {
                        ended.streams[stream].raise(to: known)
                    }
                }
            }
            state.ended.append(ended)
        }
        for stream in StreamName.allCases {
            state.past[stream] = ledger(ChainCode(ordinal: ChainCode.past, stream: stream))
        }
        return state
    }

    /// A ledger without contradictions. Contradictory rows are left out and then count as lost.
    private func ledger(_ chain: ChainCode) -> StreamLedger {
        guard var ledger = ledgers[chain] else { return StreamLedger() }
        ledger.bytes = 0
        ledger.lastQueueTime = min(max(0, ledger.lastQueueTime), greatestQueueTime ?? 0)
        ledger.last = min(ledger.last, BatchPart.greatestNumber)
        for (account, counts) in tallies[chain] ?? [:] {
            for (reason, count) in counts where count > 0 {
                switch account {
                case .rejected: ledger.mark.rejected[RejectReason(rawValue: reason)] = count
                case .dropped: ledger.mark.dropped[DropReason(rawValue: reason)] = count
                case .unnumbered: ledger.unnumbered[DropReason(rawValue: reason)] = count
                }
            }
        }
        if !ledger.mark.addsUp {
            // The collector's own counts come with its answer to the close. Until then the reasons are unknown.
            ledger.mark.rejected = [:]
            ledger.mark.lostAtCollector = 0
            ledger.mark.stored = min(ledger.mark.stored, ledger.mark.number)
            ledger.mark.dropped = [:]
            ledger.mark.dropped.add(ledger.mark.number - ledger.mark.stored, .unverifiable)
        }
        guard ledger.mark.number <= ledger.last else { return StreamLedger() }
        for gap in (gaps[chain] ?? []).sorted(by: { ($0.first, $1.last) < ($1.first, $0.last) })
        where gap.first == ledger.front + 1 && gap.last <= ledger.last { ledger.gaps.append(gap) }
        if ledger.front == ledger.last, ledger.frontLink != .zero || ledger.front == 0 {
            ledger.lastLink = ledger.frontLink
        }
        ledger.rowCount = min(ledger.rowCount, ledger.last - ledger.front)
        return ledger
    }
}

extension StreamLedger {
    /// Numbers that only the marker knows were assigned. Those without a readable row are missing.
    fileprivate mutating func raise(to known: EpochMarker.Stream) {
        guard known.last > last else { return }
        last = known.last
        lastLink = known.link
    }
}
