import RecordStore
import Registry
import SQLite
import Synchronization
import TelemetryBasics
import WireModel

/// Record files that could not be read. Answers leave them out, and salvage examines them.
final class DamagedFiles: Sendable {
    private struct State {
        /// Files to examine.
        var suspects: [Partition: String] = [:]
        /// Files that were examined and left: salvage cannot repair the damage, or had no room.
        var settled: [Partition: String] = [:]
    }

    private let state = Mutex(State())

    /// Returns at once.
    func record(_ partition: Partition, _ message: String) {
        state.withLock { state in
            if state.settled[partition] == nil { state.suspects[partition] = message }
        }
    }

    /// The files to examine, oldest first. They stay recorded until they are settled.
    var suspects: [Partition] { state.withLock { $0.suspects.keys.sorted() } }

    /// The file stays as it is for now.
    func settle(_ partition: Partition, _ message: String) {
        state.withLock { state in
            state.suspects[partition] = nil
            state.settled[partition] = message
        }
    }

    /// Files that could not be repaired are examined again.
    func lookAgain() {
        state.withLock { state in
            state.suspects.merge(state.settled) { first, _ in first }
            state.settled = [:]
        }
    }

    /// The file can be read.
    func forget(_ partition: Partition) {
        state.withLock { state in
            state.suspects[partition] = nil
            state.settled[partition] = nil
        }
    }

    /// Files of a stream that are not read, or not completely.
    func names(of stream: StreamName) -> [String] {
        state.withLock { state in
            (Array(state.suspects.keys) + Array(state.settled.keys)).filter { $0.stream == stream }.sorted().map(\.name)
        }
    }
}

/// Checks whether a record file is damaged. Asked before anything is moved, because an error alone may have another
/// cause.
struct DamageCheck {
    let directory: DataDirectory
    let baseline: Baseline

    /// Reads the whole file.
    /// - Returns: the fault; `nil` if neither SQLite nor the columns reveal one.
    /// - Throws: other errors of the disk.
    func fault(of partition: Partition) throws(StoreError) -> String? {
        if let fault = try quickFault(of: partition) { return fault }
        do throws(StoreError) {
            guard let file = try RecordFile(reading: partition, in: directory) else { return nil }
            let faults = try StoreError.mapping(file.connection.integrityCheck(quick: true, limit: 1))
            if let fault = faults.first { return "SQLite: \(fault)." }
            try file.forEachChain { _ in }
            return nil
        } catch {
            if error.code == .corrupt { return error.message }
            throw error
        }
    }

    /// Checks only the file's header and its WAL. Call it before SQLite opens the file for writing, which fills an
    /// empty file and shortens a WAL.
    func quickFault(of partition: Partition) throws(StoreError) -> String? {
        let path = directory.path(of: partition)
        guard Paths.exists(path) else { return nil }
        let wal = "\(path)-wal"
        let pageBytes = RawPages.pageBytes(database: path, wal: wal) ?? RecordFile.pageBytes
        if RawPages.hasLostFrames(wal: wal, pageBytes: pageBytes) {
            return "The file's WAL is damaged, and SQLite would leave out everything after the damage."
        }
        // The list contains a file once its schema is on disk.
        guard try baseline.isListed(partition) else { return nil }
        do throws(StoreError) {
            return try RecordFile(reading: partition, in: directory) == nil ? "The file is empty." : nil
        } catch {
            if error.code == .corrupt { return error.message }
            throw error
        }
    }
}
