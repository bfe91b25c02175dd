import FoundationEssentials
import Logging
import RecordStore
import Registry
import SQLite
import TelemetryBasics
import WireModel

/// Replaces a damaged record file: keeps the provable records, and counts the rest as lost at the collector.
///
/// ## What happens
///
/// The writer of the stream has closed the file. Every page of it and of its WAL is read without SQLite (`RawRows`),
/// and the rows found go into a new file (`SalvageFill`). There `ChainMend` walks each chain: a slice stays if its
/// records give its last link and it continues the slice before it. If the chain's row is lost, its key in the table's
/// index or a link at either end of its slices identifies the chain. Numbers without such a slice become
/// `lostAtCollector`, up to the greatest known mark among these:
///
///     the chain's row in the damaged file, and the slices behind it
///     the marks that the running process has in memory
///     the mark with which the chain enters the stream's next file
///     its state before the file (older files, baseline)
///
/// So no known mark becomes lower; the device has deleted its records up to the mark. A chain without a known mark
/// begins anew. The device's next part then starts beyond the mark, and the missing numbers count as lost, as for any
/// part.
///
/// The new file gets the name. The damaged one is kept in `records/damaged/` with `report.json`, where retention,
/// `verify`, `backup` and `rebuild` do not look. Marks in later files still count lost records as stored, so they are
/// counted again from their rows (`ChainMend.recount`); a repetition changes nothing. Then the notice is raised.
///
/// ## The steps, and a kill at each
///
///     records/salvaging/<day>-<stream>/
///       new/...            1  filled from the damaged file, which stays where it is
///       report.json        2  the new file is whole and synced
///       <stream>.sqlite    3  the WAL, then the damaged file, are moved here; the new file gets the name
///                          4  later files are counted anew; list of files and notice are written
///     records/damaged/<day>-<stream>-<time>/
///                          5  the directory gets its last name
///
/// - *Before 2*: nothing was moved. The next start removes the unfinished copy and begins anew.
/// - *In 3*: the next start finds `report.json` and moves the remaining files. It does not read the damaged file again,
///   so it never treats a file without its WAL as the whole.
/// - *In 4*: repeating the counts and the list changes nothing. The notice is raised once per directory.
/// - The store finishes an unfinished salvage at its opening, before a writer reads its files. While the name is free,
///   a writer would make an empty file and begin every chain anew.
///
/// ## Argued against
///
/// - *Doubled or resurrected records*: slices keep their ids and are accepted only above the chain's state before the
///   file, in order, each number once.
/// - *A file of the old name beside the new one's WAL*: SQLite would read a leftover WAL into the new file. Elsewhere
///   names of removed files are never used again. Here the WAL is moved before the file, and files that a reader made
///   in between are removed before the new file gets the name.
/// - *Two damaged files*: the older one is salvaged first, because the newer one's counts start from it.
/// - *Disk full*: nothing was moved. The copy is removed, and the salvage is tried again later.
struct RecordSalvage {
    /// The step that was completed when `observe` is called.
    enum Step: Equatable {
        case filled
        case built
        case walMoved
        case fileMoved
        case replaced
        case recounted
        case reported
        case finished
    }

    /// Marks in the running process's memory, of chains whose newest row is in a file.
    typealias KnownStates = (Partition) -> [ChainKey: ChainState]

    private let directory: DataDirectory
    private let connection: Connection
    private let baseline: Baseline
    private let clock: any StoreClock
    private let logger: Logger
    private let known: KnownStates
    private let observe: (Step) -> Void

    /// - Parameter observe: called after each step, for tests.
    init(
        _ directory: DataDirectory, clock: any StoreClock, logger: Logger, known: @escaping KnownStates = { _ in [:] },
        observe: @escaping (Step) -> Void = { _ in }
    ) throws(StoreError) {
        self.directory = directory
        connection = try CollectorDatabase.open(directory)
        baseline = Baseline(connection)
        self.clock = clock
        self.logger = logger
        self.known = known
        self.observe = observe
    }

    /// Finishes what a killed process left, before any writer opens a file.
    static func finishUnfinished(_ directory: DataDirectory, clock: any StoreClock, logger: Logger) throws(StoreError) {
        for partition in try SalvageArea.unfinished(in: directory) {
            let area = SalvageArea(partition, in: directory)
            // If it is not built nothing was moved, and the damaged file is found again when it is read.
            if area.isBuilt {
                _ = try RecordSalvage(directory, clock: clock, logger: logger).run(partition, cause: "")
            } else {
                try area.discard()
            }
        }
    }

    /// Salvages a file that nobody writes to or has open for writing.
    /// - Parameter cause: the fault that was found.
    /// - Returns: the kept and the lost records. On disk when it returns.
    @discardableResult
    func run(_ partition: Partition, cause: String) throws(StoreError) -> SalvageReport {
        let area = SalvageArea(partition, in: directory)
        if !area.isBuilt {
            do throws(StoreError) { try build(partition, cause: cause, in: area) } catch {
                // Nothing was moved. The original error is reported, even if this fails too.
                try? area.discard()
                throw error
            }
        }
        try area.swap(observe)
        let report = try area.report()
        try recount(after: partition)
        observe(.recounted)
        try reportSalvage(report, of: partition)
        observe(.reported)
        try area.finish(as: report.keptAs)
        observe(.finished)
        logger.error(
            "damaged record file replaced",
            metadata: ["store.file": "\(report.file)", "store.report": "\(report.detail)"])
        return report
    }

