import WireModel

/// Deletes sealed segments that somebody names: counted as `deleted` in the state, in one step with the decision.
package struct SegmentDeletion: Sendable {
    package let directory: StoreDirectory
    /// By ordinal.
    package let segments: [StoreSnapshot.Segment]

    /// Of a snapshot, the sealed segments all of whose lines lie in a stretch of time.
    /// - Parameters:
    ///   - since: microseconds since 1970; `nil`: from the beginning.
    ///   - until: before this time; `nil`: to the end.
    package init(_ snapshot: StoreSnapshot, since: Int64?, until: Int64?) {
        directory = snapshot.directory
        segments = snapshot.segments.filter { segment in
            segment.isSealed && segment.index.whole.times.lowerBound >= since ?? .min
                && segment.index.whole.times.upperBound < until ?? .max
        }
    }

    /// - Returns: the lines that were deleted, by level; what was gone already is not among them.
    package func perform() throws(LogStoreError) -> LogLevelCounts {
        try directory.withState { (state) throws(LogStoreError) in
            var deleted = LogLevelCounts()
            for segment in segments where directory.has(segment.name, .sealed) {
                deleted += LogLevelCounts(segment.index.whole.levelCounts)
                state.removing.append(segment.name)
            }
            state.count(deleted, as: .deleted)
            return deleted
        }
    }
}
