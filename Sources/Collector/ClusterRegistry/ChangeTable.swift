import FoundationEssentials
import RecordStore
import Registry
import WireModel

/// The table `change`: what transactions have changed of what collectors keep in memory.
///
/// ```
/// meta     change_number = 1042          the newest change
/// change   number   at   kind      key
///          1041     ..   device    16 bytes of an id, or those of several devices
///          1042     ..   profile   acme
/// ```
///
/// A transaction reserves the next numbers from `meta` and adds its rows while it holds the registry's lock. So numbers
/// ascend in the order of commits and have no gaps. A reader that knows everything up to 1040 finds 1041 and all later
/// ones. Where it does not, older rows were removed in the meantime, and anything may have changed.
struct ChangeTable {
    /// Notifications only say that there is something to read.
    static let channel = "registry_change"

    let session: any RegistrySession

    static let numberName = "change_number"
    /// Rows are kept for an hour. A collector that was away for longer forgets everything.
    private static let keptMicroseconds: Int64 = 3600 * 1_000_000
    /// Old rows are removed each time when so many were added.
    private static let removalInterval: Int64 = 256
    /// More than this at once is not read one by one.
    private static let maximumRead: Int64 = 10_000

    /// Adds changes and notifies all listeners of the commit. Call it inside a transaction of changes.
    func append(_ changes: Set<RegistryChange>) throws(StoreError) {
        let rows = RegistryChange.rows(of: changes)
        guard !rows.isEmpty else { return }
        let newest = try session.first(
            "UPDATE meta SET number = number + ? WHERE name = ? RETURNING number", rows.count, Self.numberName
        ) { $0.int64(0) }
        guard let newest else { throw incomplete }
        let former = newest - Int64(rows.count)
        for (row, number) in zip(rows, (former + 1)...) {
            try session.run(
                "INSERT INTO change (number, at, kind, key) VALUES (?, \(ServerClock.now), ?, ?)", number, row.kind,
                row.key)
        }
        if newest / Self.removalInterval != former / Self.removalInterval {
            try session.run("DELETE FROM change WHERE at < \(ServerClock.now) - ?", Self.keptMicroseconds)
        }
        try session.run("SELECT pg_notify(?, '')", Self.channel)
    }

    /// Returns what was committed after a change.
    /// - Parameters:
    ///   - last: the newest change that is known; `nil` for none.
    ///   - incarnation: of the registry's service.
    /// - Returns: the news, and the newest change.
    /// - Throws: `.newIncarnation`; errors of the registry.
    func read(
        after last: Int64?, in incarnation: IncarnationID
    ) throws(StoreError) -> (news: RegistryNews, newest: Int64) {
        try session.reading { () throws(StoreError) in
            let present = try session.first("SELECT value FROM meta WHERE name = 'incarnation_id'") { $0.data(0) }
            guard present == incarnation.data else { throw StoreError.newIncarnation }
            let number = try session.first("SELECT number FROM meta WHERE name = ?", Self.numberName) { $0.int64(0) }
            guard let newest = number else { throw incomplete }
            guard let last, last <= newest, newest - last <= Self.maximumRead else { return (.everything, newest) }
            guard last < newest else { return (.changes([]), newest) }
            let rows = try session.rows("SELECT kind, key FROM change WHERE number > ? ORDER BY number", last) {
                RegistryChange.Row(kind: $0.string(0), key: $0.data(1))
            }
            // Numbers have no gaps, so a smaller number of rows means that the oldest were removed.
            guard rows.count == Int(newest - last) else { return (.everything, newest) }
            return (RegistryChange.news(of: rows), newest)
        }
    }

    private var incomplete: StoreError {
        StoreError(.corrupt, "\(session.name): \(Self.numberName) is missing. Restore a backup.")
    }
}

extension StoreError {
    /// The registry has begun a new incarnation, so that everything in memory may be wrong.
    static let newIncarnation = StoreError(
        .shuttingDown, "the cluster was recovered after a failover, so this collector has to start again.")
}
