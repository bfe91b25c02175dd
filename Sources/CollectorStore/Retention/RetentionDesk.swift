import SQLite
import WireModel

/// Retention as an administrator sees it, with or without a collector that runs: what is kept, whether it waits, and the word that ends that.
package struct RetentionDesk {
    package struct Status: Equatable, Sendable {
        package struct Stream: Equatable, Sendable {
            package var stream: StreamName
            package var files: Int
            package var bytes: Int64
            package var oldest: UTCDay?
            package var newest: UTCDay?
            /// Files that retention has removed so far.
            package var removedFiles: Int
        }

        package var streams: [Stream]
        /// Why no records are removed; `nil`: they are.
        package var waiting: String?
        /// By the clock that was in doubt, microseconds since 1970.
        package var waitingSince: Int64?
    }

    private let directory: DataDirectory

    package init(directory: String) {
        self.directory = DataDirectory(path: directory)
    }

    /// Reads only, takes no lock.
    /// - Throws: `.notFound` where there is no collector's data; `.newerVersion`, `.corrupt`, `.io`.
    package func status() throws(StoreError) -> Status {
        guard let connection = try CollectorDatabase.openReading(directory) else { throw .noCollector(directory.path) }
        let removed = try Baseline(connection).removedPartitions()
        let waiting = try StoreError.mapping { () throws(SQLiteError) in try RetentionState(connection: connection).waiting() }
        let partitions = try directory.partitions().filter { !removed.contains($0) }
        let streams = StreamName.allCases.map { stream in
            let files = partitions.filter { $0.stream == stream }
            return Status.Stream(
                stream: stream, files: files.count, bytes: files.reduce(0) { $0 + directory.bytes(of: $1) }, oldest: files.first?.day,
                newest: files.last?.day, removedFiles: removed.count { $0.stream == stream })
        }
        return Status(streams: streams, waiting: waiting?.message, waitingSince: waiting?.since)
    }

    /// Retention goes on, at its next pass: within the hour, or when the collector is started.
    /// - Returns: what it waited for; `nil` where it did not.
    package func release() throws(StoreError) -> String? {
        guard DataDirectory.exists(directory.databasePath) else { throw .noCollector(directory.path) }
        let connection = try CollectorDatabase.open(directory)
        return try StoreError.mapping { () throws(SQLiteError) in
            try connection.transaction { () throws(SQLiteError) in try RetentionState(connection: connection).release()?.message }
        }
    }
}
