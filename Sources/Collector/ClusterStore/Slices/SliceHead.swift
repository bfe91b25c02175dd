import FoundationEssentials
import RecordStore
import WireModel

/// A slice without its records: where it stands in its chain, and what it counts.
struct SliceHead: Equatable, Sendable {
    var chain: ChainKey
    /// The number of the mark before the slice.
    var key: UInt64
    var version: SliceVersion
    var day: UTCDay
    /// Orders the slices of a stream by receipt: microseconds since 1970 by PostgreSQL's clock at the claim. It grows
    /// along a chain. Slices of one claim share it.
    var position: Int64
    /// The mark before the slice, with all counts.
    var before: EncodedMark
    /// The chain's state after the slice: the mark with all counts, totals and closure.
    var state: ChainColumns
    var lastNumber: UInt64
    var receivedAt: Int64
    /// The bounds of its records.
    var bounds: RecordBounds
    var recordCount: UInt64
    /// The size of the packed records in bytes.
    var byteCount: UInt64
    /// Whether the slice closes its chain. Such a slice has no records.
    var isClosing: Bool

    /// The mark after the slice.
    var after: EncodedMark { EncodedMark(bytes: state.mark) }

    /// The slice's place among those of a stream.
    var place: SlicePlace { SlicePlace(day: day, position: position, chain: chain, key: key) }
}

/// A mark as the wire's `Mark` message. Equal marks have equal bytes, so they are compared without being decoded.
struct EncodedMark: Hashable, Sendable {
    var bytes: Data

    static let none = EncodedMark(.none)

    init(bytes: Data) { self.bytes = bytes }

    init(_ mark: StreamMark) { bytes = mark.wire.encoded }

    /// - Throws: `.corrupt` if no collector could have written the bytes.
    func decoded() throws(StoreError) -> StreamMark {
        do { return try StreamMark(WireMark.decode(bytes)) } catch {
            throw StoreError(
                .corrupt, "a mark in the cluster's store cannot be read: \(error). Run `ws1collector verify`.")
        }
    }
}

/// The order of receipt in a stream. Slices of one group share a position, also those of one chain that a long request
/// made.
struct SlicePlace: Hashable, Comparable, Sendable {
    var day: UTCDay
    var position: Int64
    var chain: ChainKey
    var key: UInt64

    static func < (left: Self, right: Self) -> Bool { left.words.lexicographicallyPrecedes(right.words) }

    private var words: [UInt64] {
        [
            UInt64(day.number), UInt64(bitPattern: position) ^ 1 << 63, chain.device.high, chain.device.low,
            chain.epoch.high, chain.epoch.low, key,
        ]
    }
}

/// A place in the order of receipt, as text for the caller of a list. The text is opaque.
struct SliceCursor: Equatable, Sendable {
    var place: SlicePlace
    /// A record's number in the slice. A list that goes backwards continues below it.
    var number: UInt64

    var text: String {
        "\(place.day.number)-\(place.position)-\(place.chain.device.data.hexadecimal)-"
            + "\(place.chain.epoch.data.hexadecimal)-\(place.key)-\(number)"
    }

    init(place: SlicePlace, number: UInt64) {
        self.place = place
        self.number = number
    }

    /// - Throws: `.invalid` for a text that is not a cursor of this store.
    init(_ text: String) throws(StoreError) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
        // Of a data directory that was moved here: a slice has the place there as its position (`ClusterIntake`). All
        // slices up to it are passed.
        if parts.count == 3, let day = Int(parts[0]), let slice = Int64(parts[1]), UInt64(parts[2]) != nil {
            let end = ChainKey(device: .init(high: .max, low: .max), epoch: .init(high: .max, low: .max))
            let day = UTCDay(number: day)
            place = SlicePlace(day: day, position: day.start + slice, chain: end, key: .max)
            number = 0
            return
        }
        guard parts.count == 6, let day = Int(parts[0]), let position = Int64(parts[1]),
            let device = DeviceID(parts[2]),
            let epoch = EpochID(parts[3]), let key = UInt64(parts[4]), let number = UInt64(parts[5])
        else { throw StoreError(.invalid, "the cursor is not one of this store's.") }
        place = SlicePlace(
            day: UTCDay(number: day), position: position, chain: ChainKey(device: device, epoch: epoch), key: key)
        self.number = number
    }
}
