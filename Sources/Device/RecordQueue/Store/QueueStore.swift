import DeviceTunables
import FoundationEssentials
import Logging
import SQLite
import WireModel

/// The queue's file and its state. Synchronous; only the writer's thread uses it.
///
/// Every change goes through `change`. The state is a value: a transaction makes its next version and writes it
/// together with the rows. Only a successful commit makes it the current one.
final class QueueStore {
    let directory: String
    let configuration: RecordQueue.Configuration
    let clock: any RecordClock
    let logger: Logger
    let schema: QueueSchema
    let seal: QueueSeal
    let connection: Connection
    /// The state in the file, with the changes of `isCommitDue`.
    private(set) var state: QueueState
    private(set) var commits: UInt64 = 0
    /// A transaction with acknowledgements is open. The next change, or `settle`, commits it.
    private(set) var isCommitDue = false
    /// Bytes that these acknowledgements removed.
    private var deferredBytes: UInt64 = 0
    /// After a failed change (a full disk) nothing is deferred to the next one.
    private var mayDefer = true
    /// `max_page_count`: the pages allocated to the file, which a checkpoint can write without asking for space.
    var allocatedPages = 0
    var pagesAtCheckpoint = 0
    var isWALAllocated = false
    /// The number up to which rows of keys that are gone are known to be dropped.
    var givenUp: [RecordTable: UInt64] = [:]
    /// The number up to which abandoned rows are known to be empty. Only saves searching again.
    var emptied: [RecordTable: UInt64] = [:]
    /// Why links of the file could not be opened; they are zero in `state` then. `nil` if all are known.
    private(set) var linkObstacle: QueueError?
    /// What the conversion has done since the opening.
    var conversion = Conversion()
    /// Called between two commits of the conversion, for tests of a kill there.
    var reached: (Conversion.Step) -> Void = { _ in }
    /// A second copy of the numbers, beside the file; `nil` while a new file is being made.
    private let marker: MarkerFile?
    /// Whether the file is being made from what a damaged one still had.
    var isBeingMade: Bool { marker == nil }
    private var isMarkerFailing = false
    /// Whether the file contains `state`. Until then no marker may name it: after a cut, the next opening would miss an
    /// epoch that never was in the file.
    private var isInFile = false

    var path: String { connection.path }

    /// Opens or makes the file.
    /// - Parameters:
    ///   - name: the file's name in the directory.
    ///   - initial: the content of a new file; `nil` for an empty queue.
    init(
        directory: String, name: String = QueueFile.databaseName, initial: QueueState? = nil,
        configuration: RecordQueue.Configuration, clock: any RecordClock, logger: Logger,
        schema: QueueSchema = .current
    ) throws {
        self.directory = directory
        self.schema = schema
        self.configuration = configuration
        seal = QueueSeal(configuration)
        self.clock = clock
        self.logger = logger
        marker = name == QueueFile.databaseName ? MarkerFile(directory: directory) : nil
        let now = clock.now()
        connection = try Connection(path: "\(directory)/\(name)", options: QueueFile.options(schema))
        // Replaced by the file's content before anything reads it.
        state = initial ?? QueueState(epoch: .random(), clock: QueueClock(stamp: now))
        // This code makes all checkpoints, so a damaged file is closed unchanged.
        try connection.setCheckpointOnClose(false)
        let version = try connection.userVersion
        if version == 0 {
            // The first commits of a queue are only in its WAL.
            if let marker = marker?.marker {
                throw corrupt("it has no schema version, but \(QueueFile.markerName) names epoch \(marker.epoch)")
            }
            try create(state, isEmpty: initial == nil)
        }
        // This check comes before any write, because salvage may still read what SQLite has lost. If the marker cannot
        // be read from the file, the checks below find the damage.
        if let found = try? storedMarker(), let finding = marker?.marker?.finding(against: found) {
            throw corrupt(finding)
        }
        try connection.migrate(schema.steps)
        try checkSchema(ended: try endedOrdinals())
        state = try load()
        isInFile = true
        if version != 0 { try allocate() }
        state.clock = state.clock.resumed(at: now)
        writeMarker(syncing: true)
        try noteForm()
    }

    /// Reads the links again that could not be opened.
    ///
    /// - Throws: `.corrupt` if one is not what was sealed. One that is still sealed is no error.
    func openLinks() throws {
        guard linkObstacle != nil else { return }
        try settle()
        let clock = state.clock
        state = try load()
        state.clock = clock
    }

