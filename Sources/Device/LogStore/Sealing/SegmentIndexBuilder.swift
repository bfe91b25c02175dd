import Crypto
import Encryption
import FoundationEssentials
import Gzip
import TelemetryBasics
import WireModel

/// Builds an index block by block, in the segment's order.
package struct SegmentIndexBuilder {
    private let name: SegmentName
    private let epoch: LogEpochID
    private var blocks: [SegmentIndex.Block] = []
    private var whole = LineTally()
    /// Of the last line in the segment.
    private var position: UInt64 = 0
    private var storedBytes = 0
    private var rawDigest = SHA256()
    private var storedDigest = SHA256()

    package init(_ name: SegmentName, epoch: LogEpochID) {
        self.name = name
        self.epoch = epoch
    }

    /// - Parameters:
    ///   - text: whole lines.
    ///   - stored: the gzip form of these lines.
    ///   - isAfterDamage: lines before these are missing, so their number is what they say.
    package mutating func add(
        text: UnsafeRawBufferPointer, stored: UnsafeRawBufferPointer, isAfterDamage: Bool = false
    ) {
        var tally = LineTally()
        tally.add(text: text)
        if isAfterDamage, let line = LineSlices(text).first(where: { _ in true }), let number = LogLine(line)?.number,
            number.segment == name.ordinal, number.position > position
        {
            position = number.position - 1
        }
        let stretch = tally.stretch(
            first: LogNumber(segment: name.ordinal, position: position + 1), storedBytes: stored.count)
        position += UInt64(tally.lines)
        blocks.append(SegmentIndex.Block(storedOffset: storedBytes, rawOffset: whole.rawBytes, stretch: stretch))
        whole.add(stretch)
        storedBytes += stored.count
        rawDigest.update(bufferPointer: text)
        storedDigest.update(bufferPointer: stored)
    }

    /// `nil` if there is no line.
    package func index() -> SegmentIndex? {
        guard whole.lines > 0 else { return nil }
        return SegmentIndex(
            epoch: epoch,
            whole: whole.stretch(
                first: blocks.first?.stretch.first ?? LogNumber(segment: name.ordinal, position: 1),
                storedBytes: storedBytes),
            last: LogNumber(segment: name.ordinal, position: position),
            rawDigest: Data(rawDigest.finalize()), storedDigest: Data(storedDigest.finalize()), blocks: blocks)
    }
}

/// Rebuilds a lost or damaged index from the compressed lines, all of which it reads and checks. Holds one block in
/// memory.
final class SegmentIndexRebuilder {
    private let file: OpenFile<LogStoreError>
    private let inflater: GzipDecompressor
    private var builder: SegmentIndexBuilder
    /// The text of the current gzip member; `storedStart` is the member's offset in the file.
    private var text: [UInt8] = []
    private var stored: [UInt8] = []
    private var storedStart = 0
    private var endsInLine = true
    private let name: SegmentName
    private let keys: LogKeys

    init(_ name: SegmentName, in directory: StoreDirectory, epoch: LogEpochID) throws(LogStoreError) {
        do { inflater = try GzipDecompressor(limits: .sealedSegment) } catch {
            throw LogStoreError(.io, error.message, cause: error)
        }
        self.name = name
        keys = directory.keys ?? .none
        file = try OpenFile<LogStoreError>(reading: directory.path(name, .sealed))
        builder = SegmentIndexBuilder(name, epoch: epoch)
    }

    func index() throws(LogStoreError) -> SegmentIndex {
        if let head = try StoredSegment.head(of: file) { return try encryptedIndex(head) }
        try file.forEachBlock { (block) throws(LogStoreError) in try add(block) }
        return try finished()
    }

    private func add(_ block: UnsafeRawBufferPointer) throws(LogStoreError) {
        stored.append(contentsOf: block)
        do throws(GzipError) {
            try inflater.update(block) {
                text.append(contentsOf: $0)
            } memberEnd: { end in
                endMember(at: end)
            }
        } catch { throw damaged(error.message, error) }
    }

    private func finished() throws(LogStoreError) -> SegmentIndex {
        do { try inflater.finish() } catch { throw damaged(error.message, error) }
        guard endsInLine, let index = builder.index() else { throw damaged("a block does not end with a line") }
        return index
    }

