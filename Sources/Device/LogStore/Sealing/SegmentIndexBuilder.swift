import Crypto
import FoundationEssentials
import WireModel

/// Gathers an index block by block, in the order in which they lie in the segment.
package struct SegmentIndexBuilder {
    private let name: SegmentName
    private let epoch: LogEpochID
    private var blocks: [SegmentIndex.Block] = []
    private var whole = LineTally()
    private var storedBytes = 0
    private var rawDigest = SHA256()
    private var storedDigest = SHA256()

    package init(_ name: SegmentName, epoch: LogEpochID) {
        self.name = name
        self.epoch = epoch
    }

    /// - Parameters:
    ///   - text: whole lines.
    ///   - stored: how they lie in the file.
    package mutating func add(text: UnsafeRawBufferPointer, stored: UnsafeRawBufferPointer) {
        var tally = LineTally()
        tally.add(text: text)
        let stretch = tally.stretch(first: LogNumber(segment: name.ordinal, position: UInt64(whole.lines) + 1), storedBytes: stored.count)
        blocks.append(SegmentIndex.Block(storedOffset: storedBytes, rawOffset: whole.rawBytes, stretch: stretch))
        whole.add(stretch)
        storedBytes += stored.count
        rawDigest.update(bufferPointer: text)
        storedDigest.update(bufferPointer: stored)
    }

    /// `nil` where there is no line.
    package func index() -> SegmentIndex? {
        guard whole.lines > 0 else { return nil }
        return SegmentIndex(
            epoch: epoch, whole: whole.stretch(first: LogNumber(segment: name.ordinal, position: 1), storedBytes: storedBytes),
            last: LogNumber(segment: name.ordinal, position: UInt64(whole.lines)), rawDigest: Data(rawDigest.finalize()),
            storedDigest: Data(storedDigest.finalize()), blocks: blocks)
    }
}
