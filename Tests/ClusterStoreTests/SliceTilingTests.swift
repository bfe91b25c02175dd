import Foundation
import RecordStore
import Testing
import WireModel

@testable import ClusterStore

/// Which slices count.
@Suite struct SliceTilingTests {
    private static let chain = ChainKey(device: .random(), epoch: .random())

    private static func mark(_ number: UInt64, stored: UInt64? = nil) -> EncodedMark {
        let stored = stored ?? number
        return EncodedMark(
            StreamMark(
                number: number, link: ChainLink(high: 7, low: number), stored: stored,
                dropped: stored == number ? [:] : [.byteCap: number - stored]))
    }

    private static func slice(
        _ before: UInt64, _ after: UInt64, attempt: UInt64 = 1, generation: UInt64 = 1, stored: UInt64? = nil
    ) -> SliceHead {
        SliceHead(
            chain: chain, key: before, version: SliceVersion(generation: generation, attempt: attempt),
            day: UTCDay(number: 20_000), position: Int64(before), before: mark(before),
            state: state(mark(after, stored: stored)),
            lastNumber: after, receivedAt: 0, bounds: .none, recordCount: after - before, byteCount: 0, isClosing: false
        )
    }

    private static func state(_ mark: EncodedMark) -> ChainColumns {
        var state = ChainColumns.none
        state.mark = mark.bytes
        return state
    }

    private static func stretch(_ begin: UInt64, _ end: UInt64) -> SliceTiling.Stretch {
        SliceTiling.Stretch(begin: mark(begin), beginNumber: begin, end: mark(end), endNumber: end)
    }

    private func keys(_ slices: [SliceHead], _ begin: UInt64, _ end: UInt64) throws -> [UInt64] {
        try SliceTiling.winners(of: slices, in: Self.stretch(begin, end)).map(\.key)
    }

    @Test func `Slices that continue each other count`() throws {
        let slices = [Self.slice(40, 60), Self.slice(20, 40), Self.slice(60, 75)]
        #expect(try keys(slices, 20, 75) == [20, 40, 60])
    }

    @Test func `The greatest version of a key counts`() throws {
        let slices = [
            Self.slice(20, 40, attempt: 9), Self.slice(20, 60, attempt: 2, generation: 2),
            Self.slice(20, 30, attempt: 8),
        ]
        let winners = try SliceTiling.winners(of: slices, in: Self.stretch(20, 60))
        #expect(winners.map(\.version) == [SliceVersion(generation: 2, attempt: 2)])
    }

    @Test func `Slices below the floor and from the mark on do not count`() throws {
        let slices = [Self.slice(0, 20), Self.slice(10, 70), Self.slice(20, 40), Self.slice(40, 60, attempt: 5)]
        #expect(try keys(slices, 20, 40) == [20])
    }

    @Test func `A slice that no other leads to does not count`() throws {
        #expect(try keys([Self.slice(20, 60), Self.slice(50, 60, attempt: 9)], 20, 60) == [20])
    }

    @Test func `Nothing is asked of an empty stretch`() throws { #expect(try keys([], 20, 20) == []) }

    /// What a replica has, and the number up to which it continues.
    private static let holes: [(slices: [SliceHead], number: UInt64)] = [
        ([], 20), ([slice(40, 60)], 20), ([slice(20, 40)], 40), ([slice(20, 40), slice(50, 60)], 40),
        // Ends at the right number with other counts, begins with other counts, or goes beyond the mark.
        ([slice(20, 60, stored: 50)], 60), ([slice(20, 40, stored: 35), slice(40, 60)], 40), ([slice(20, 70)], 70),
    ]

    @Test(arguments: holes.indices) func `A hole is found`(_ index: Int) {
        let hole = Self.holes[index]
        #expect(throws: SliceTiling.Hole(number: hole.number)) {
            try SliceTiling.winners(of: hole.slices, in: Self.stretch(20, 60))
        }
    }
}
