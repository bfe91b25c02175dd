import Foundation
import TelemetryBasics
import Testing
import WireModel

@testable import LogStore

/// Segments far smaller than a segment may be: a program that starts again and again, or seals every minute.
@Suite struct SmallSegmentsTests {
    @Test func `Small segments count as what they use on the disk, so their number is bounded`() throws {
        let temporary = try TemporaryStore()
        let keeper = StoreKeeper(
            directory: temporary.directory, maximumBytes: 100_000, ringBytes: 20_000, maximumAge: 86_400_000_000)
        let time = Timestamp.text(SystemClock.wallMicroseconds())
        for ordinal in 1...60 as ClosedRange<UInt64> {
            let name = SegmentName(ordinal: ordinal, kind: ordinal % 3 == 0 ? .ring : .application)
            try temporary.write(Array("\(time) W \(ordinal)000001 c small\n".utf8), name.file(.text))
        }
        try keeper.retain()
        let left = try temporary.directory.segments().keys.sorted()
        // 4,096 bytes each: 24 of 40, and 4 of 20.
        let written = Array(1...60 as ClosedRange<UInt64>).filter { $0 % 3 != 0 }
        let application: [UInt64] = left.filter { $0.kind == .application }.map(\.ordinal)
        let ring: [UInt64] = left.filter { $0.kind == .ring }.map(\.ordinal)
        #expect(application == Array(written.suffix(24)))
        #expect(ring == [51, 54, 57, 60])
        #expect(try temporary.directory.readState()?.dropped == [.sizeCap: LogLevelCounts(warning: 32)])
    }
}
