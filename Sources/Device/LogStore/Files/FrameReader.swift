import Encryption
import FoundationEssentials
import TelemetryBasics
import WireModel

/// Reads the frames of an encrypted active segment in order.
///
///     head │ frame │ frame │ … │ head │ frame │ …        a head begins the run of another writer
///
/// A frame that does not open is damage. The next one that does is looked for behind it, so that damage costs only the
/// lines that it hit. What follows no whole frame at the end is torn.
struct FrameReader {
    /// A place between two frames, from which reading can go on.
    struct Position: Sendable {
        fileprivate(set) var file = 0
        /// Bytes of readable text before it.
        fileprivate(set) var text = 0
        fileprivate var run: SealedLogRun.Reader?
        /// Of the next frame in its run.
        fileprivate var number: UInt64 = 0
    }

    enum Piece {
        /// Whole lines, and where they begin.
        case text(Data, from: Position)
        /// Bytes of the file that do not open.
        case damage(Range<Int>)
    }

    /// How often a frame behind damage is tried with another number. Some hundred small frames may be lost and the next
    /// one still be found; a run of which no frame opens does not keep its reader busy for minutes.
    private static let maximumAttempts = 65_536
    private static let windowBytes = 256 << 10

    let path: String
    private let segment: UInt64
    private let keys: LogKeys
    /// Where this reader stops, whatever is appended meanwhile.
    private let end: Int
    private(set) var position: Position
    private var window: [UInt8] = []
    private var windowStart = 0

    /// Ids of the keys of all runs in a file. Needs no key: a head that stands in an encrypted text by chance is one
    /// key id too many.
    static func keyIDs(in file: borrowing OpenFile<LogStoreError>, of name: SegmentName) throws(LogStoreError)
        -> Set<UInt32>
    {
        let end = try file.byteCount()
        var reader = FrameReader(file.path, segment: name.ordinal, end: end, keys: nil)
        guard isFramed(try reader.bytes(0, SealedForm.magic.count, in: file)) else { return [] }
        var ids: Set<UInt32> = []
        var offset = 0
        while offset + SealedLogRun.headBytes <= end {
            if try reader.isHead(at: offset, in: file) || offset == 0 {
                let rest = try reader.bytes(offset, SealedLogRun.headBytes, in: file).dropFirst(4)
                ids.insert(try SealedForm.keyID(of: Data(SealedForm.magic + rest), path: file.path))
                offset += SealedLogRun.headBytes
            } else if let size = try reader.size(at: offset, in: file) {
                offset += size
            } else {
                offset += 1
            }
        }
        return ids
    }

    /// Whether a file consists of frames. A flipped bit does not make it look like text.
    /// - Parameter start: the file's first bytes.
    static func isFramed(_ start: some Collection<UInt8>) -> Bool {
        start.count >= 4 && zip(start, SealedForm.magic).count { $0 == $1 } >= 3
    }

    init(_ path: String, segment: UInt64, end: Int, keys: LogKeys?, from position: Position = Position()) {
        self.path = path
        self.segment = segment
        self.end = end
        self.keys = keys ?? .none
        self.position = position
    }

    /// Bytes at the end that are no whole frame. Known at the end.
    var tornBytes: Int { end - position.file }

    /// - Returns: `nil` at the end.
    /// - Throws: `.locked` if the key is not at hand.
    mutating func next(in file: borrowing OpenFile<LogStoreError>) throws(LogStoreError) -> Piece? {
        while position.file < end {
            let isWhole = try isHead(at: position.file, in: file)
            // A file that was opened here begins with a head, even if a bit of its first bytes was flipped.
            if isWhole || position.file == 0 {
                guard position.file + SealedLogRun.headBytes <= end else { return nil }
                let rest = try bytes(position.file, SealedLogRun.headBytes, in: file).dropFirst(SealedForm.magic.count)
                try begin(Data(SealedForm.magic + rest))
                if isWhole { continue }
                return .damage(0..<SealedForm.magic.count)
            }
            if let run = position.run, let size = try size(at: position.file, in: file),
                let text = try? run.open(
                    Data(try bytes(position.file, size, in: file)), number: position.number)
            {
                let start = position
                position.file += size
                position.number += 1
                position.text += text.count
                return .text(text, from: start)
            }
            return try skipDamage(in: file)
        }
        return nil
    }

