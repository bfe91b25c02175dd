import SQLite
import WireModel

/// Whether a record file is damaged: asked before anything is moved, since an error alone may have another cause.
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
        guard DataDirectory.exists(path) else { return nil }
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
