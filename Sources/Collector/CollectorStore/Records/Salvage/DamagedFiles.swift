import SQLite
import Synchronization
import TelemetryBasics
import WireModel

/// Record files that their readers could not read. Answers leave them out, and salvage looks at them.
final class DamagedFiles: Sendable {
    private struct State {
        /// To be looked at.
        var suspects: [Partition: String] = [:]
        /// Looked at and left as it is: salvage cannot mend this damage, or had no room.
        var settled: [Partition: String] = [:]
    }

    private let state = Mutex(State())

    /// Returns at once.
    func note(_ partition: Partition, _ message: String) {
        state.withLock { state in
            if state.settled[partition] == nil { state.suspects[partition] = message }
        }
    }

    /// Those to be looked at, oldest first. They stay noted until they are settled.
    var suspects: [Partition] { state.withLock { $0.suspects.keys.sorted() } }

    /// The file stays as it is for now.
    func settle(_ partition: Partition, _ message: String) {
        state.withLock { state in
            state.suspects[partition] = nil
            state.settled[partition] = message
        }
    }

    /// Files that could not be mended become suspects again.
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

    /// Files of a stream that are not read, or not whole.
    func names(of stream: StreamName) -> [String] {
        state.withLock { state in
            (Array(state.suspects.keys) + Array(state.settled.keys)).filter { $0.stream == stream }.sorted().map(\.name)
        }
    }
}

/// Whether a record file is damaged. Asked before anything is moved, because an error alone may have another cause.
struct DamageCheck {
    let directory: DataDirectory
    let baseline: Baseline

    /// Reads the whole file.
    /// - Returns: what is wrong; `nil`: nothing that SQLite or the columns tell.
    /// - Throws: what the disk says otherwise.
    func fault(of partition: Partition) throws(StoreError) -> String? {
        if let fault = try quickFault(of: partition) { return fault }
        do throws(StoreError) {
            guard let file = try RecordFile(reading: partition, in: directory) else { return nil }
            let faults = try StoreError.mapping { () throws(SQLiteError) in
                try file.connection.integrityCheck(quick: true, limit: 1)
            }
            if let fault = faults.first { return "SQLite: \(fault)." }
            try file.forEachChain { _ in }
            return nil
        } catch {
            if error.code == .corrupt { return error.message }
            throw error
        }
    }

    /// Looks at the head of the file and at its WAL alone. To be asked before SQLite opens the file for writing: that
    /// makes an empty file anew, and a WAL shorter.
    func quickFault(of partition: Partition) throws(StoreError) -> String? {
        let path = directory.path(of: partition)
        guard Paths.exists(path) else { return nil }
        let wal = "\(path)-wal"
        let pageBytes = RawPages.pageBytes(database: path, wal: wal) ?? RecordFile.pageBytes
        if RawPages.hasLostFrames(wal: wal, pageBytes: pageBytes) {
            return "The file's WAL is damaged: SQLite would leave out what lies behind."
        }
        // The list names a file once its schema is on disk.
        guard try baseline.isListed(partition) else { return nil }
        do throws(StoreError) {
            return try RecordFile(reading: partition, in: directory) == nil ? "The file is empty." : nil
        } catch {
            if error.code == .corrupt { return error.message }
            throw error
        }
    }
}