    private func build(_ partition: Partition, cause: String, in area: SalvageArea) throws(StoreError) {
        let states = try statesBefore(partition)
        let entries = try entriesAfter(partition)
        try area.begin()
        let file = try RecordFile(writing: partition, in: area.scratch)
        let fill = try SalvageFill(into: file, from: directory.path(of: partition))
        observe(.filled)
        var mend = ChainMend(file, before: states, after: entries, known: known(partition))
        try mend.run(fill)
        try file.recoverPacked()
        try file.seal()
        try area.build(
            SalvageReport(
                file: partition.name, cause: String(cause.prefix(500)), at: clock.now(),
                keptAs: try area.keptName(at: clock.now()), keptRecords: mend.keptRecords, keptChains: mend.keptChains,
                lostNumbers: mend.lostNumbers, lostChains: mend.lostChains, ownerlessRecords: mend.ownerlessRecords))
        observe(.built)
    }

    // MARK: The stream's other files

    private func others(than partition: Partition) throws(StoreError) -> [Partition] {
        let removed = Set(try baseline.removedPartitions())
        return try directory.partitions().filter {
            $0.stream == partition.stream && $0 != partition && !removed.contains($0)
        }
    }

    /// Each chain's state before the file.
    private func statesBefore(_ partition: Partition) throws(StoreError) -> [ChainKey: ChainState] {
        var states: [ChainKey: ChainState] = [:]
        for entry in try baseline.entries(of: partition.stream) { states[entry.key] = entry.state }
        for older in try others(than: partition) where older < partition {
            do throws(StoreError) { try add(older, to: &states) } catch  where error.code == .corrupt {
                // The younger file's counts start from its counts.
                try run(older, cause: error.message)
                try add(older, to: &states)
            }
        }
        return states
    }

    private func add(_ partition: Partition, to states: inout [ChainKey: ChainState]) throws(StoreError) {
        guard let file = try RecordFile(reading: partition, in: directory) else { return }
        var read = states
        try file.forEachChain { row throws(StoreError) in
            read[row.key] = read[row.key].map { row.state.merged(with: $0) } ?? row.state
        }
        states = read
    }

    /// The mark with which each chain enters the next file that contains it. Beyond an unreadable file, a mark may come
    /// from that file's records.
    private func entriesAfter(_ partition: Partition) throws(StoreError) -> [ChainKey: StreamMark] {
        var entries: [ChainKey: StreamMark] = [:]
        for younger in try others(than: partition) where partition < younger {
            do throws(StoreError) {
                guard let file = try RecordFile(reading: younger, in: directory) else { continue }
                var read = entries
                try file.forEachChain { row throws(StoreError) in
                    if read[row.key] == nil { read[row.key] = StreamMark(number: row.entryNumber, link: row.entryLink) }
                }
                entries = read
            } catch  where error.code == .corrupt { break }
        }
        return entries
    }

    /// Corrects the counts in later files.
    private func recount(after partition: Partition) throws(StoreError) {
        guard let file = try RecordFile(reading: partition, in: directory) else { return }
        var marks: [ChainKey: StreamMark] = [:]
        try file.forEachChain { row throws(StoreError) in
            if row.state.mark.lostAtCollector > 0 { marks[row.key] = row.state.mark }
        }
        for younger in try others(than: partition) where partition < younger && !marks.isEmpty {
            do throws(StoreError) {
                let file = try RecordFile(writing: younger, in: directory)
                try ChainMend.recount(&marks, in: file)
                try file.seal()
            } catch  where error.code == .corrupt {
                // It will be salvaged itself, and then recounts what follows it.
                break
            }
        }
    }

    private func reportSalvage(_ report: SalvageReport, of partition: Partition) throws(StoreError) {
        guard let file = try RecordFile(reading: partition, in: directory) else { return }
        let slices = try file.sliceCount()
        let session = SQLiteRegistrySession(connection)
        try session.transaction { () throws(StoreError) in
            try StoreError.mapping(RecordFileList(connection).lower(partition, slices: slices))
            try NoticeTable(connection: session).raiseOnce(
                .recordFileSalvaged, organization: "", subject: report.keptAs, detail: report.detail,
                at: clock.now())
        }
    }
}

/// The kept and the lost records of a record file: `report.json` beside the damaged file.
package struct SalvageReport: Codable, Equatable, Sendable {
    /// Relative to the data directory.
    package var file: String
    /// The fault that was found.
    package var cause: String
    /// The collector's clock, microseconds since 1970.
    package var at: Int64
    /// Where the damaged file is kept, relative to the data directory.
    package var keptAs: String
    package var keptRecords: UInt64
    package var keptChains: Int
    /// Numbers that now count as lost at the collector.
    package var lostNumbers: UInt64
    package var lostChains: Int
    /// Readable records whose owner is unknown.
    package var ownerlessRecords: UInt64

    /// Text for notice and log.
    package var detail: String {
        var detail =
            "\(file) was damaged and has been repaired: \(cause) "
            + "Kept: \(CountText.of(keptRecords, "record")) of \(CountText.of(keptChains, "chain")). "
            + "Unreadable, and counted as lostAtCollector: \(CountText.of(lostNumbers, "record")) of "
            + "\(CountText.of(lostChains, "chain")). "
        if ownerlessRecords > 0 { detail += "Of unknown devices: \(CountText.of(ownerlessRecords, "record")). " }
        return detail
            + "Other records that devices had sent into it count as lost when they next send. "
            + "The damaged file stays in \(keptAs) until somebody deletes it."
    }
}
