import Gzip
import WireModel

/// Makes a lost or damaged index anew from the compressed lines, which are read whole and checked. Holds a block in memory.
final class SegmentIndexRebuilder {
    private let file: StoreFile
    private let inflater: GzipDecompressor
    private var builder: SegmentIndexBuilder
    /// Of the member that is being read; `storedStart` is its place in the file.
    private var text: [UInt8] = []
    private var stored: [UInt8] = []
    private var storedStart = 0
    private var endsInLine = true

    init(_ name: SegmentName, in directory: StoreDirectory, epoch: LogEpochID) throws(LogStoreError) {
        do { inflater = try GzipDecompressor(limits: .sealedSegment) } catch { throw LogStoreError(.io, error.message, cause: error) }
        file = try StoreFile(reading: directory.path(name, .sealed))
        builder = SegmentIndexBuilder(name, epoch: epoch)
    }

    func index() throws(LogStoreError) -> SegmentIndex {
        var offset = 0
        while case let piece = try file.read(LogLimits.blockBytes, at: offset), !piece.isEmpty {
            offset += piece.count
            stored.append(contentsOf: piece)
            do { try inflate(piece) } catch { throw damaged(error.message, error) }
        }
        do { try inflater.finish() } catch { throw damaged(error.message, error) }
        guard endsInLine, let index = builder.index() else { throw damaged("a block does not end with a line") }
        return index
    }

    private func inflate(_ piece: [UInt8]) throws(GzipError) {
        try piece.withUnsafeBufferPointer { (piece) throws(GzipError) in
            try inflater.update(UnsafeRawBufferPointer(piece)) {
                text.append(contentsOf: $0)
            } memberEnd: { end in
                endMember(at: end)
            }
        }
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
        LogStoreError(.damaged, "\(file.path) is damaged: \(what). Lines before that may still be readable with zcat.", cause: cause)
    }
}

extension SegmentIndex {
    /// Made anew from the compressed lines.
    /// - Throws: `.damaged` where they are not what was written, `.notFound`.
    package init(rebuilding name: SegmentName, in directory: StoreDirectory, epoch: LogEpochID) throws(LogStoreError) {
        self = try SegmentIndexRebuilder(name, in: directory, epoch: epoch).index()
    }
}

extension InflateLimits {
    /// A segment is at most 5,000,000 bytes of text, with room for one that is not of ours; lines that are all alike compress a thousandfold.
    static let sealedSegment = InflateLimits(maximumBytes: 4 * LogLimits.chunkBytes, maximumRatio: 2_000)
}
