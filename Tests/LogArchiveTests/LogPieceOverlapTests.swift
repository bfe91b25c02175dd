import Testing
import WireModel

@testable import LogArchive

@Suite struct LogPieceOverlapTests {
    /// A piece with so many lines between two numbers; `nil`: every one.
    private static func piece(_ numbers: ClosedRange<UInt64>, lines: UInt32? = nil) throws -> LogPiece {
        var text = "2026-03-01T12:00:00.000000Z I \(numbers.lowerBound) app x\n"
        let line = try #require(text.withUTF8 { LogLine(UnsafeRawBufferPointer($0)) })
        var piece = LogPiece(storedOffset: 0, first: line)
        piece.lastNumber = numbers.upperBound
        piece.levels[2] = lines ?? UInt32(numbers.count)
        return piece
    }

    @Test(
        arguments: [
            // No overlap, in any order.
            ([1...10, 11...20, 31...40], [nil, nil, nil], [.all, .all, .all]),
            ([31...40, 1...10], [5, 2], [.all, .all]),
            // The same lines again, whole and as parts of one or of several pieces.
            ([1...10, 1...10], [nil, nil], [.all, .none]),
            ([3...5, 1...10, 10...10], [nil, nil, nil], [.none, .all, .none]),
            ([1...10, 11...20, 5...15], [nil, nil, nil], [.part(1), .part(0.5), .part(5.0 / 11)]),
            ([1...10, 11...20, 5...15], [nil, nil, 3], [.all, .all, .none]),
            ([1...100, 20...30, 40...50], [nil, 2, 3], [.all, .none, .none]),
            // A filtered piece does not have every line: what is inside of it may not be in it.
            ([1...100, 20...29], [10, nil], [.part(1), .part(0)]),
            ([1...10, 5...14], [3, 3], [.part(1), .part(0.4)]),
            ([1...10, 12...30, 8...12], [nil, nil, 2], [.part(1), .part(18.0 / 19), .part(0.4)]),
        ] as [([ClosedRange<UInt64>], [UInt32?], [LogPieceOverlap.Share])])
    func `Lines in several pieces are found by their numbers`(
        _ numbers: [ClosedRange<UInt64>], _ lines: [UInt32?], _ expected: [LogPieceOverlap.Share]
    ) throws {
        let pieces = try zip(numbers, lines).map { try Self.piece($0, lines: $1) }
        #expect(LogPieceOverlap.shares(of: pieces) == expected)
    }
}
