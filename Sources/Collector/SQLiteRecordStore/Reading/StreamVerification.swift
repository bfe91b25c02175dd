import FoundationEssentials
import RecordStore
import Registry
import SQLite
import TelemetryBasics
import WireModel

/// One stream's chains while they are followed through its files, oldest first.
struct StreamVerification {
    private struct Chain {
        /// The sums of the rows so far.
        var counted = StreamMark.none
        /// The mark that the newest row of the chain states.
        var stated = StreamMark.none
        /// A finding has been made that makes the counts differ; they are not compared any more.
        var isBroken = false
    }

    private let stream: StreamName
    private var chains: [ChainKey: Chain] = [:]
    /// A file could not be read: that chains go on elsewhere than they ended is its doing.
    var isIncomplete = false
    /// Deleted devices whose erasure may be under way. Nothing is said about their chains.
    var unsettled: Set<DeviceID> = []

    init(stream: StreamName, baseline: [Baseline.Entry]) {
        self.stream = stream
        for entry in baseline {
            var chain = Chain(counted: entry.state.mark, stated: entry.state.mark)
            chain.counted.stored = entry.removedRows
            chains[entry.key] = chain
        }
    }

    mutating func check(_ file: RecordFile, _ report: inout VerifyReport) throws(StoreError) {
        try StoreError.mapping(file.connection.begin(.deferred))
        defer { file.connection.rollback() }
        for fault in try StoreError.mapping({ () throws(SQLiteError) in try file.connection.integrityCheck(quick: true)
        }) {
            report.add(.unreadable, file.partition, "SQLite: \(fault)")
        }
        let before = (slices: report.slices, rejected: report.rejected)
        try file.forEachChain { row throws(StoreError) in try check(row, in: file, &report) }
        let (slices, rejected) = try file.rowCounts()
        if slices != report.slices - before.slices || UInt64(rejected) != report.rejected - before.rejected {
            report.add(
                .miscounted, file.partition,
                "the file has \(CountText.of(slices, "slice")) and \(CountText.of(rejected, "rejected record")), but "
                    + "\(report.slices - before.slices) and \(report.rejected - before.rejected) belong to a chain.")
        }
        let stray = try file.strayKeyCount()
        if stray > 0 {
            report.add(
                .miscounted, file.partition,
                "\(CountText.of(stray, "key")) of records belong to no slice. Their records would not be taken again.")
        }
    }

    private mutating func check(_ row: RecordFile.ChainRow, in file: RecordFile, _ report: inout VerifyReport)
        throws(StoreError)
    {
        var chain = chains[row.key] ?? Chain()
        let isUnsettled = unsettled.contains(row.key.device)
        if isUnsettled { chain.isBroken = true }
        func add(_ code: VerifyReport.Finding.Code, _ first: UInt64?, _ last: UInt64?, _ message: String) {
            if isUnsettled { return }
            report.add(code, file.partition, message, chain: row.key, first: first, last: last)
            chain.isBroken = true
        }
        if row.entryNumber != chain.counted.number || row.entryLink != chain.counted.link {
            if row.entryNumber > chain.counted.number {
                let cause =
                    isIncomplete
                    ? "an earlier file cannot be read" : "an earlier file is gone, and the baseline lacks its marks"
                add(
                    .missing, chain.counted.number + 1, row.entryNumber,
                    """
                    the chain enters this file at \(row.entryNumber), but earlier files end at \
                    \(chain.counted.number): \(cause).
                    """
                )
            } else {
                add(
                    .altered, row.entryNumber, chain.counted.number,
                    "the chain enters this file at \(row.entryNumber) with another link than earlier files have.")
            }
            chain.counted.number = row.entryNumber
            chain.counted.link = row.entryLink
        }
        var from: UInt64 = 0
        while true {
            let slice: StoredSlice?
            do throws(StoreError) { slice = try file.slice(chain: row.id, from: from) } catch {
                add(.unreadable, chain.counted.number + 1, row.state.mark.number, error.message)
                break
            }
            guard let slice else { break }
            report.slices += 1
            from = slice.first + 1
            if slice.first <= chain.counted.number {
                add(
                    .doubled, slice.first, min(slice.last, chain.counted.number),
                    "this slice repeats numbers; those up to \(chain.counted.number) are already stored."
                )
                continue
            }
            let hole = slice.first - 1 - chain.counted.number
            if hole != slice.lostBefore {
                add(
                    .missing, chain.counted.number + 1, slice.first - 1,
                    """
                    before this slice the file misses \(CountText.of(hole, "number")), but it was accepted with \
                    \(slice.lostBefore) lost.
                    """
                )
            }
            if hole == 0, slice.priorLink != chain.counted.link {
                add(
                    .altered, slice.first, slice.last,
                    "the slice does not continue the chain: its first link differs from the last one before it.")
            }
            chain.counted.lostAtCollector.addSaturating(slice.lostBefore)
            report.lostAtCollector.addSaturating(slice.lostBefore)
            if let fault = count(slice, &chain.counted, &report) {
                add(.altered, fault.number, slice.last, "\(fault.message) (slice \(slice.first)...\(slice.last)).")
            }
            chain.counted.number = slice.last
            chain.counted.link = slice.lastLink
        }
        report.chains += chains[row.key] == nil ? 1 : 0
        chain.stated = row.state.mark
        compare(&chain, row, file, &report)
        chains[row.key] = chain
    }

