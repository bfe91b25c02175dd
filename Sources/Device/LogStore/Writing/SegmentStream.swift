import Encryption
import Glibc
import TelemetryBasics
import WireModel

/// Writes the lines of one kind into segments. It numbers and collects them, and begins a new segment when one is full
/// or old.
///
/// Not `Sendable`: guarded by the writer's lock.
final class SegmentStream {
    private let kind: SegmentName.Kind
    /// The most bytes of text in a segment.
    private let maximumBytes: Int
    private let keeper: StoreKeeper
    /// A short-lived program writes, and continues the segment that the visitor before it left.
    private let isVisiting: Bool
    /// Called for each new segment.
    private let began: (SegmentName) -> Void
    private var active: ActiveSegment?
    private var text = LineText()
    /// The position of the last collected line in its segment.
    private var position: UInt64 = 0
    /// Why nothing more can be written in this turn.
    private var obstacle: LogDropReason?
    /// Lines handed to the kernel since the start.
    private(set) var written = LogLevelCounts()
    /// Whether a segment became ready for sealing since this was last cleared.
    var hasRetired = false

    init(
        _ kind: SegmentName.Kind, maximumBytes: Int, keeper: StoreKeeper, isVisiting: Bool = false,
        began: @escaping (SegmentName) -> Void = { _ in }
    ) {
        self.isVisiting = isVisiting
        self.began = began
        self.kind = kind
        self.maximumBytes = maximumBytes
        self.keeper = keeper
    }

    /// Begins a turn of appending and flushing. After a failure, the rest of the turn fails too.
    func beginTurn(_ losses: inout LossLedger) {
        obstacle = nil
        guard let active, !active.isInPlace else { return }
        if active.isRemoved { losses.count(active.counts, as: .deleted) }
        retire()
    }

    func append(time: Int64, level: LogLevel, body: UnsafeRawBufferPointer, _ losses: inout LossLedger) {
        guard let number = makeRoom(for: body.count, &losses) else {
            losses.count(level, as: obstacle ?? .unwritable)
            return
        }
        text.append(time: time, level: level, number: number, body: body)
        position += 1
        if text.isFull { flush(&losses) }
    }

    /// Hands collected lines to the kernel.
    /// - Returns: whether the kernel has all of them.
    @discardableResult
    func flush(_ losses: inout LossLedger) -> Bool {
        guard text.count > 0, let active else { return obstacle == nil }
        let before = active.counts
        let (_, failure) = active.write(text.bytes, counts: text.counts)
        var taken = active.counts
        taken -= before
        written += taken
        if let failure {
            var lost = text.counts
            lost -= taken
            fail(failure, &losses)
            losses.count(lost, as: obstacle ?? .unwritable)
            position -= lost.total
        }
        text.empty()
        return failure == nil
    }

    /// Closes the segment if its first line is older than that. With `nil`, closes it in any case.
    func retire(ifBegunBefore bootMilliseconds: Int64? = nil) {
        guard let active else { return }
        if let bootMilliseconds { guard let began = active.began, began <= bootMilliseconds else { return } }
        self.active = nil
        hasRetired = true
    }

    /// Time of the active segment's oldest line, in milliseconds since boot.
    var oldestLine: Int64? { active?.began }

    /// The number for the next line, in a segment that has room for it.
    private func makeRoom(for body: Int, _ losses: inout LossLedger) -> LogNumber? {
        guard obstacle == nil else { return nil }
        if isVisiting, active == nil, let (segment, last) = try? keeper.resume(kind, maximumBytes: maximumBytes) {
            active = segment
            position = last
        }
        if let active {
            let number = LogNumber(segment: active.name.ordinal, position: position + 1)
            if active.bytes + text.count + LineText.lineBytes(number: number, body: body) <= maximumBytes {
                return number
            }
            guard flush(&losses) else { return nil }
            retire()
        }
        do throws(LogStoreError) {
            let segment = try keeper.begin(kind, counting: losses.unsaved)
            losses.saved()
            active = segment
            position = 0
            began(segment.name)
            return LogNumber(segment: segment.name.ordinal, position: 1)
        } catch {
            fail(error, &losses)
            return nil
        }
    }

    private func fail(_ error: LogStoreError, _ losses: inout LossLedger) {
        losses.failure = error
        obstacle = error.code == .diskFull ? .diskFull : .unwritable
    }
}

/// A segment that is being written. Its file is locked with `flock` while this value exists.
final class ActiveSegment {
    let name: SegmentName
    /// Bytes of text.
    private(set) var bytes = 0
    /// Bytes of the file.
    private var fileBytes = 0
    private(set) var counts = LogLevelCounts()
    /// Time of the first line, in milliseconds since boot.
    private(set) var began: Int64?
    private let file: OpenFile<LogStoreError>
    /// `nil`: the text is plain.
    private let frames: FrameWriter?

    /// Call it under the store's `lock`. Otherwise others could see the text unlocked and count it as abandoned.
    /// - Parameter key: `nil`: the text is plain.
    init(making name: SegmentName, in directory: StoreDirectory, key: DataKey? = nil) throws(LogStoreError) {
        let path = directory.path(name, .text)
        var file = try OpenFile<LogStoreError>(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL)
        GroupAccess.handOn(file.descriptor, path)
        guard try file.lock() else { throw LogStoreError(FileError("locking", path, EWOULDBLOCK)) }
        self.name = name
        self.file = file
        frames = key.map { FrameWriter(segment: name.ordinal, key: $0) }
    }

