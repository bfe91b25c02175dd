import Glibc
import WireModel

/// A segment that is being written: its file, held with `flock` until this value goes.
final class ActiveSegment {
    let name: SegmentName
    private(set) var bytes = 0
    private(set) var counts = LogLevelCounts()
    /// Milliseconds since boot, of the first line.
    private(set) var began: Int64?
    private let file: StoreFile

    /// For who holds the store's `lock`: a text that nobody has locked is taken for left behind.
    init(making name: SegmentName, in directory: StoreDirectory) throws(LogStoreError) {
        let path = directory.path(name, .text)
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system("creating", path) }
        GroupAccess.handOn(descriptor, path)
        self.name = name
        file = StoreFile(descriptor: descriptor, path: path)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { throw .system("locking", path) }
    }

    /// Goes on in a text that nobody holds. For who holds the store's `lock`.
    /// - Returns: `nil` where it does not end in a whole line of ours, is full, or is held; the position of its last line otherwise.
    static func resume(
        _ name: SegmentName, in directory: StoreDirectory, maximumBytes: Int
    ) throws(LogStoreError) -> (segment: ActiveSegment, position: UInt64)? {
        let path = directory.path(name, .text)
        let descriptor = open(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system("opening", path) }
        let file = StoreFile(descriptor: descriptor, path: path)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
        let bytes = try file.byteCount()
        var tally = LineTally()
        var last: LogNumber?
        if bytes < maximumBytes - LogLimits.lineBytes {
            var reader = try TextBlockReader(try file.duplicate())
            while let text = try reader.next() {
                for line in LineSlices(text) {
                    let fields = LogLine(line)
                    tally.add(fields, bytes: line.count)
                    last = fields?.number
                }
            }
        }
        guard tally.rawBytes == bytes, let last, last.segment == name.ordinal, last.position == tally.lines else {
            flock(descriptor, LOCK_UN)
            return nil
        }
        return (ActiveSegment(name, file, bytes: bytes, counts: LogLevelCounts(tally.levelCounts)), last.position)
    }

    private init(_ name: SegmentName, _ file: consuming StoreFile, bytes: Int, counts: LogLevelCounts) {
        self.name = name
        self.file = file
        self.bytes = bytes
        self.counts = counts
    }

    deinit {
        // Closing alone would leave it held by a child that is being started at this moment.
        flock(file.descriptor, LOCK_UN)
    }

    /// Whether what is written still goes where it should: the file was neither removed nor changed by another.
    var isInPlace: Bool {
        var status = stat()
        return fstat(file.descriptor, &status) == 0 && status.st_nlink > 0 && status.st_size == bytes
    }

    var isRemoved: Bool {
        var status = stat()
        return fstat(file.descriptor, &status) == 0 && status.st_nlink == 0
    }

    /// Hands whole lines to the kernel, all of them or as many as there is room for.
    /// - Returns: bytes of the lines that are in the file, and what went wrong where that is not all.
    func write(_ text: UnsafeRawBufferPointer, counts: LogLevelCounts) -> (bytes: Int, failure: LogStoreError?) {
        var written = 0
        var failure: LogStoreError?
        while written < text.count, failure == nil {
            let count = Glibc.write(file.descriptor, text.baseAddress! + written, text.count - written)
            if count < 0, errno == EINTR { continue }
            if count > 0 { written += count } else { failure = .system("writing", file.path) }
        }
        if written > 0, began == nil { began = SystemClock.bootMilliseconds() }
        guard let failure else {
            bytes += written
            self.counts += counts
            return (written, nil)
        }
        // No part of a line stays. Cutting needs no room; where it fails the caller goes on in another segment.
        let whole = text[..<written].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        if whole < written { ftruncate(file.descriptor, off_t(bytes + whole)) }
        var tally = LineTally()
        tally.add(text: UnsafeRawBufferPointer(rebasing: text[..<whole]))
        bytes += whole
        self.counts += LogLevelCounts(tally.levelCounts)
        return (whole, failure)
    }
}