    /// Adds a slice up and proves it.
    private func count(_ slice: StoredSlice, _ mark: inout StreamMark, _ report: inout VerifyReport) -> StoredSlice
        .Fault?
    {
        var stored: UInt64 = 0
        var misplaced: StoredSlice.Fault?
        var fault: StoredSlice.Fault?
        let lost = mark.lostAtCollector
        do throws(StoredSlice.Fault) {
            try slice.walk { number, _, step in
                mark.add(step)
                if case .record(let range) = step {
                    stored += 1
                    let envelope = slice.records.slice(range).withUnsafeBytes { RecordEnvelope(scanning: $0) }
                    if envelope?.number != number, misplaced == nil {
                        misplaced = .init(number: number, message: "the record's envelope has another number")
                    }
                }
            }
        } catch { fault = error }
        report.lostAtCollector.addSaturating(mark.lostAtCollector.subtractingSaturating(lost))
        report.records += stored
        report.recordBytes += UInt64(slice.records.count)
        report.rejected += UInt64(slice.rejected.count)
        // The misplaced record is the more exact place of the same damage.
        return misplaced ?? fault
    }

    private func compare(
        _ chain: inout Chain, _ row: RecordFile.ChainRow, _ file: RecordFile, _ report: inout VerifyReport
    ) {
        guard !chain.isBroken, chain.counted != chain.stated else { return }
        chain.isBroken = true
        let counted = chain.counted
        let stated = chain.stated
        let code: VerifyReport.Finding.Code =
            counted.number < stated.number ? .missing : counted.number > stated.number ? .doubled : .miscounted
        report.add(
            code, file.partition,
            """
            rows give number \(counted.number) with \(counted.stored) stored, \(counted.rejectedCount) rejected, \
            \(counted.droppedCount) dropped, \(counted.lostAtCollector) lost; the mark says \(stated.number) with \
            \(stated.stored), \(stated.rejectedCount), \(stated.droppedCount), \(stated.lostAtCollector).
            """,
            chain: row.key, first: min(counted.number, stated.number) + (code == .miscounted ? 0 : 1),
            last: max(counted.number, stated.number))
    }

    /// Checks what only the baseline knows: its own rows must add up.
    func finish(_ report: inout VerifyReport) {
        for (key, chain) in chains where !chain.isBroken && chain.counted.stored != chain.stated.stored {
            report.add(
                .init(
                    code: .miscounted, file: "collector.sqlite", device: "\(key.device)", epoch: "\(key.epoch)",
                    stream: "\(stream)",
                    message:
                        """
                        the file has \(CountText.of(chain.counted.stored, "row")), the mark says \(chain.stated.stored).
                        """
                ))
        }
    }
}
