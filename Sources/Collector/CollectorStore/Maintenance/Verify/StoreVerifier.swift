/// Proves that all a collector keeps is whole and unaltered: the records through their store, then every chunk of a log
/// against the digest of what came. Reads only, takes no lock, works beside a running collector.
package struct StoreVerifier {
    private let records: any RecordStore
    private let directory: DataDirectory

    package init(directory: String, records: any RecordStore) {
        self.directory = DataDirectory(path: directory)
        self.records = records
    }

    /// With the records in SQLite files.
    package init(directory: String) throws(StoreError) {
        self.init(directory: directory, records: try SQLiteRecordStore.openReading(directory: directory))
    }

    /// - Throws: where the directory or its `collector.sqlite` cannot be read at all; all else that is wrong is a
    ///   finding.
    package func verify() async throws(StoreError) -> VerifyReport {
        var report = try await records.verify()
        if let connection = try CollectorDatabase.openReading(directory) {
            try ChunkVerification(directory: directory, connection: connection).check(&report)
        } else {
            report.add(
                .init(
                    code: .missing, file: "collector.sqlite",
                    message: "it is missing or empty, so removed record files and logs cannot be checked.")
            )
        }
        return report
    }
}
