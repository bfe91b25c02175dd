import WireModel

/// A slice of a data directory that moves to another store.
package struct MovingSlice: Sendable {
    package var chain: ChainKey
    /// Its `id` is its place in the order of receipt of its partition.
    package var slice: StoredSlice
    /// The bounds of its records.
    package var bounds: RecordBounds
    /// The device's totals at the end of the partition.
    package var totals: DeviceTotals
    /// The keys of its items.
    package var keys: [KeyRange]

    package init(
        chain: ChainKey, slice: StoredSlice, bounds: RecordBounds, totals: DeviceTotals, keys: [KeyRange] = []
    ) {
        self.keys = keys
        self.chain = chain
        self.slice = slice
        self.bounds = bounds
        self.totals = totals
    }
}

/// A chain of a data directory that moves to another store.
package struct MovingChain: Sendable {
    package var key: ChainKey
    /// The newest.
    package var state: ChainState
    /// The newest partition that has the chain; `nil` if retention has removed them all.
    package var day: UTCDay?

    package init(key: ChainKey, state: ChainState, day: UTCDay? = nil) {
        self.key = key
        self.state = state
        self.day = day
    }
}
