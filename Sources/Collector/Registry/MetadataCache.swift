import Synchronization

/// Rows in memory, so callers need not wait for the disk. A change removes a group of rows, however many others there
/// are. Without a lease it has no rows to show. Limited: a full cache starts again.
final class MetadataCache<Key: Hashable & Sendable, Row: Sendable, Group: Hashable & Sendable>: Sendable {
    private struct State {
        var rows: [Key: Row] = [:]
        /// The groups of the keys in `rows`.
        var keys: [Group: Set<Key>] = [:]
        /// Grows with every removal. A row that was read before a removal must not return after it.
        var generation = 0
    }

    private let state = Mutex(State())
    private let limit: Int
    private let lease: RegistryLease
    private let group: @Sendable (Key, Row) -> Group

    /// - Parameters:
    ///   - limit: the most rows.
    ///   - lease: whether rows may be used.
    ///   - group: the group of a row. The rows of one key are always in the same group.
    init(
        limit: Int, lease: RegistryLease = RegistryLease(clock: nil), group: @escaping @Sendable (Key, Row) -> Group
    ) {
        self.limit = limit
        self.lease = lease
        self.group = group
    }

    /// `nil` for an unknown row, and for each without a lease.
    subscript(_ key: Key) -> Row? {
        // The row first: a lease that is valid afterwards was so when the row was found.
        let row = state.withLock { $0.rows[key] }
        return lease.isValid ? row : nil
    }

    var generation: Int { state.withLock { $0.generation } }

    /// - Parameter generation: the generation before the row was read.
    func insert(_ row: Row, for key: Key, readAt generation: Int) {
        state.withLock { state in
            guard state.generation == generation else { return }
            if state.rows.count >= limit { (state.rows, state.keys) = ([:], [:]) }
            state.rows[key] = row
            state.keys[group(key, row), default: []].insert(key)
        }
    }

    func removeAll() {
        state.withLock { state in
            state.generation += 1
            (state.rows, state.keys) = ([:], [:])
        }
    }

    func remove(_ group: Group) { remove(all: CollectionOfOne(group)) }

    func remove(all groups: some Sequence<Group>) {
        state.withLock { state in
            state.generation += 1
            for group in groups {
                for key in state.keys.removeValue(forKey: group) ?? [] { state.rows[key] = nil }
            }
        }
    }
}
