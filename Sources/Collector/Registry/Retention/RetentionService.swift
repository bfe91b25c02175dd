import FoundationEssentials
import RecordStore
import WireModel

/// Retention for an administrator, with or without a running collector: which records are kept, whether retention
/// waits, and the release.
package struct RetentionService {
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

        /// The last purge that was requested.
        package struct Purge: Equatable, Sendable {
            package enum State: String, Sendable, CaseIterable {
                case waiting, done, failed
            }

            package var id: String
            package var state: State
            package var removedFiles: Int
            package var failure: String?
        }

        package var streams: [Stream]
        /// Why no records are removed; `nil` if they are.
        package var waiting: String?
        /// The time by the clock that was in doubt, in microseconds since 1970.
        package var waitingSince: Int64?
        /// `nil` if none was requested yet.
        package var purge: Purge?
    }

    private let registry: any Registry

    package init(_ registry: any Registry) { self.registry = registry }

    /// Reads only, acquires no lock.
    /// - Throws: `.notFound` if there is no collector's data; `.newerVersion`, `.corrupt`, `.io`.
    package func status(of store: any RecordStore) async throws(StoreError) -> Status {
        let state = RetentionState(connection: try registry.openReading())
        let (waiting, purge) = (try state.waiting(), try state.purge())
        let partitions = try await store.partitions()
        let streams = StreamName.allCases.map { stream in
            let kept = partitions.kept.filter { $0.partition.stream == stream }
            return Status.Stream(
                stream: stream, files: kept.count, bytes: kept.reduce(0) { $0 + $1.bytes },
                oldest: kept.first?.partition.day, newest: kept.last?.partition.day,
                removedFiles: partitions.dropped[stream] ?? 0)
        }
        return Status(streams: streams, waiting: waiting?.message, waitingSince: waiting?.since, purge: purge)
    }

    /// The clock decides which records are old enough. While it is in doubt, only a release is accepted.
    /// - Throws: `.conflict` while retention waits.
    package func requireTrustedClock() throws(StoreError) {
        guard let waiting = try RetentionState(connection: try registry.openReading()).waiting() else { return }
        throw StoreError(.conflict, "the age of records is in doubt. \(waiting.message)")
    }

    /// Lets retention continue with its next pass: within the hour, or when the collector is started.
    /// - Parameters:
    ///   - actor: for the audit trail.
    ///   - now: microseconds since 1970.
    /// - Returns: what it waited for; `nil` if it did not wait.
    package func release(by actor: AuditActor, at now: Int64) throws(StoreError) -> String? {
        try registry.requireCollector()
        let connection = try registry.openWriting()
        return try connection.transaction { () throws(StoreError) in
            try RetentionState(connection: connection).release(by: actor, at: now)?.message
        }
    }
}

extension RetentionState {
    /// The last requested purge and its state.
    fileprivate func purge() throws(StoreError) -> RetentionService.Status.Purge? {
        if let request = try request() {
            return RetentionService.Status.Purge(id: request.idText, state: .waiting, removedFiles: 0)
        }
        return try answer().map { answer in
            RetentionService.Status.Purge(
                id: answer.id.uuidString.lowercased(), state: answer.failure == nil ? .done : .failed,
                removedFiles: answer.removedFiles,
                failure: answer.failure)
        }
    }
}
