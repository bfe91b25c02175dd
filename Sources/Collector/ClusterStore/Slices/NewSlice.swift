import FoundationEssentials
import RecordStore
import WireModel

/// A slice that is about to be written.
struct NewSlice: Sendable {
    var chain: ChainKey
    var version: SliceVersion
    var day: UTCDay
    var position: Int64
    var before: StreamMark
    /// The chain's state after the slice.
    var after: ChainState
    var receivedAt: Int64
    /// `nil`: the slice closes the chain at `before`.
    var content: StoredSlice?
    /// The bounds of its records.
    var bounds = RecordBounds.none
    /// The keys of its items.
    var keys: [KeyRange] = []
}
