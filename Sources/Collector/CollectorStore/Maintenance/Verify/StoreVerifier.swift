/// Proves that a collector's data are whole and unaltered: the records through their store, then every chunk by the
/// digest of the received bytes. It only reads and takes no lock, so it works beside a running collector.
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

    /// - Throws: if the directory or its `collector.sqlite` cannot be read at all. Any other error is a finding.
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
