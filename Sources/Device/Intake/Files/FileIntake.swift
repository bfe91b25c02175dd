import FoundationEssentials
import Glibc
import LogStore
import TelemetryBasics
import WireModel

/// Takes in the lines of files that programs write: all files that match a pattern, through every rotation.
///
/// A file is known by device, inode and content (``FilePosition``):
///
///     renamed, a new one made      the old one is read on under its new name, until it is gone
///     copied, then truncated       the copy is read on from where the original was; the original from its beginning
///     compressed by rotation       what was not read yet is read from the compressed file
///     replaced under its inode     the content differs, so it is read from its beginning
///
/// All files are read by one thread, in turn, at most 256 KiB each; ``DirectoryWatch`` says which ones changed. A
/// descriptor is kept for the files that were read last, so that one which is removed is read to its end.
package final class FileIntake: IntakeSource {
    package struct Configuration: Sendable {
        /// Patterns of glob(7), absolute.
        package var patterns: [String]
        /// `now` is at the present ends of files, and `since` reads the files that changed since then whole. Files that
        /// come later are read whole.
        package var start = IntakeStart.all
        /// The level of all lines.
        package var level = LogLevel.information
        /// Bytes of an event. Of a longer one the first are kept, and the rest counts. Default 32,768; 64 to 60,000.
        package var maximumEventBytes = 32_768
        /// Whether a line begins an event of several lines. `nil`: each line is an event.
        package var isEventStart: (@Sendable (UnsafeRawBufferPointer) -> Bool)?
        /// An open event of several lines is complete when its file was quiet for so long. Default 5,000.
        package var eventMilliseconds: Int64 = 5_000
        /// A file that was removed is read on until it was quiet for so long, because its writer may still have it.
        /// Default 60,000.
        package var goneMilliseconds: Int64 = 60_000
        /// Milliseconds between two searches for files. Default 1,000.
        package var searchMilliseconds: Int64 = 1_000
        /// Milliseconds between two looks at all files where directories are watched: for what no event tells, as what
        /// is written by `mmap`. Default 60,000.
        package var wholeMilliseconds: Int64 = 60_000

        package init(patterns: [String]) { self.patterns = patterns }
    }

    /// A position of the source itself: it was started.
    static let startedKey = "started"
    static let pieceBytes = 256 << 10
    /// Descriptors that are kept. The usual limit of a process is 1,024.
    static let maximumDescriptors = 256

    struct Tracked {
        var position: FilePosition
        var descriptor: Int32 = -1
        /// What the file looked like when it had been read to its end.
        var drained: Look?
        /// Milliseconds since boot at which something was read last.
        var lastRead: Int64
        var isMatched = false
        /// It may be written by a name that is in no watched directory.
        var isLinked = false
        /// Searches in a row that found it under no name. One may miss a file that is being renamed.
        var missing = 0
    }

    /// What changes with a file's content.
    struct Look: Equatable {
        var size: Int
        var modified: Int64
        var changed: Int64

        init(_ status: stat) {
            size = Int(status.st_size)
            modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
            changed = Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
        }
    }

    package internal(set) var lag = IntakeLag()
    let configuration: Configuration
    let clock: IntakeClock
    var files: [String: Tracked] = [:]
    /// Keys in the order in which they are read; the next one first.
    var turn: [String] = []
    var isStarted = false
    var nextSearch = Int64.min
    /// Compressed files that are being read.
    var compressed: [String: CompressedFile] = [:]
    let watch: DirectoryWatch
    let reader: Int
    /// Whether each directory is watched.
    var isWatched = false
    var isSearchNeeded = true
    var nextWhole = Int64.min
    /// Milliseconds since boot at which watching is tried again.
    var nextWatch = Int64.min
    /// Files that are looked at in each turn, and paths of those that changed since the last one.
    var restless: Set<String> = []
    var changed: Set<String> = []
    /// Descriptors of files that are read to their end; closed when that is stored.
    var closing: [String: Int32] = [:]
    let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: FileIntake.pieceBytes + FilePosition.Mark.maximumTailBytes, alignment: 16)
    /// For tests: called when a piece was read and found to belong to what was read before.
    var onPiece: (() -> Void)?
    /// For tests: how often a file was looked at, and how often one was opened to be read.
    var looks = 0
    var opens = 0

    /// - Parameter watch: one for all sources of a thread.
    package init(
        _ configuration: Configuration, clock: IntakeClock = .system, watch: DirectoryWatch = DirectoryWatch()
    ) {
        self.configuration = configuration
        self.clock = clock
        self.watch = watch
        reader = watch.addReader()
    }

    deinit {
        closeAll()
        watch.removeReader(reader)
        buffer.deallocate()
    }

    func closeAll() {
        for file in files.values where file.descriptor >= 0 { close(file.descriptor) }
        committed()
    }

    // MARK: - Source

    package func begin(at positions: [String: [UInt8]]) {
        var former = files
        // Files that the failed batch ended are not ended.
        for (key, descriptor) in closing {
            if former[key] == nil { former[key] = Tracked(position: FilePosition(path: ""), lastRead: 0) }
            if former[key]!.descriptor < 0 { former[key]!.descriptor = descriptor } else { close(descriptor) }
        }
        closing = [:]
        files = [:]
        let now = clock.bootMilliseconds()
        for (key, value) in positions where key != Self.startedKey {
            guard let position = FilePosition(encoded: value) else { continue }
            files[key] = Tracked(
                position: position, descriptor: former[key]?.descriptor ?? -1, lastRead: former[key]?.lastRead ?? now)
        }
        for (key, file) in former where files[key] == nil && file.descriptor >= 0 { close(file.descriptor) }
        isStarted = positions[Self.startedKey] != nil
        turn = []
        nextSearch = .min
        isSearchNeeded = true
        restless = []
        compressed = [:]
    }

    package func committed() {
        for descriptor in closing.values { close(descriptor) }
        closing = [:]
    }

    package func read(into batch: inout IntakeBatch) -> Bool {
        let now = clock.bootMilliseconds()
        // Where nothing changed, nothing is counted again either.
        if turn.isEmpty, !plan(&batch, now) { return false }
        var hasMore = false
        while let key = turn.first {
            guard !batch.isFull else { return true }
            // A file that has more is last in the next turn, so that one that never ends does not stop others.
            turn.removeFirst()
            if readPiece(of: key, into: &batch, now) { hasMore = true }
            settle(key)
        }
        lag.bytes = files.values.reduce(0) {
            $0 + ($1.position.copyOf == nil ? max(0, $1.position.size - $1.position.offset) : 0)
        }
        lag.parts = files.count
        trimDescriptors()
        return hasMore
    }

    // MARK: - Reading

    /// - Returns: whether there is more of it.
    func readPiece(of key: String, into batch: inout IntakeBatch, _ now: Int64) -> Bool {
        guard var file = files[key] else { return false }
        looks += 1
        if file.position.isCompressed == true { return readCompressed(key, into: &batch, now) }
        if let original = file.position.copyOf {
            // The lines behind are still in the original, and are read there.
            if let original = files[original] {
                guard hasChanged(&file), case let descriptor = openFile(file.position.path, key), descriptor >= 0 else {
                    return false
                }
                defer { close(descriptor) }
                if isCopy(descriptor, of: file.position.copyOf!, original.position) {
                    files[key] = file
                    return false
                }
            }
            // It only began like the other one, which may also be gone.
            file.position = FilePosition(path: file.position.path)
            file.drained = nil
        }
        var named = stat()
        let isThere = Self.isThere(file.position.path, key, &named)
        if file.descriptor < 0 {
            guard isThere else {
                if file.missing > 1 { end(key, file, &batch) }
                return false
            }
            // Only what changed is opened again.
            if file.drained == Look(named), file.position.open == nil { return false }
            file.descriptor = openFile(file.position.path, key)
            guard file.descriptor >= 0 else { return false }
            files[key]!.descriptor = file.descriptor
        }
        var status = stat()
        guard fstat(file.descriptor, &status) == 0 else { return false }
        let look = Look(status)
        let isQuiet = now - file.lastRead >= configuration.goneMilliseconds
        if file.drained == look, file.position.open == nil, isThere || !isQuiet { return false }
        let before = file.position
        file.position.size = look.size
        // A truncation can come at any moment, and the new content can be longer than the old offset at once.
        //
        //     before the comparison below   the file has other content there, so nothing of this piece is taken
        //     after it                      the piece is old content. The mark behind it is made of the bytes in
        //                                   memory, so the next look finds that the new content differs
        //
        // A mark read from the file once more could be that of the new content, whose lines up to the offset would
        // never be read. Of the first piece of a file nothing is known to compare: it is what one `pread` gave.
        let lead = FilePosition.Mark.leadBytes(before.offset)
        let count =
            look.size > before.offset ? max(0, readBytes(file.descriptor, at: before.offset - lead) - lead) : 0
        guard look.size >= before.offset, before.isContinued(by: file.descriptor) else {
            replaceContent(of: key, &batch, now)
            return true
        }
        onPiece?()
        take(count, lead, &file, &batch, now)
        let isDrained = before.offset + count >= look.size && !batch.isFull
        file.drained = isDrained ? look : nil
        files[key] = file
        if isDrained, !isThere, isQuiet {
            end(key, file, &batch)
            return false
        }
        if file.position != before { batch.set(key, file.position.encoded) }
        return file.position.offset > before.offset && file.position.offset < look.size
    }

    /// Whether a file looks otherwise than at the last look, which this becomes.
    func hasChanged(_ file: inout Tracked) -> Bool {
        var status = stat()
        guard stat(file.position.path, &status) == 0, file.drained != Look(status) else { return false }
        file.drained = Look(status)
        return true
    }

    /// - Returns: -1 if it cannot be opened, or is another file by now.
    func openFile(_ path: String, _ key: String) -> Int32 {
        opens += 1
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            let error = FileError("opening", path)
            if lag.problems.count < 10, !lag.problems.contains("\(error)") { lag.problems.append("\(error)") }
            return -1
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0,
            FilePosition.key(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)) == key
        else {
            close(descriptor)
            return -1
        }
        return descriptor
    }

    func readBytes(_ descriptor: Int32, at offset: Int) -> Int {
        max(0, retryingOnInterrupt { pread(descriptor, buffer.baseAddress!, buffer.count, off_t(offset)) })
    }

    /// Makes events of what is in the buffer, and moves the position behind them.
    /// - Parameters:
    ///   - count: bytes behind the position.
    ///   - lead: bytes before it, which come first in the buffer.
    func take(_ count: Int, _ lead: Int, _ file: inout Tracked, _ batch: inout IntakeBatch, _ now: Int64) {
        var assembler = EventAssembler(limit: configuration.maximumEventBytes, isStart: configuration.isEventStart)
        assembler.open = file.position.open
        let path = file.position.path
        let bytes = UnsafeRawBufferPointer(rebasing: buffer[lead..<lead + count])
        let used = assembler.add(bytes, event: { batch.add(entry($0, path)) }, goesOn: { !batch.isFull })
        if used > 0 {
            file.lastRead = now
        } else if let open = assembler.open, !open.isLineOpen, now - file.lastRead >= configuration.eventMilliseconds {
            assembler.finish { batch.add(entry($0, path)) }
        }
        file.position.open = assembler.open
        guard used > 0 else { return }
        file.position.offset += used
        file.position.mark = FilePosition.Mark(
            after: file.position.mark, UnsafeRawBufferPointer(rebasing: buffer[..<(lead + used)]),
            offset: file.position.offset)
    }

    func entry(_ event: EventAssembler.Event, _ path: String) -> LogEntry {
        // Bytes that are no UTF-8 become U+FFFD. The mark belongs to the message, and not behind the metadata.
        let text = String(decoding: event.text, as: UTF8.self)
        return LogEntry(
            configuration.level, event.leftOutBytes > 0 ? "\(text)…[+\(event.leftOutBytes)]" : text,
            metadata: ["file": path])
    }

    /// The content that was read is no longer in the file: it was truncated, or its inode has another file. What was
    /// not read of it is in the copy that rotation made, if there is one.
    func replaceContent(of key: String, _ batch: inout IntakeBatch, _ now: Int64) {
        guard let file = files[key] else { return }
        passOn(key, file, &batch)
        let path = Self.isThere(file.position.path, key) ? file.position.path : nil
        if file.descriptor >= 0, path == nil { closing[key] = file.descriptor }
        files[key] = path.map { Tracked(position: FilePosition(path: $0), descriptor: file.descriptor, lastRead: now) }
        files[key]?.isMatched = file.isMatched
        batch.set(key, files[key]?.position.encoded)
    }

    /// A file is gone and read to its end.
    func end(_ key: String, _ file: Tracked, _ batch: inout IntakeBatch) {
        if file.descriptor >= 0, !files.values.contains(where: { $0.position.copyOf == key }) {
            var assembler = EventAssembler(limit: configuration.maximumEventBytes, isStart: configuration.isEventStart)
            assembler.open = file.position.open
            let count = readBytes(file.descriptor, at: file.position.offset)
            assembler.finish(UnsafeRawBufferPointer(rebasing: buffer[..<count])) {
                batch.add(entry($0, file.position.path))
            }
        } else {
            passOn(key, file, &batch)
        }
        if file.descriptor >= 0 { closing[key] = file.descriptor }
        files[key] = nil
        batch.set(key, nil)
    }

    /// Keeps the descriptors of the files that were read last.
    func trimDescriptors() {
        let open = files.filter { $0.value.descriptor >= 0 }
        guard open.count > Self.maximumDescriptors else { return }
        let oldest = open.sorted { $0.value.lastRead < $1.value.lastRead }.prefix(open.count - Self.maximumDescriptors)
        for (key, file) in oldest {
            close(file.descriptor)
            files[key]!.descriptor = -1
        }
    }
}
