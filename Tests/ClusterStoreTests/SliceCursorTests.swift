import Foundation
import Testing
import WireModel

@testable import ClusterStore
@testable import RecordStore

@Suite struct SliceCursorTests {
    @Test func `A cursor is read as it was written`() throws {
        let place = SlicePlace(
            day: UTCDay(number: 20_000), position: 1_728_000_000_000_123,
            chain: ChainKey(device: .random(), epoch: .random()), key: 7)
        let cursor = SliceCursor(place: place, number: 3)
        #expect(try SliceCursor(cursor.text) == cursor)
    }

    /// So forwarding goes on where it was after a move into a cluster.
    @Test func `A cursor of a data directory is the place that its slice has here`() throws {
        let day = UTCDay(number: 20_000)
        let cursor = try SliceCursor("20000-42-0")
        func place(_ slice: Int64) -> SlicePlace {
            SlicePlace(
                day: day, position: day.start + slice, chain: ChainKey(device: .random(), epoch: .random()), key: 9)
        }
        #expect(place(42) < cursor.place && place(41) < cursor.place && place(43) > cursor.place)
    }

    @Test(arguments: ["", "x", "1-2", "1-2-x", "1-2-3-4", "1-2-3-4-5-6"])
    func `Another text is no cursor`(text: String) {
        let error = #expect(throws: StoreError.self) { try SliceCursor(text) }
        #expect(error?.code == .invalid)
    }
}
