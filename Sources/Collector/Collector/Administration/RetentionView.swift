import CollectorStore

/// What is kept of the records, as administrators see it: over HTTP, and at the collector's machine.
package struct RetentionView: Encodable {
    struct Stream: Encodable {
        var stream: String
        var files: Int
        var bytes: Int64
        /// Days; absent where there is no file.
        var oldest: String?
        var newest: String?
        var removedFiles: Int
    }

    struct Purge: Encodable {
        var id: String
        var state: String
        var removedFiles: Int
        var failure: String?
    }

    var streams: [Stream]
    /// Why nothing is removed; absent while old records go.
    var waiting: String?
    var waitingSince: String?
    /// The last one; absent where there was none.
    var purge: Purge?

    package init(_ status: RetentionService.Status) {
        streams = status.streams.map { stream in
            Stream(
                stream: "\(stream.stream)", files: stream.files, bytes: stream.bytes, oldest: stream.oldest?.description,
                newest: stream.newest?.description, removedFiles: stream.removedFiles)
        }
        waiting = status.waiting
        waitingSince = status.waitingSince.map(Timestamp.text)
        purge = status.purge.map { Purge(id: $0.id, state: $0.state.rawValue, removedFiles: $0.removedFiles, failure: $0.failure) }
    }
}

/// What a purge of records would take, or was asked to take.
struct PurgeView: Encodable {
    struct Stream: Encodable {
        var stream: String
        var files: Int
        var bytes: Int64
        var oldest: String
        var newest: String
    }

    /// Whether it was asked for: the files go within seconds.
    var asked: Bool
    /// Those of which something goes.
    var streams: [Stream]
    var files: Int
    var bytes: Int64
    /// To be sent as `confirm`; only where nothing is asked yet.
    var confirm: String?
    /// The id by which `GET /api/v1/retention` and the audit trail tell of it.
    var purge: String?

    init(_ plan: PurgePlan, purge: String? = nil) {
        asked = purge != nil
        streams = plan.streams.map { stream in
            Stream(
                stream: "\(stream.stream)", files: stream.files, bytes: stream.bytes, oldest: stream.oldest.description,
                newest: stream.newest.description)
        }
        files = plan.files.count
        bytes = plan.files.reduce(0) { $0 + $1.bytes }
        confirm = asked ? nil : plan.confirmation
        self.purge = purge
    }
}