    private func encryptedIndex(_ head: Data) throws(LogStoreError) -> SegmentIndex {
        let run = try SealedForm.reader(head, segment: name.ordinal, path: file.path, keys: keys)
        let end = try file.byteCount() - SealedLogRun.blockOverhead - 2 * StoredSegment.digestBytes
        var offset = SealedLogRun.headBytes
        var number: UInt64 = 0
        while offset < end {
            let start = Data(try file.read(4, at: offset))
            guard let size = SealedLogRun.Reader.size(ofBlock: start), offset + size <= end else {
                throw damaged("block \(number) is torn")
            }
            let member: Data
            let sealed = Data(try file.read(size, at: offset))
            do throws(EncryptionError) { member = try run.open(sealed, number: number) } catch {
                throw damaged(error.message, error)
            }
            try Array(member).withUnsafeBufferPointer { (member) throws(LogStoreError) in
                try add(UnsafeRawBufferPointer(member))
            }
            offset += size
            number += 1
        }
        var index = try finished()
        let last = Data(try file.read(SealedLogRun.blockOverhead + 2 * StoredSegment.digestBytes, at: offset))
        guard offset == end, let digests = try? run.open(last, number: number, isLast: true),
            digests == index.rawDigest + index.storedDigest
        else { throw damaged("its last block is not what was written") }
        index.run = head
        return index
    }

    private func endMember(at end: Int) {
        endsInLine = endsInLine && text.last == UInt8(ascii: "\n")
        let member = stored.prefix(end - storedStart)
        text.withUnsafeBytes { text in member.withUnsafeBytes { builder.add(text: text, stored: $0) } }
        text.removeAll(keepingCapacity: true)
        stored.removeFirst(member.count)
        storedStart = end
    }

    private func damaged(_ what: String, _ cause: (any Error)? = nil) -> LogStoreError {
        LogStoreError(
            .damaged, "\(file.path) is damaged: \(what). Lines before that may still be readable with zcat.",
            cause: cause)
    }
}

extension SegmentIndex {
    /// Rebuilds the index from the compressed lines.
    /// - Throws: `.damaged` if they are not what was written; `.notFound`.
    package init(rebuilding name: SegmentName, in directory: StoreDirectory, epoch: LogEpochID) throws(LogStoreError) {
        self = try SegmentIndexRebuilder(name, in: directory, epoch: epoch).index()
    }
}

extension InflateLimits {
    /// A segment has at most 5,000,000 bytes of text; the limit leaves room for segments of other programs. Identical
    /// lines compress a thousandfold.
    static let sealedSegment = InflateLimits(maximumBytes: 4 * LogLimits.chunkBytes, maximumRatio: 2_000)
}

/// Counts the lines of a text by level, and finds the earliest and latest time. A malformed line counts as a line
/// without time and level.
package struct LineTally: Equatable, Sendable {
    package private(set) var rawBytes = 0
    package private(set) var lines = 0
    package private(set) var levelCounts: [UInt64] = [0, 0, 0, 0]
    private var earliest = Int64.max
    private var latest = Int64.min

    package init() {}

    package init(_ stretch: SegmentIndex.Stretch) {
        rawBytes = stretch.rawBytes
        lines = stretch.lines
        levelCounts = stretch.levelCounts
        // A text without a well-formed line has no times.
        if levelCounts.contains(where: { $0 > 0 }) {
            (earliest, latest) = (stretch.times.lowerBound, stretch.times.upperBound)
        }
    }

    /// Adds all lines of a text.
    package mutating func add(text: UnsafeRawBufferPointer) {
        for line in LineSlices(text) { add(LogLine(line), bytes: line.count) }
    }

    /// - Parameters:
    ///   - line: `nil` if the line is malformed.
    ///   - bytes: length with the newline.
    package mutating func add(_ line: LogLine?, bytes: Int) {
        rawBytes += bytes
        lines += 1
        guard let line else { return }
        levelCounts[line.level.rawValue - 1] += 1
        earliest = min(earliest, line.time)
        latest = max(latest, line.time)
    }

    package mutating func add(_ other: LineTally) {
        rawBytes += other.rawBytes
        lines += other.lines
        for level in levelCounts.indices { levelCounts[level] += other.levelCounts[level] }
        earliest = min(earliest, other.earliest)
        latest = max(latest, other.latest)
    }

    package mutating func add(_ stretch: SegmentIndex.Stretch) { add(LineTally(stretch)) }

    /// 1970 if no line has a time.
    package var times: ClosedRange<Int64> { earliest <= latest ? earliest...latest : 0...0 }

    package func stretch(first: LogNumber, storedBytes: Int) -> SegmentIndex.Stretch {
        SegmentIndex.Stretch(
            rawBytes: rawBytes, storedBytes: storedBytes, first: first, lines: lines, times: times,
            levelCounts: levelCounts)
    }
}
