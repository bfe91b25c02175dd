import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// Reads a segment's text block by block, up to its last whole line. The blocks are those that sealing makes. Holds one
/// block in memory. Encrypted text is decrypted on the way: offsets are those of the text.
package struct TextBlockReader: ~Copyable {
    private let file: OpenFile<LogStoreError>
    /// Where this reader stops, whatever is appended meanwhile.
    private let end: Int
    /// Offset of the next block. At the end: the number of bytes in whole lines.
    package private(set) var offset: Int
    private var buffer: UnsafeMutableRawBufferPointer
    /// `nil`: the text is plain.
    private var frames: FrameReader?
    /// Decrypted text from `offset` on, the first `used` bytes of which were returned.
    private var decrypted: [UInt8] = []
    private var used = 0
    private var isAtFramesEnd = false
    /// Places of the frames in `decrypted`.
    private var places: [FrameReader.Position] = []
    /// Damage behind `decrypted`.
    private var damage: Range<Int>?
    /// Stretches of the file that do not open. Only encrypted text can tell.
    private(set) var damages: [Range<Int>] = []

    /// - Parameters:
    ///   - segment: the one that the file belongs to.
    ///   - start: the offset to start from, at the beginning of a line.
    ///   - end: the offset to stop at; `nil` for the file's present end.
    ///   - fileEnd: bytes of the file that count; `nil` for all.
    package init(
        _ file: consuming OpenFile<LogStoreError>, of segment: SegmentName, keys: LogKeys?, from start: Int = 0,
        end: Int? = nil, fileEnd: Int? = nil
    ) throws(LogStoreError) {
        try self.init(file, of: segment, keys: keys, from: start, end: end, fileEnd: fileEnd, at: nil)
    }

    /// - Parameter place: a place in encrypted text from which an earlier reader can be gone on with.
    init(
        _ file: consuming OpenFile<LogStoreError>, of segment: SegmentName, keys: LogKeys?, from start: Int, end: Int?,
        fileEnd: Int?, at place: FrameReader.Position?
    ) throws(LogStoreError) {
        let size = min(try file.byteCount(), fileEnd ?? .max)
        let isFramed = FrameReader.isFramed(try file.read(SealedForm.magic.count, at: 0))
        self.end = isFramed ? end ?? .max : min(end ?? size, size)
        offset = start
        if isFramed {
            let place = place.flatMap { $0.text <= start ? $0 : nil } ?? FrameReader.Position()
            frames = FrameReader(file.path, segment: segment.ordinal, end: size, keys: keys, from: place)
        } else {
            frames = nil
        }
        self.file = file
        buffer = .allocate(byteCount: isFramed ? 0 : LogLimits.blockBytes, alignment: 16)
    }

    deinit { buffer.deallocate() }

    package var isEncrypted: Bool { frames != nil }

    /// Bytes after the last whole line. Known at the end.
    package var tornBytes: Int { frames == nil ? end - offset : frames!.tornBytes }

    /// The place in encrypted text at which the frame of `offset` begins.
    var place: FrameReader.Position? { places.last { $0.text <= offset } ?? (frames == nil ? nil : frames!.position) }

    /// The next block; `nil` at the end. Valid until the next call.
    /// - Throws: `.damaged` if a line is as long as a segment, `.locked` if the key is not at hand.
    package mutating func next() throws(LogStoreError) -> UnsafeRawBufferPointer? {
        guard frames == nil else { return try nextDecrypted() }
        while offset < end {
            let count = try file.read(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(end - offset)), at: offset)
            let read = UnsafeRawBufferPointer(rebasing: buffer.prefix(count))
            let block = LineSlices.blockBytes(read, limit: LogLimits.blockBytes)
            if block > 0 {
                offset += block
                return UnsafeRawBufferPointer(rebasing: read.prefix(block))
            }
            guard count == buffer.count, offset + count < end else { return nil }
            guard buffer.count < LogLimits.chunkBytes else {
                throw LogStoreError(
                    .damaged,
                    """
                    \(file.path) has a line of more than \(buffer.count) bytes at byte \(offset): it is no log of \
                    ours. Move it away.
                    """
                )
            }
            enlarge(to: buffer.count * 2)
        }
        return nil
    }

    private mutating func enlarge(to size: Int) {
        buffer.deallocate()
        buffer = .allocate(byteCount: size, alignment: 16)
    }

    private mutating func nextDecrypted() throws(LogStoreError) -> UnsafeRawBufferPointer? {
        guard offset < end else { return nil }
        while decrypted.count - used < LogLimits.blockBytes, damage == nil, !isAtFramesEnd { try decrypt() }
        if decrypted.count == used, let damage {
            // The lines behind it are a block of their own, because numbers are missing between the two.
            damages.append(damage)
            self.damage = nil
            return try nextDecrypted()
        }
        let room = decrypted.count - used
        if buffer.count < room { enlarge(to: max(room, 2 * LogLimits.blockBytes)) }
        decrypted.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[used...])) }
        let text = UnsafeRawBufferPointer(rebasing: buffer.prefix(min(room, end - offset)))
        let block = LineSlices.blockBytes(text, limit: LogLimits.blockBytes)
        guard block > 0 else { return nil }
        offset += block
        used += block
        if used >= LogLimits.blockBytes || used == decrypted.count {
            decrypted.removeFirst(used)
            used = 0
        }
        while places.count > 1, places[1].text <= offset { places.removeFirst() }
        return UnsafeRawBufferPointer(rebasing: text.prefix(block))
    }

    private mutating func decrypt() throws(LogStoreError) {
        switch try frames!.next(in: file) {
        case nil: isAtFramesEnd = true
        case .damage(let range): damage = range
        case .text(let text, let place):
            // What lies before the start was only passed by.
            let skipped = max(0, offset + (decrypted.count - used) - place.text)
            guard skipped < text.count else { return }
            places.append(place)
            decrypted.append(contentsOf: text.dropFirst(skipped))
        }
    }
}

/// The lines of a text in order, each with its newline; the last line may have none. Copies nothing.
package struct LineSlices: Sequence, IteratorProtocol {
    private var rest: UnsafeRawBufferPointer

    package init(_ text: UnsafeRawBufferPointer) { rest = text }

    package mutating func next() -> UnsafeRawBufferPointer? {
        guard let start = rest.baseAddress, !rest.isEmpty else { return nil }
        let end =
            memchr(start, Int32(UInt8(ascii: "\n")), rest.count).map { UnsafeRawPointer($0) - start + 1 } ?? rest.count
        let line = UnsafeRawBufferPointer(rebasing: rest[..<end])
        rest = UnsafeRawBufferPointer(rebasing: rest[end...])
        return line
    }

    /// The length of a text's first block: as many whole lines as fit into `LogLimits.blockBytes`, and at least one
    /// line. 0 if the text has no whole line.
    package static func blockBytes(_ text: UnsafeRawBufferPointer, limit: Int) -> Int {
        var end = Swift.min(text.count, limit)
        while end > 0, text[end - 1] != UInt8(ascii: "\n") { end -= 1 }
        if end > 0 { return end }
        guard let line = LineSlices(text).first(where: { _ in true }), line.last == UInt8(ascii: "\n") else { return 0 }
        return line.count
    }
}
