import FoundationEssentials
import WireModel

/// What is known of a sealed segment without inflating it: `….index`. Schemas/logs/FORMAT.md has its form.
package struct SegmentIndex: Equatable, Sendable {
    /// What is known of a stretch of lines as a whole.
    package struct Stretch: Equatable, Sendable {
        package var rawBytes: Int
        package var storedBytes: Int
        package var first: LogNumber
        package var lines: Int
        /// Least and greatest, microseconds since 1970.
        package var times: ClosedRange<Int64>
        /// Lines per level, most severe first; four.
        package var levelCounts: [UInt64]

        package init(
            rawBytes: Int, storedBytes: Int, first: LogNumber, lines: Int, times: ClosedRange<Int64>, levelCounts: [UInt64]
        ) {
            self.rawBytes = rawBytes
            self.storedBytes = storedBytes
            self.first = first
            self.lines = lines
            self.times = times
            self.levelCounts = levelCounts
        }
    }

    /// A gzip member and the lines in it.
    package struct Block: Equatable, Sendable {
        package var storedOffset: Int
        package var rawOffset: Int
        package var stretch: Stretch

        package init(storedOffset: Int, rawOffset: Int, stretch: Stretch) {
            self.storedOffset = storedOffset
            self.rawOffset = rawOffset
            self.stretch = stretch
        }
    }

    package static let version = 1

    /// Of the store whose numbers these are.
    package var epoch: LogEpochID
    package var whole: Stretch
    /// Of the last line.
    package var last: LogNumber
    /// SHA-256 of the text and of the file as stored, 32 bytes each.
    package var rawDigest: Data
    package var storedDigest: Data
    /// They tile the segment, in order.
    package var blocks: [Block]

    package init(epoch: LogEpochID, whole: Stretch, last: LogNumber, rawDigest: Data, storedDigest: Data, blocks: [Block]) {
        self.epoch = epoch
        self.whole = whole
        self.last = last
        self.rawDigest = rawDigest
        self.storedDigest = storedDigest
        self.blocks = blocks
    }
}