    /// Continues a text that nobody holds. Call it under the store's `lock`.
    /// - Parameter key: encrypts what is written from now on, in a run of its own.
    /// - Returns: the segment and the position of its last line. `nil` if the text is full, is held, has not the
    ///   form of what would be written, or does not end in a well-formed line.
    static func resume(
        _ name: SegmentName, in directory: StoreDirectory, maximumBytes: Int, key: DataKey? = nil
    ) throws(LogStoreError) -> (segment: ActiveSegment, position: UInt64)? {
        let path = directory.path(name, .text)
        var file = try OpenFile<LogStoreError>(path, O_RDWR | O_APPEND | O_NOFOLLOW)
        guard try file.lock() else { return nil }
        let bytes = try file.byteCount()
        var tally = LineTally()
        var last: LogNumber?
        var isWhole = false
        if bytes < maximumBytes - LogLimits.lineBytes {
            var reader = try TextBlockReader(try file.duplicate(), of: name, keys: directory.keys)
            guard reader.isEncrypted == (key != nil) else { return nil }
            while let text = try reader.next() {
                for line in LineSlices(text) {
                    let fields = LogLine(line)
                    tally.add(fields, bytes: line.count)
                    last = fields?.number
                }
            }
            isWhole = reader.tornBytes == 0 && reader.damages.isEmpty
        }
        guard isWhole, let last, last.segment == name.ordinal, last.position == tally.lines else {
            return nil
        }
        return (
            ActiveSegment(
                name, file, bytes: tally.rawBytes, fileBytes: bytes, counts: LogLevelCounts(tally.levelCounts),
                key: key), last.position
        )
    }

    private init(
        _ name: SegmentName, _ file: consuming OpenFile<LogStoreError>, bytes: Int, fileBytes: Int,
        counts: LogLevelCounts, key: DataKey?
    ) {
        self.name = name
        self.file = file
        self.bytes = bytes
        self.fileBytes = fileBytes
        self.counts = counts
        frames = key.map { FrameWriter(segment: name.ordinal, key: $0) }
    }

    /// Whether the file is still the segment's: it was not removed, and no other process changed it.
    var isInPlace: Bool {
        var status = stat()
        return fstat(file.descriptor, &status) == 0 && status.st_nlink > 0 && status.st_size == fileBytes
    }

    var isRemoved: Bool { file.isRemoved }

    /// Returns once the lines are on synced disk.
    func sync() throws(LogStoreError) { try file.sync() }

    /// Bytes of the file, of which nothing more is written before this is asked again.
    var writtenFileBytes: Int { fileBytes }

    /// Cuts off what was written behind a place, and syncs that. Nothing may be written afterwards, because numbers
    /// would come twice.
    func cut(toFileBytes bytes: Int) throws(LogStoreError) {
        guard retryingOnInterrupt({ ftruncate(file.descriptor, off_t(bytes)) }) == 0 else {
            throw file.failure("cutting")
        }
        try file.sync()
    }

    /// Hands whole lines to the kernel, as many as there is room for.
    /// - Returns: bytes of the lines in the file, and the failure if these are not all.
    func write(_ text: UnsafeRawBufferPointer, counts: LogLevelCounts) -> (bytes: Int, failure: LogStoreError?) {
        if let frames { return write(text, counts: counts, in: frames) }
        let (written, systemError) = writeAll(text, to: file.descriptor)
        if written > 0, began == nil { began = SystemClock.bootMilliseconds() }
        guard let systemError else {
            bytes += written
            fileBytes += written
            self.counts += counts
            return (written, nil)
        }
        // A part of a line must not stay. Truncating needs no free space. If it fails, the caller continues in another
        // segment.
        let whole = text[..<written].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        if whole < written { _ = retryingOnInterrupt { ftruncate(file.descriptor, off_t(bytes + whole)) } }
        var tally = LineTally()
        tally.add(text: UnsafeRawBufferPointer(rebasing: text[..<whole]))
        bytes += whole
        fileBytes += whole
        self.counts += LogLevelCounts(tally.levelCounts)
        return (whole, LogStoreError(FileError("writing", file.path, systemError)))
    }

    private func write(
        _ text: UnsafeRawBufferPointer, counts: LogLevelCounts, in frames: FrameWriter
    ) -> (bytes: Int, failure: LogStoreError?) {
        let sealed: (bytes: [UInt8], frames: [FrameWriter.Frame])
        do { sealed = try frames.seal(text) } catch {
            frames.restart()
            return (0, error)
        }
        let (written, systemError) = sealed.bytes.withUnsafeBytes { writeAll($0, to: file.descriptor) }
        if written > 0, began == nil { began = SystemClock.bootMilliseconds() }
        guard let systemError else {
            bytes += text.count
            fileBytes += written
            self.counts += counts
            return (text.count, nil)
        }
        // As with plain text, a part of a frame must not stay.
        let last = sealed.frames.last { $0.sealedEnd <= written }
        let whole = last?.textEnd ?? 0
        fileBytes += last?.sealedEnd ?? 0
        if written > last?.sealedEnd ?? 0 { _ = retryingOnInterrupt { ftruncate(file.descriptor, off_t(fileBytes)) } }
        frames.restart()
        var tally = LineTally()
        tally.add(text: UnsafeRawBufferPointer(rebasing: text[..<whole]))
        bytes += whole
        self.counts += LogLevelCounts(tally.levelCounts)
        return (whole, LogStoreError(FileError("writing", file.path, systemError)))
    }
}
