import Encryption
import FoundationEssentials
import TelemetryBasics
import WireModel

/// The file of a sealed segment: gzip members, plain or encrypted. Blocks are read in their gzip form either way.
///
///     plain:      member │ member │ …
///     encrypted:  head │ block of a member │ block of a member │ … │ last block: the two digests
///
/// The file itself says which form it has, because a file and its index are not replaced in one step. Not `Sendable`:
/// use it from one thread at a time.
final class StoredSegment {
    static let digestBytes = 32

    private let name: SegmentName
    private let file: OpenFile<LogStoreError>
    private let index: SegmentIndex
    /// The run's head; `nil`: the file is plain.
    let head: Data?
    private let keys: LogKeys
    private var run: SealedLogRun.Reader?

    init(_ name: SegmentName, in directory: StoreDirectory, index: SegmentIndex) throws(LogStoreError) {
        self.name = name
        self.index = index
        keys = directory.keys ?? .none
        file = try OpenFile<LogStoreError>(reading: directory.path(name, .sealed))
        head = Self.head(try file.read(SealedLogRun.headBytes, at: 0), index)
    }

    /// The index repeats the head, so a flipped bit in the file's own costs nothing. A head that differs in more is
    /// that of another run: a crash may come between sealing a damaged segment again and replacing its index.
    private static func head(_ start: [UInt8], _ index: SegmentIndex?) -> Data? {
        guard !start.starts(with: [0x1F, 0x8B]) else { return nil }
        if let run = index?.run, !FrameReader.isFramed(start) || zip(run, start).count(where: { $0 != $1 }) <= 2 {
            return run
        }
        return FrameReader.isFramed(start) ? Data(SealedForm.magic + start.dropFirst(4)) : nil
    }

    /// The head of a file that has no index.
    static func head(of file: borrowing OpenFile<LogStoreError>) throws(LogStoreError) -> Data? {
        head(try file.read(SealedLogRun.headBytes, at: 0), nil)
    }

    var path: String { file.path }
    var isEncrypted: Bool { head != nil }
    func byteCount() throws(LogStoreError) -> Int { try file.byteCount() }

    /// The bytes that the file should have.
    var expectedBytes: Int { Self.fileBytes(index, isEncrypted: isEncrypted) }

    static func fileBytes(_ index: SegmentIndex, isEncrypted: Bool) -> Int {
        guard isEncrypted else { return index.whole.storedBytes }
        return SealedLogRun.headBytes + index.whole.storedBytes + index.blocks.count * SealedLogRun.blockOverhead
            + SealedLogRun.blockOverhead + 2 * digestBytes
    }

    /// Whether the head in the file is that of the index.
    func hasWholeHead() throws(LogStoreError) -> Bool {
        guard let head else { return true }
        return try file.read(head.count, at: 0).elementsEqual(head)
    }

    /// Fills the target with a block's gzip form, of which it has the size.
    /// - Throws: `.damaged`, `.locked`.
    func read(_ block: SegmentIndex.Block, into target: UnsafeMutableRawBufferPointer) throws(LogStoreError) {
        guard isEncrypted else {
            guard try file.read(into: target, at: block.storedOffset) == target.count else { throw damaged(block) }
            return
        }
        let number = index.blocks.partitioningIndex { $0.storedOffset >= block.storedOffset }
        let offset = SealedLogRun.headBytes + block.storedOffset + number * SealedLogRun.blockOverhead
        let sealed = try file.read(block.stretch.storedBytes + SealedLogRun.blockOverhead, at: offset)
        let plain: Data
        let run = try reader()
        do throws(EncryptionError) { plain = try run.open(Data(sealed), number: UInt64(number)) } catch {
            throw damaged(block, error)
        }
        guard plain.count == target.count else { throw damaged(block) }
        plain.withUnsafeBytes { target.copyMemory(from: $0) }
    }

    func read(_ block: SegmentIndex.Block) throws(LogStoreError) -> [UInt8] {
        var failure: LogStoreError?
        let bytes = [UInt8](unsafeUninitializedCapacity: block.stretch.storedBytes) { buffer, filled in
            do throws(LogStoreError) {
                try read(block, into: UnsafeMutableRawBufferPointer(buffer))
                filled = block.stretch.storedBytes
            } catch { failure = error }
        }
        if let failure { throw failure }
        return bytes
    }

    /// The digests of an encrypted segment.
    func digests() throws(LogStoreError) -> (raw: Data, stored: Data) {
        let size = 2 * Self.digestBytes + SealedLogRun.blockOverhead
        let sealed = Data(try file.read(size, at: expectedBytes - size))
        let run = try reader()
        do throws(EncryptionError) {
            let digests = try run.open(sealed, number: UInt64(index.blocks.count), isLast: true)
            return (Data(digests.prefix(Self.digestBytes)), Data(digests.dropFirst(Self.digestBytes)))
        } catch {
            throw LogStoreError(
                .damaged, "\(path) is damaged: its digests are not what was written. Its lines may still be readable.",
                cause: error)
        }
    }

    /// Writes blocks in their gzip form.
    /// - Parameter range: of the gzip form; begins and ends at block borders.
    func copy(_ range: Range<Int>, to sink: inout some ChunkSink) throws(LogStoreError) {
        guard isEncrypted else { return try sink.copy(range, of: file) }
        for block in index.blocks
        where block.storedOffset >= range.lowerBound && block.storedOffset < range.upperBound {
            try sink.write(try read(block))
        }
    }

    private func reader() throws(LogStoreError) -> SealedLogRun.Reader {
        if let run { return run }
        guard let head else { throw LogStoreError(.damaged, "\(path) is not encrypted") }
        let reader = try SealedForm.reader(head, segment: name.ordinal, path: path, keys: keys)
        run = reader
        return reader
    }

    func damaged(_ block: SegmentIndex.Block, _ cause: (any Error)? = nil) -> LogStoreError {
        LogStoreError(
            .damaged,
            """
            \(path) is damaged: lines \(block.stretch.first.value) to \
            \(block.stretch.first.value + UInt64(block.stretch.lines) - 1) are not what was written. The other blocks \
            may still be readable.
            """, cause: cause)
    }
}
