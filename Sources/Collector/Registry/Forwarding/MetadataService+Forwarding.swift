import RecordStore

/// How far an endpoint has got with one source of records.
package struct ForwardCursor: Equatable, Sendable {
    /// Records received since then are forwarded, microseconds since 1970 by the collector's clock.
    package var since: Int64
    /// Of the source: behind the last record that the endpoint took. Empty before the first.
    package var position: String

    package init(since: Int64, position: String) { (self.since, self.position) = (since, position) }
}

/// The cursors of forwarding, one for each endpoint and source.
///
/// A cursor is moved after the endpoint has answered, and is on synced disk then. In a cluster only the collector whose
/// turn it is can move one (`HousekeepingTerm`).
extension MetadataService {
    /// Finds a cursor, or makes it.
    /// - Parameters:
    ///   - source: the name of a stream.
    ///   - since: of a new one.
    package func forwardCursor(
        of endpoint: String, source: String, since: Int64
    ) throws(StoreError) -> ForwardCursor {
        let now = clock.now()
        return try transaction { () throws(StoreError) in
            let found = try connection.first(
                "SELECT since, position FROM forward_cursor WHERE endpoint = ? AND source = ?", endpoint, source
            ) { ForwardCursor(since: $0.int64(0), position: $0.string(1)) }
            if let found { return found }
            try connection.run(
                "INSERT INTO forward_cursor (endpoint, source, since, position, moved) VALUES (?, ?, ?, '', ?)",
                endpoint, source, since, now)
            return ForwardCursor(since: since, position: "")
        }
    }

    /// Moves a cursor.
    /// - Parameter former: where it is. If it is elsewhere, another collector has moved it.
    /// - Returns: whether it was moved.
    package func moveForwardCursor(
        of endpoint: String, source: String, from former: String, to position: String
    ) throws(StoreError) -> Bool {
        let now = clock.now()
        return try transaction { () throws(StoreError) in
            try connection.run(
                "UPDATE forward_cursor SET position = ?, moved = ? WHERE endpoint = ? AND source = ? AND position = ?",
                position, now, endpoint, source, former) == 1
        }
    }
}
