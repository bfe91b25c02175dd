import FoundationEssentials
import Glibc
import LogStore
import TelemetryBasics
import WireModel

/// Takes in the lines of files that programs write: all files that match a pattern, through every rotation.
///
/// A file is known by device and inode, and by its content (``FilePosition``). Neither is enough: an inode is used
/// again within a second, device numbers change with a boot, and many files begin with the same lines. So the inode
/// says where to look, and the content decides. `FileIntake+Identity.swift` is the one place that answers which file a
/// file is:
///
///     renamed, a new one made      the old one is read on under its new name, until it is gone
///     copied, then truncated       the copy is read on from where the original was; the original from its beginning
///     compressed by rotation       what was not read yet is read from the compressed file
///     replaced under its inode     the content differs, so it is read from its beginning
///     the same under a new inode   it goes on (`sed -i`, another number of the disk, moved away and back)
///
/// A copy is told from another file that begins alike by its length and its name: it is no longer than its original,
/// has the same content as far as it goes, and its name is one that rotation makes (``RotatedName``). If what was not
/// read of a file is found nowhere, a line of category `intake` says so.
///
/// All files are read by one thread, in turn, at most 256 KiB each; ``DirectoryWatch`` says which ones changed. A
/// descriptor is kept for the files that were read last, so that one which is removed is read to its end.
package final class FileIntake: IntakeSource {
    package struct Configuration: Sendable {
        /// Patterns of glob(7), absolute.
        package var patterns: [String]
        /// The directory of the log store. Its files are never read, because each line that is taken in makes them
        /// longer.
        package var storeDirectory: String?
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
    /// Text of events that are not complete, of all files. It is written with the positions.
    static let maximumOpenBytes = 4 << 20
    /// Positions of files that are gone. A rotation that removes many files a day should not push out one whose volume
    /// comes back after a night.
    static let maximumGiven = 256

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
    /// Positions of files that are gone, and may come back.
    var given: [String: FilePosition] = [:]
    /// Copies by their original.
    var copies: [String: Set<String>] = [:]
    /// Files by what the names of their rotations begin with, ``RotatedName/origins(_:)``; `nil`: to be made again.
    var names: [String: [String]]?
    /// Files by the paths that they had before they were renamed.
    var formerPaths: [String: String] = [:]
    /// Of this call to read: the directories that were listed.
    var listings: [String: DirectoryListing] = [:]
    var compressedHeads: [String: [UInt64]] = [:]
    /// Bytes of each open event, and of all of them.
    var openBytes: [String: Int] = [:]
    var openTotal = 0
    /// What the last search could not read.
    var problems: [String] = []
    /// What each watched path led to.
    var watched: [String: String] = [:]
    private let isInterrupted: @Sendable () -> Bool
    let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: FileIntake.pieceBytes + FilePosition.Mark.maximumTailBytes, alignment: 16)
    /// For tests: called when a piece was read and found to belong to what was read before.
    var onPiece: (() -> Void)?
    /// For tests: opens a file to read it.
    var openAny: (String) -> Int32 = { open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    /// For tests: how often a file was looked at, and how often one was opened to be read.
    var looks = 0
    var opens = 0

    /// - Parameters:
    ///   - watch: one for all sources of a thread.
    ///   - isInterrupted: asked between files. While it is `true`, ``read(into:)`` returns with what it has.
    package init(
        _ configuration: Configuration, clock: IntakeClock = .system, watch: DirectoryWatch = DirectoryWatch(),
        isInterrupted: @escaping @Sendable () -> Bool = { false }
    ) {
        self.isInterrupted = isInterrupted
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
        given = [:]
        copies = [:]
        (openBytes, openTotal) = ([:], 0)
        formerPaths = [:]
        isStarted = positions[Self.startedKey] != nil
        let now = clock.bootMilliseconds()
        for (key, value) in positions where key != Self.startedKey {
            guard let position = FilePosition(encoded: value) else { continue }
            if position.gone != nil {
                given[key] = position
                continue
            }
            files[key] = Tracked(
                position: position, descriptor: former[key]?.descriptor ?? -1, lastRead: former[key]?.lastRead ?? now,
                isUndecided: position.offset == 0 && position.startsAt == nil && isStarted,
                isSeen: former[key]?.isSeen ?? false)
            setOpenBytes(key, position.text?.count)
            if let original = position.copyOf { copies[original, default: []].insert(key) }
        }
        for (key, file) in former where files[key] == nil && file.descriptor >= 0 { close(file.descriptor) }
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
        listings = [:]
        // Where nothing changed, nothing is counted again either.
        if turn.isEmpty, !plan(&batch, now) { return false }
        var hasMore = false
        var place = 0
        defer { turn.removeFirst(place) }
        while place < turn.count {
            guard !batch.isFull, !isStopping else { return true }
            // A file that has more is last in the next turn, so that one that never ends does not stop others.
            let key = turn[place]
            place += 1
            if readPiece(of: key, into: &batch, now) { hasMore = true }
            limitOpenText(key, &batch)
            settle(key)
            if place % Self.maximumDescriptors == 0 { trimDescriptors() }
        }
        lag.bytes = files.values.reduce(0) {
            $0 + ($1.position.copyOf == nil ? max(0, $1.position.size - $1.position.offset) : 0)
        }
        lag.parts = files.count
        trimDescriptors()
        // A search that was interrupted is not done.
        return hasMore || nextSearch == .min
    }

    /// Whether everything is to be left as it is, soon.
    var isStopping: Bool { isInterrupted() }

    // MARK: - Reading

    /// - Returns: whether there is more of it.
    func readPiece(of key: String, into batch: inout IntakeBatch, _ now: Int64) -> Bool {
        guard var file = files[key] else { return false }
        looks += 1
        if file.position.isCompressed == true { return readCompressed(key, into: &batch, now) }
        if file.position.copyOf != nil {
            if remainsCopy(key, &batch) { return false }
            file = files[key]!
        }
        var named = stat()
        let isThere = Self.isThere(file.position.path, key, &named)
        if file.descriptor < 0 {
            guard isThere else {
                if file.missing > 1 { end(key, file, &batch) }
                return false
            }
            // Only what changed is opened again.
            if file.drained == Look(named), !file.waits { return false }
            file.descriptor = openFile(file.position.path, key)
            guard file.descriptor >= 0 else { return false }
            files[key]!.descriptor = file.descriptor
        }
        var status = stat()
        guard fstat(file.descriptor, &status) == 0 else { return false }
        let look = Look(status)
        let isQuiet = now - file.lastRead >= configuration.goneMilliseconds
        if file.drained == look, !file.waits, isThere || !isQuiet { return false }
        if let start = file.position.startsAt {
            file.position.startsAt = nil
            // One that is shorter has begun anew meanwhile.
            guard look.size < start || skip(to: start, file.descriptor, &file.position) else { return false }
        }
        let before = file.position
        if before.offset == 0, before.open == nil, file.isUndecided, look.size > 0,
            let original = original(of: key, file.descriptor)
        {
            files[key]!.drained = look
            guard files[key]!.position.settle(file.descriptor, at: look.size) else { return false }
            setCopy(key, of: original)
            restless.insert(original)
            batch.set(key, files[key]!.position.encoded)
            close(file.descriptor)
            files[key]!.descriptor = -1
            return false
        }
        if look.size > before.size { file.lastRead = now }
        file.position.size = look.size
        file.isSeen = true
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
        if before.offset == 0, count > 0 {
            takeOver(&file, UnsafeRawBufferPointer(rebasing: buffer[..<count]), &batch)
        }
        take(count, lead, &file, &batch, now)
        let isDrained = before.offset + count >= look.size && !batch.isFull
        file.drained = isDrained ? look : nil
        files[key] = file
        if isDrained, !isThere, now - file.lastRead >= configuration.goneMilliseconds {
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
        let descriptor = openAny(path)
        guard descriptor >= 0 else {
            if errno == ENOENT { return -1 }
            let error = FileError("opening", path)
            if lag.problems.count < 10, !lag.problems.contains("\(error)") { lag.problems.append("\(error)") }
            return -1
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, FilePosition.key(status) == key else {
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
        var assembler = assembler(file.position.open)
        let path = file.position.path
        let bytes = UnsafeRawBufferPointer(rebasing: buffer[lead..<lead + count])
        var used = assembler.add(bytes, event: { batch.add(entry($0, path)) }, goesOn: { !batch.isFull })
        let quiet = now - file.lastRead
        if used > 0 {
            file.lastRead = now
        } else if batch.isFull {
            // Nothing was tried.
        } else if file.position.isRotated, quiet >= configuration.goneMilliseconds {
            // Its writer has another file by now, and will not end the last line.
            assembler.finish(bytes) { batch.add(entry($0, path)) }
            used = count
        } else if let open = assembler.open, !open.isLineOpen,
            quiet >= (count == 0 ? configuration.eventMilliseconds : configuration.goneMilliseconds)
        {
            // A line that is being written may belong to it.
            assembler.finish { batch.add(entry($0, path)) }
        }
        file.position.open = assembler.open
        guard used > 0 else { return }
        file.position.offset += used
        file.position.mark = FilePosition.Mark(
            after: file.position.mark, UnsafeRawBufferPointer(rebasing: buffer[..<(lead + used)]),
            offset: file.position.offset)
    }

    func assembler(_ open: EventAssembler.Open?) -> EventAssembler {
        var assembler = EventAssembler(limit: configuration.maximumEventBytes, isStart: configuration.isEventStart)
        assembler.open = open
        return assembler
    }

    func entry(_ event: EventAssembler.Event, _ path: String) -> LogEntry {
        // Bytes that are no UTF-8 become U+FFFD. The mark belongs to the message, and not behind the metadata.
        let text = String(decoding: event.text, as: UTF8.self)
        return LogEntry(
            configuration.level, event.leftOutBytes > 0 ? "\(text)…[+\(event.leftOutBytes)]" : text,
            metadata: ["file": path])
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