    /// A link that was found; zero if it cannot be opened now.
    func opened(_ stored: Data, at number: UInt64, of chain: ChainCode, _ name: String) throws -> ChainLink {
        switch seal.link(stored, at: number, of: chain) {
        case .link(let link): return link
        case .unavailable(let reason):
            linkObstacle = reason
            return .zero
        case .damaged: throw corrupt("stream \(chain.stream) of epoch \(chain.ordinal): \(name) is no link")
        }
    }

    /// Whether every stream can go on: the link of its last record is known.
    var isChainKnown: Bool {
        StreamName.allCases.allSatisfy { state[$0].last == 0 || state[$0].lastLink != .zero }
    }

    func forgetLinkObstacle() { linkObstacle = nil }

    /// Thrown where a link is needed that is not known.
    var unknownLink: QueueError {
        linkObstacle ?? QueueError(.keyUnavailable, "\(path): a link is sealed, and its key is not at hand")
    }

    /// The present queue clock.
    var queueClock: QueueClock { state.clock.advanced(to: clock.now()) }

    /// Runs a change. All of it is on synced disk when this returns, and nothing of it if this throws.
    ///
    /// - Parameter deferring: the number of bytes removed by a change that a crash may undo without harm. Such a change
    ///   is an acknowledgement: the records are sent again, and the collector has them already. The change applies at
    ///   once but is on disk only with the next change or after `settle`, so pages that both touch are written once. It
    ///   is not deferred if it would make that transaction large. `nil` for never.
    func change<T>(deferring bytes: UInt64? = nil, _ body: (inout QueueState) throws -> T) throws -> T {
        var next = state
        next.clock = queueClock
        do {
            func write() throws -> T {
                let value = try body(&next)
                try save(next, over: state)
                return value
            }
            let value: T
            if isCommitDue {
                value = try connection.nested(mapping: { $0 as any Error }, write)
            } else {
                try connection.begin(.immediate)
                value = try write()
                isCommitDue = true
            }
            if let bytes, mayDefer, deferredBytes + bytes <= Tunables.Queue.deferredBytes {
                deferredBytes += bytes
                state = next
            } else {
                try commit()
                state = next
                mayDefer = true
                writeMarker(syncing: false)
            }
            return value
        } catch {
            mayDefer = false
            // Commits the deferred changes without this one, if possible.
            if isCommitDue, connection.isInTransaction { try? commit() }
            connection.rollback()
            isCommitDue = false
            deferredBytes = 0
            reload()
            throw error
        }
    }

    /// Commits the deferred changes.
    func settle() throws {
        guard isCommitDue else { return }
        do { try commit() } catch {
            mayDefer = false
            reload()
            throw error
        }
    }

    private func commit() throws {
        isCommitDue = false
        deferredBytes = 0
        try connection.commit()
        commits += 1
    }

    /// After a failed commit only the file knows the state. If it cannot be read, the old state is still right, because
    /// nothing of the failed transaction was committed.
    private func reload() {
        guard let found = try? load() else { return }
        let clock = state.clock
        state = found
        state.clock = clock
    }

    /// Writes epoch and numbers to the marker once they are on synced disk. A failure is no error: the file decides,
    /// and the next commit tries again.
    func writeMarker(syncing: Bool, everywhere: Bool = false) {
        guard let marker, isInFile, !isCommitDue else { return }
        do {
            let present = EpochMarker(state, isSealing: seal.isSealing)
            if everywhere { try marker.rewrite(present) } else { try marker.write(present, syncing: syncing) }
            isMarkerFailing = false
        } catch {
            guard !isMarkerFailing else { return }
            isMarkerFailing = true
            logger.warning(
                "the marker file could not be written", metadata: ["queue.error": "\(error)"])
        }
    }

    /// What time and ended epochs ask for. What needs a key that is not at hand waits.
    func upkeep() throws {
        func unlessSealed(_ body: () throws -> Void) throws {
            do { try body() } catch { guard QueueError(error).code == .keyUnavailable else { throw error } }
        }
        try unlessSealed { try dropOverAged() }
        // What a crash or a full disk left of an ended epoch.
        try unlessSealed { _ = try advanceEnded() }
    }

    /// Stores the queue clock if nothing else did for an hour, because after a reboot at most a day beyond it is
    /// counted.
    func keepClock() throws {
        if queueClock.time - state.clock.time >= 3600 * 1_000_000 { try change { _ in } }
    }

    func close() throws {
        // The present clock is the best start for the next boot. Without it, the last commit's is used.
        if queueClock != state.clock { try? change { _ in } }
        checkpoint()
        try connection.close()
    }

