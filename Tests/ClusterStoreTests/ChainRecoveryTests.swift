import Foundation
import RecordStore
import Testing
import WireModel

@testable import ClusterStore

/// Where a recovery continues a chain, of all that replicas and PostgreSQL have of it.
@Suite struct ChainRecoveryTests {
    private static let chain = ChainKey(device: .random(), epoch: .random())

    private static func mark(_ number: UInt64, stored: UInt64? = nil) -> StreamMark {
        number == 0
            ? .none : StreamMark(number: number, link: ChainLink(high: 7, low: number), stored: stored ?? number)
    }

    private static func state(_ mark: StreamMark, closed: Bool = false) -> ChainColumns {
        var state = ChainColumns.none
        state.mark = EncodedMark(mark).bytes
        if closed { (state.closedLast, state.closedReason, state.closedAt) = (mark.number, 1, 1) }
        return state
    }

    private static func slice(
        _ before: UInt64, _ after: UInt64, _ generation: UInt64 = 1, _ attempt: UInt64 = 1, day: Int = 10,
        counted: UInt64? = nil, closes: Bool = false
    ) -> SliceHead {
        SliceHead(
            chain: chain, key: before, version: SliceVersion(generation: generation, attempt: attempt),
            day: UTCDay(number: day), position: Int64(before),
            before: EncodedMark(mark(before, stored: counted)), state: state(mark(after), closed: closes),
            lastNumber: after, receivedAt: 0, bounds: .none, recordCount: after - before, byteCount: 0,
            isClosing: closes)
    }

    private static func floor(_ number: UInt64, _ generation: UInt64 = 1, closed: Bool = false) -> ChainRecovery.Floor {
        .init(
            key: chain, day: UTCDay(number: 9), generation: generation, number: number,
            state: state(mark(number), closed: closed))
    }

    private static func row(_ number: UInt64, closed: Bool = false) throws -> ChainRow {
        ChainRow(
            key: chain, state: try ChainState(state(mark(number), closed: closed), of: "a test"),
            mark: EncodedMark(mark(number)), floor: .none, floorNumber: 0)
    }

    private func recover(
        _ number: UInt64, closed: Bool = false, floors: [ChainRecovery.Floor] = [], _ slices: SliceHead...
    ) throws -> ChainRecovery {
        try ChainRecovery(Self.chain, try Self.row(number, closed: closed), floors: floors, slices: slices)
    }

    @Test func `A chain moves over the greatest versions that continue it`() throws {
        let found = try recover(
            20, Self.slice(0, 20), Self.slice(20, 40, 1, 9), Self.slice(20, 30, 2, 1), Self.slice(30, 50))
        #expect(found.number == 50 && found.new.map(\.key) == [20, 30])
        #expect(found.state.mark == EncodedMark(Self.mark(50)).bytes)
    }

    @Test func `A slice with other counts does not continue a chain`() throws {
        #expect(try recover(20, Self.slice(0, 20), Self.slice(20, 40, counted: 19)).number == 20)
    }

    @Test func `Slices that end before the mark, or go beyond it, are a hole`() throws {
        #expect(throws: SliceTiling.Hole(number: 20)) { try recover(40, Self.slice(0, 20), Self.slice(30, 40)) }
        #expect(throws: SliceTiling.Hole(number: 20)) { try recover(30, Self.slice(0, 20), Self.slice(20, 40)) }
    }

    @Test func `A closed chain no longer moves`() throws {
        let found = try recover(20, closed: true, Self.slice(0, 20), Self.slice(20, 40))
        #expect(found.number == 20 && found.new.isEmpty && found.state.closedLast == 20)
    }

    @Test func `A closing slice ends a chain`() throws {
        let found = try recover(0, Self.slice(0, 20), Self.slice(20, 20, 1, 3, closes: true), Self.slice(20, 40, 1, 2))
        #expect(found.number == 20 && found.new.count == 2 && found.state.closedLast == 20)
    }

    @Test func `A floor stands for what is below it`() throws {
        let found = try recover(0, floors: [Self.floor(40)], Self.slice(40, 60))
        #expect(found.floorNumber == 40 && found.number == 60)
        let alone = try recover(0, floors: [Self.floor(40, closed: true)])
        #expect(alone.floorNumber == 40 && alone.number == 40 && alone.state.closedLast == 40)
        #expect(alone.state.mark == EncodedMark(Self.mark(40)).bytes)
    }

    @Test func `A floor that came after a later generation went on without it does not count`() throws {
        let found = try recover(40, floors: [Self.floor(40)], Self.slice(0, 20, 2), Self.slice(20, 40, 2))
        #expect(found.floorNumber == 0 && found.number == 40)
    }

    @Test func `Only the floors of the newest generation count`() throws {
        let found = try recover(0, floors: [Self.floor(60), Self.floor(40, 2)], Self.slice(40, 50))
        #expect(found.floorNumber == 40 && found.number == 50)
    }
}