    /// Begins to read a run, whose head lies here.
    private mutating func begin(_ head: Data) throws(LogStoreError) {
        position.run = try SealedForm.reader(head, segment: segment, path: path, keys: keys)
        position.number = 0
        position.file += SealedLogRun.headBytes
    }

    /// - Returns: `nil` if no frame follows and the rest looks as a crash leaves it.
    private mutating func skipDamage(in file: borrowing OpenFile<LogStoreError>) throws(LogStoreError) -> Piece? {
        let start = position.file
        var attempts = 0
        for offset in (start + 1)..<max(start + 1, end) {
            if try isHead(at: offset, in: file), offset + SealedLogRun.headBytes <= end {
                position.file = offset
                position.run = nil
                return .damage(start..<offset)
            }
            guard attempts < Self.maximumAttempts, let run = position.run, let size = try size(at: offset, in: file)
            else { continue }
            let frame = Data(try bytes(offset, size, in: file))
            // Each lost frame took at least its length, its tag and a newline.
            let lost = UInt64((offset - start) / (SealedLogRun.blockOverhead + 1)) + 1
            for number in position.number...(position.number + lost) where attempts < Self.maximumAttempts {
                attempts += 1
                guard (try? run.open(frame, number: number)) != nil else { continue }
                position.file = offset
                position.number = number
                return .damage(start..<offset)
            }
        }
        // A last frame that is there in full was changed; one that is not there in full is torn.
        guard try size(at: start, in: file) != nil else { return nil }
        position.file = end
        return .damage(start..<end)
    }

    private mutating func isHead(at offset: Int, in file: borrowing OpenFile<LogStoreError>) throws(LogStoreError)
        -> Bool
    {
        try bytes(offset, SealedForm.magic.count, in: file).elementsEqual(SealedForm.magic)
    }

    /// The size of a frame that may begin there; `nil`: there is none in full.
    private mutating func size(at offset: Int, in file: borrowing OpenFile<LogStoreError>) throws(LogStoreError) -> Int?
    {
        guard let size = SealedLogRun.Reader.size(ofBlock: Data(try bytes(offset, 4, in: file))),
            size > SealedLogRun.blockOverhead, size <= LogLimits.lineBytes + SealedLogRun.blockOverhead,
            offset + size <= end
        else { return nil }
        return size
    }

    /// Bytes of the file, fewer at its end.
    private mutating func bytes(_ offset: Int, _ count: Int, in file: borrowing OpenFile<LogStoreError>)
        throws(LogStoreError) -> ArraySlice<UInt8>
    {
        let wanted = min(count, end - offset)
        guard wanted > 0 else { return [] }
        if offset < windowStart || offset + wanted > windowStart + window.count {
            window = try file.read(min(max(wanted, Self.windowBytes), end - offset), at: offset)
            windowStart = offset
        }
        let start = offset - windowStart
        return window[start..<min(start + wanted, window.count)]
    }
}

/// The first bytes of each encrypted file.
enum SealedForm {
    static let magic = Array("WS1L".utf8)

    static func keyID(of head: Data, path: String) throws(LogStoreError) -> UInt32 {
        do throws(EncryptionError) { return try SealedLogRun.keyID(of: head) } catch {
            throw LogStoreError(error, path)
        }
    }

    /// Opens the blocks of a run.
    /// - Throws: `.locked` if the key is not at hand, `.newer`, `.damaged`.
    static func reader(_ head: Data, segment: UInt64, path: String, keys: LogKeys) throws(LogStoreError)
        -> SealedLogRun.Reader
    {
        let key = try keys.key(try keyID(of: head, path: path), for: path)
        do throws(EncryptionError) { return try SealedLogRun.Reader(head: head, segment: segment, key: key) } catch {
            throw LogStoreError(error, path)
        }
    }
}