    /// Closes the file unchanged.
    func abandon() throws { try connection.close() }

    /// Moves the WAL into the file when it is large enough. A failure is no error; the next commit tries again.
    func checkpointIfDue() {
        if !isCommitDue, connection.pagesWritten - pagesAtCheckpoint >= Tunables.Queue.checkpointPages { checkpoint() }
    }

    func checkpoint() {
        do {
            try settle()
            let result = try connection.checkpoint(.full)
            guard !result.busy, result.checkpointedFrames == result.walFrames else { return }
            pagesAtCheckpoint = connection.pagesWritten
            writeMarker(syncing: true)
            if !isWALAllocated { allocateWAL() }
        } catch {
            logger.warning("queue checkpoint failed", metadata: ["queue.error": "\(error)"])
        }
    }

    /// Makes room in the WAL for a large transaction, if needed.
    func checkpointBefore(removing bytes: UInt64) {
        if bytes > UInt64(Tunables.Queue.transactionBytes), connection.pagesWritten > pagesAtCheckpoint { checkpoint() }
    }

    func corrupt(_ finding: String) -> QueueError { .corrupt(path, finding) }
}

/// Makes a new file, and refuses a foreign one.
extension QueueStore {
    /// One transaction, so a file is a whole queue or still empty.
    func create(_ initial: QueueState, isEmpty: Bool) throws {
        // An aborted creation leaves no tables. Tables without our version belong to another program.
        guard try tables().isEmpty else { throw corrupt("it has tables but no version of the queue's schema") }
        try allocate()
        try connection.transaction(.immediate, mapping: { $0 as any Error }) { () throws in
            for (_, sql) in schema.tables(ended: []).sorted(by: { $0.key < $1.key }) { try connection.execute(sql) }
            for epoch in initial.ended where epoch.phase != .settled { try createEndedTables(epoch.ordinal) }
            try insert(initial)
            if isEmpty, seal.isSealing { try storeForm(.sealed) }
            try connection.setUserVersion(schema.version)
        }
    }

    func checkSchema(ended: [Int64]) throws {
        let found = try tables()
        let expected = schema.tables(ended: ended)
        for (name, sql) in expected {
            guard let text = found[name] else { throw corrupt("table \(name) is missing") }
            guard QueueSchema.isEqual(text, sql) else {
                throw corrupt("table \(name) is not the one this version makes")
            }
        }
        guard found.count == expected.count else { throw corrupt("it has tables that are not the queue's") }
    }

    /// Ordinals of the epochs that have their own tables, from the list of epochs.
    func endedOrdinals() throws -> [Int64] {
        guard try tables()["epoch"] != nil else { throw corrupt("table epoch is missing") }
        let statement = try connection.prepare("SELECT ordinal FROM epoch WHERE reason IS NOT NULL AND phase <> ?")
        try statement.bind(EndedEpoch.Phase.settled.rawValue, at: 1)
        var ordinals: [Int64] = []
        while try statement.step() { ordinals.append(statement.int64(0)) }
        return ordinals
    }

    /// Makes empty tables for an ended epoch, named and worded like renamed ones.
    func createEndedTables(_ ordinal: Int64) throws {
        for stream in StreamName.allCases {
            try connection.execute(schema.endedRecords(RecordTable.ended(ordinal, stream).name))
        }
    }

    /// The epoch and the last numbers, as the marker would name them; `nil` if the file names no current epoch.
    private func storedMarker() throws -> EpochMarker? {
        let epoch = try connection.prepare("SELECT ordinal, id FROM epoch WHERE reason IS NULL")
        guard try epoch.step(), let id = EpochID(epoch.data(1)), ChainCode.ordinals.contains(epoch.int64(0))
        else { return nil }
        var marker = EpochMarker(epoch: id, ordinal: epoch.int64(0), streams: [:])
        let ledger = try connection.prepare("SELECT last_number FROM ledger WHERE chain = ?")
        for stream in StreamName.allCases {
            try ledger.bind(ChainCode(ordinal: marker.ordinal, stream: stream).rawValue, at: 1)
            marker.streams[stream] = EpochMarker.Stream(last: try ledger.step() ? try ledger.uint64(0) : 0)
            ledger.reset()
        }
        return marker
    }

    func tables() throws -> [String: String] {
        let statement = try connection.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
        var tables: [String: String] = [:]
        while try statement.step() { tables[statement.string(0)] = statement.string(1) }
        return tables
    }
}
