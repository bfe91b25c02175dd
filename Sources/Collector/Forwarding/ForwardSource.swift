import CollectorTunables
import LogArchive
import OTLP
import RecordStore
import WireModel

/// Where an endpoint's items are read. Each source has a cursor of its own.
package enum ForwardSource: Hashable, Sendable, CaseIterable {
    /// Records of a stream, in the order of their receipt.
    case records(StreamName)
    /// Lines of the log archive, in the order in which their chunks came.
    case logLines

    package static var allCases: [ForwardSource] { StreamName.allCases.map { .records($0) } + [.logLines] }

    /// In cursors and metrics.
    var name: String {
        switch self {
        case .records(let stream): "\(stream)"
        case .logLines: "log"
        }
    }

    var signal: OTLPSignal { self == .records(.sample) ? .metrics : .logs }
}

/// What is forwarded: a record or a line.
enum ForwardEntry: Sendable {
    case record(StoredRecord)
    case line(LogLineRow)

    var device: DeviceID {
        switch self {
        case .record(let record): record.device
        case .line(let line): line.id.device
        }
    }

    /// Microseconds since 1970 by the collector's clock.
    var receivedAt: Int64 {
        switch self {
        case .record(let record): record.receivedAt
        case .line(let line): line.receivedAt
        }
    }
}

/// Reads a source page by page.
struct ForwardReader: Sendable {
    struct Page: Sendable {
        var entries: [ForwardEntry] = []
        /// Where the next page begins.
        var end: String
        /// Lines that were passed over, because their bytes are damaged.
        var unreadable = 0
    }

    private enum Query {
        case records(RecordQuery)
        case lines(LogQuery)
    }

    private let store: any RecordStore
    private let archive: LogArchive
    private let query: Query
    private let since: Int64

    /// - Parameter since: what came before is passed over, microseconds since 1970; 0 for nothing.
    init(
        _ source: ForwardSource, _ endpoint: ForwardEndpoint, since: Int64, store: any RecordStore, archive: LogArchive
    ) {
        (self.store, self.archive, self.since) = (store, archive, since)
        switch source {
        case .records(let stream):
            var query = RecordQuery(
                .all, stream: stream,
                kinds: Set(endpoint.kinds(of: source).flatMap(\.records).map(\.rawValue)), withTest: endpoint.withTest,
                receivedSince: since > 0 ? since : nil)
            query.isFollowing = true
            self.query = .records(query)
        case .logLines: query = .lines(LogQuery(withTest: endpoint.withTest))
        }
    }

    /// - Parameter position: the end of a page; empty for the first one.
    /// - Throws: `.invalid` if the position is of another store.
    func page(after position: String) async throws(StoreError) -> Page {
        switch query {
        case .records(let query):
            let page = try await store.scan(query, after: position.isEmpty ? nil : position)
            return Page(entries: page.records.map { .record($0) }, end: page.resume ?? position)
        case .lines(let query):
            guard !position.isEmpty else { return Page(end: try await archive.arrival(since: since).text) }
            guard let start = LogArrival(position) else {
                throw StoreError(.invalid, "\(position) is no place in a log archive.")
            }
            // Mostly nothing has come.
            guard try await archive.arrival() != start else { return Page(end: position) }
            let arrived = try await archive.lines(
                query, arrivedSince: start, limit: Tunables.Forwarding.itemsPerRequest, passesDamage: true)
            return Page(
                entries: arrived.lines.map { .line($0) }, end: arrived.arrival.text, unreadable: arrived.unreadable)
        }
    }
}
