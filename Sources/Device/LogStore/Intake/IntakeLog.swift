import Encryption
import FoundationEssentials
import Glibc
import Synchronization
import TelemetryBasics
import WireModel

/// Stores lines of one source together with the position up to which they were read there.
///
/// ``commit(_:_:)`` makes both durable in one step: after a crash at any moment the store has all lines of the last
/// commit, none of a later one, and its position. `Schemas/logs/FORMAT.md` says how, and why it holds.
///
/// Each source is an application of its own: its segments, its limits, its level, its scrub rules. Not `Sendable`: use
/// it from one thread at a time. One process at a time has the intake of an application.
package final class IntakeLog {
    /// The outcome of a commit.
    package struct Outcome: Equatable, Sendable {
        /// Lines that are now on synced disk.
        package var written = LogLevelCounts()
        /// Lines less severe than the level in force. They are passed by for good.
        package var filtered: UInt64 = 0
    }

    /// A line of a source.
    package struct Line: Equatable, Sendable {
        /// Microseconds since 1970.
        package var time: Int64
        package var entry: LogEntry

        package init(time: Int64, _ entry: LogEntry) {
            self.time = time
            self.entry = entry
        }
    }

    /// Bytes of a position file above which it is written anew, if the present positions are less than half of it.
    private static let compactingBytes = 1 << 20

    /// The positions of the last commit.
    package private(set) var positions: [String: [UInt8]] = [:]
    /// Lines that are less severe are not written; `nil` writes nothing.
    package var level: LogLevel?

    private let directory: StoreDirectory
    private let keeper: StoreKeeper
    private let scrubber: LineScrubber?
    private let application: String
    private let segmentBytes: Int
    private let segmentAgeMilliseconds: Int64
    private let head: PositionFile.Head
    private let path: String
    private let lock: FileLock
    private var file: OpenFile<LogStoreError>
    private var fileBytes = 0
    private var last: PositionFile.Commit
    private var segment: ActiveSegment?
    /// The position of the last line in `segment`.
    private var position: UInt64 = 0
    private var text = LineText()
    private var losses = LossLedger()
    /// A write of which nobody knows how far it is on disk. Only what a new start finds is certain.
    private var failure: LogStoreError?
    private let syncPositions: (borrowing OpenFile<LogStoreError>) throws(LogStoreError) -> Void
    /// Segments of a batch of which it is not known whether it was committed. Nobody seals them while this has them.
    private var withheld: [ActiveSegment] = []
    private let sealing = Sealing()

    private final class Sealing: Sendable {
        struct Work {
            var hasEnded = false
        }

        let isRunning = Mutex(false)
        /// Held while segments are sealed.
        let work = Mutex(Work())
    }

    /// Opens the intake of the configuration's application, and cuts off lines that were not committed.
    ///
    /// `ringBytes` and `flushInterval` have no meaning here; `maximumBytes` and `maximumAge` are those of the
    /// application alone.
    /// - Throws: `.busy` if another process has it; `.locked` until the key is at hand; `.damaged` if the positions are
    ///   not what was written; `.diskFull`, `.io`, `.newer`, `.invalid`.
    package convenience init(_ configuration: LogStore.Configuration) throws(LogStoreError) {
        try self.init(configuration) { (file) throws(LogStoreError) in try file.sync() }
    }

    /// - Parameter syncPositions: brings a commit to synced disk. Tests give one that fails.
    init(
        _ configuration: LogStore.Configuration,
        syncPositions: @escaping (borrowing OpenFile<LogStoreError>) throws(LogStoreError) -> Void
    ) throws(LogStoreError) {
        try configuration.check()
        self.syncPositions = syncPositions
        guard !configuration.applicationIdentifier.isEmpty else {
            throw LogStoreError(.invalid, "an intake needs an application identifier of its own: give it one")
        }
        application = configuration.applicationIdentifier
        level = configuration.level
        scrubber = try LineScrubber(configuration.scrubbing)
        var keeper = configuration.keeper
        directory = keeper.directory
        // This store's own limits are those of its position file. The limits of others are not its affair.
        keeper = StoreKeeper(
            directory: directory, maximumBytes: .max, ringBytes: .max, maximumAge: SystemClock.wallMicroseconds(),
            application: application)
        self.keeper = keeper
        segmentBytes = min(LogLimits.chunkBytes, max(2 * LogLimits.lineBytes, configuration.maximumBytes / 5))
        segmentAgeMilliseconds = configuration.writerSettings.segmentAgeMilliseconds
        head = PositionFile.Head(
            application: application, maximumBytes: configuration.maximumBytes,
            maximumAge: configuration.keeper.maximumAge)
        path = directory.path(PositionFile.name(of: application))
        try directory.make()
        guard let lock = try FileLock("\(path).lock", failure: LogStoreError.self) else {
            throw LogStoreError(
                .busy, "\(path) is in use by another process. Find it with `fuser \(path).lock`, and stop it.")
        }
        self.lock = lock
        last = PositionFile.Commit(number: 0, ordinal: 0, fileBytes: 0, isWhole: true, changes: Data())
        if let former = try PositionFile.read(path) {
            for commit in former.commits {
                let changes = try Self.open(commit, path, directory.keys)
                if commit.isWhole { positions = [:] }
                for (key, value) in changes { positions[key] = value }
                last = commit
            }
            // Before the next commit, which would make these lines count.
            try Self.cutUncommitted(of: application, after: last, in: directory)
        } else if let newest = try directory.segments(of: [.intake], application).last?.key {
            // Somebody removed the positions. The lines stay.
            last.ordinal = newest.ordinal
            last.fileBytes = Int(Paths.size(of: directory.path(newest, .text)) ?? 0)
        }
        // A torn end of the file goes, and the limits and the key are the present ones.
        let bytes = try Self.replace(path, head, &last, positions, directory)
        file = try OpenFile(path, O_WRONLY | O_APPEND | O_NOFOLLOW)
        fileBytes = bytes
        sealFormer()
    }

    /// Once this is gone, no thread of it works in the directory. Otherwise one could seal what the next intake writes.
    deinit { sealing.work.withLock { $0.hasEnded = true } }

    /// Whether the source was never read: there is no position.
    package var isNew: Bool { positions.isEmpty }

    /// Stores lines, in their order, and the positions that belong to them.
    ///
    /// When it returns, both are on synced disk. When it throws, the store is as after the last commit, and the source
    /// must give the same lines again.
    /// - Throws: `.diskFull`, `.locked` and `.busy` may go by; `.invalid` if there are too many positions; after `.io`
    ///   the intake must be opened anew, and what it finds holds.
    package func commit(_ lines: [Line], _ changes: PositionChanges) throws(LogStoreError) -> Outcome {
        if let failure { throw failure }
        letGoOfOldSegment()
        var outcome = Outcome()
        let start = Mark(
            segment: segment, fileBytes: segment?.writtenFileBytes ?? 0, counts: segment?.counts ?? LogLevelCounts())
        var former: [ActiveSegment] = []
        do throws(LogStoreError) {
            try write(lines, &outcome, &former)
            try flush()
            for segment in former { try sync(segment) }
            if let segment, outcome.written.total > 0 { try sync(segment) }
            // Their names too.
            if segment !== start.segment {
                do { try directory.sync() } catch { throw uncertain(error) }
            }
        } catch {
            rollBack(to: start, former)
            throw error
        }
        if outcome.written.total == 0, changes.isEmpty { return outcome }
        do { try append(changes) } catch {
            rollBack(to: start, former)
            throw error
        }
        for (key, value) in changes { positions[key] = value }
        if !former.isEmpty { sealFormer() }
        if fileBytes > Self.compactingBytes { compact() }
        return outcome
    }

    // MARK: - Lines

    private struct Mark {
        var segment: ActiveSegment?
        var fileBytes: Int
        var counts: LogLevelCounts
    }

    private func write(
        _ lines: [Line], _ outcome: inout Outcome, _ former: inout [ActiveSegment]
    ) throws(LogStoreError) {
        for line in lines {
            guard let level, line.entry.level <= level else {
                outcome.filtered += 1
                continue
            }
            var fields = LineFields(
                category: line.entry.category, message: line.entry.message,
                fields: line.entry.metadata.map { LineFields.Field(key: $0.key, value: $0.value) },
                leftOutBytes: line.entry.leftOutBytes)
            scrubber?.scrub(&fields)
            let body = fields.body
            let number = try makeRoom(for: body.count, &former)
            body.withUnsafeBytes { text.append(time: line.time, level: line.entry.level, number: number, body: $0) }
            position += 1
            outcome.written[line.entry.level] += 1
            if text.isFull { try flush() }
        }
    }

    private func makeRoom(for body: Int, _ former: inout [ActiveSegment]) throws(LogStoreError) -> LogNumber {
        if let segment {
            let number = LogNumber(segment: segment.name.ordinal, position: position + 1)
            if segment.bytes + text.count + LineText.lineBytes(number: number, body: body) <= segmentBytes {
                return number
            }
            try flush()
            // It stays locked until the commit, so nobody seals it before.
            former.append(segment)
            self.segment = nil
        }
        // The state may be older than the positions, after a restore or where it was lost. A lower ordinal would count
        // without a commit.
        let next = try keeper.begin(.intake, after: last.ordinal, counting: losses.unsaved)
        losses.saved()
        segment = next
        position = 0
        return LogNumber(segment: next.name.ordinal, position: 1)
    }

    private func flush() throws(LogStoreError) {
        guard text.count > 0, let segment else { return }
        let failure = segment.write(text.bytes, counts: text.counts).failure
        text.empty()
        if let failure { throw failure }
    }

    private func sync(_ segment: ActiveSegment) throws(LogStoreError) {
        do { try segment.sync() } catch { throw uncertain(error) }
    }

    /// Segments that others removed, and old ones, are not gone on with. All their lines are committed.
    private func letGoOfOldSegment() {
        guard let segment else { return }
        let isOld = segment.began.map { SystemClock.bootMilliseconds() - $0 > segmentAgeMilliseconds } ?? false
        guard !segment.isInPlace || isOld else { return }
        letGo(segment.counts)
        sealFormer()
    }

    /// - Parameter counts: lines that were committed in the segment.
    private func letGo(_ counts: LogLevelCounts) {
        if segment?.isRemoved == true { losses.count(counts, as: .deleted) }
        segment = nil
    }

    /// Takes back what was written since the last commit. Numbers of cut lines are not used again: the next line
    /// begins a segment.
    ///
    /// Where a commit may be on disk its lines must stay: whoever opens the intake next finds both or neither.
    private func rollBack(to start: Mark, _ former: [ActiveSegment]) {
        text.empty()
        position = 0
        let written = former + [segment].compactMap { $0 }
        guard failure == nil else {
            withheld = written
            segment = nil
            return
        }
        for segment in written {
            do { try segment.cut(toFileBytes: segment === start.segment ? start.fileBytes : 0) } catch {
                _ = uncertain(error)
            }
        }
        segment = start.segment
        letGo(start.counts)
        sealFormer()
    }

    private func uncertain(_ error: LogStoreError) -> LogStoreError {
        let error = LogStoreError(
            .io, "\(error.message) How much of \(application) is on disk is not known; its intake must start again.",
            cause: error)
        failure = error
        return error
    }

    /// Cuts off lines that a dead process left without a commit. Their source still has them. Synced, because the next
    /// commit makes the rest of these segments count; also where another process has just cut them.
    private static func cutUncommitted(
        of application: String, after last: PositionFile.Commit, in directory: StoreDirectory
    ) throws(LogStoreError) {
        for (name, parts) in try directory.segments(of: [.intake], application)
        where parts.contains(.text) && name.ordinal >= last.ordinal {
            do throws(LogStoreError) {
                let file = try OpenFile<LogStoreError>(directory.path(name, .text), O_RDWR | O_NOFOLLOW)
                let bytes = name.ordinal == last.ordinal ? last.fileBytes : 0
                if try file.byteCount() > bytes {
                    guard retryingOnInterrupt({ ftruncate(file.descriptor, off_t(bytes)) }) == 0 else {
                        throw file.failure("cutting")
                    }
                }
                try file.sync()
            } catch {
                guard error.code == .notFound else { throw error }
            }
        }
    }

    // MARK: - Positions

    private func append(_ changes: PositionChanges) throws(LogStoreError) {
        guard !file.isRemoved else {
            throw LogStoreError(.io, "\(path) was removed or replaced by another program; the intake must start again.")
        }
        guard fileBytes + Self.storedBytes(of: changes) <= PositionFile.maximumBytes else {
            throw LogStoreError(
                .invalid,
                "\(path) would be over \(PositionFile.maximumBytes) bytes: let \(application) read fewer files.")
        }
        let commit = PositionFile.Commit(
            number: last.number + 1, ordinal: segment?.name.ordinal ?? last.ordinal,
            fileBytes: segment?.writtenFileBytes ?? last.fileBytes, isWhole: false,
            changes: try Self.seal(changes, path, directory))
        let line = Array(commit.line.utf8)
        let (written, systemError) = line.withUnsafeBytes { writeAll($0, to: file.descriptor) }
        if let systemError {
            let error = LogStoreError(FileError("writing", path, systemError))
            // A torn line would stand before the next commit.
            guard written == 0 || retryingOnInterrupt({ ftruncate(file.descriptor, off_t(fileBytes)) }) == 0 else {
                throw uncertain(error)
            }
            throw error
        }
        do { try syncPositions(file) } catch { throw uncertain(error) }
        fileBytes += line.count
        last = commit
    }

    /// About as many bytes as positions take in the file.
    private static func storedBytes(of positions: PositionChanges) -> Int {
        positions.reduce(0) { $0 + ($1.key.utf8.count + ($1.value?.count ?? 0)) * 4 / 3 + 16 }
    }

    /// Writes the position file anew if half of it is void.
    private func compact() {
        guard fileBytes > 2 * Self.storedBytes(of: positions.mapValues { .some($0) }) else { return }
        var next = last
        do throws(LogStoreError) {
            let bytes = try Self.replace(path, head, &next, positions, directory)
            // From the rename on only the new file counts.
            file = try OpenFile(path, O_WRONLY | O_APPEND | O_NOFOLLOW)
            fileBytes = bytes
            last = next
        } catch {
            // Where the former file is still in its place, it is gone on with.
            if file.isRemoved { _ = uncertain(error) }
        }
    }

    /// - Returns: bytes of the new file.
    private static func replace(
        _ path: String, _ head: PositionFile.Head, _ last: inout PositionFile.Commit, _ positions: [String: [UInt8]],
        _ directory: StoreDirectory
    ) throws(LogStoreError) -> Int {
        var commit = last
        commit.number += 1
        commit.isWhole = true
        commit.changes = try seal(positions.mapValues { .some($0) }, path, directory)
        let text = Array((head.text + commit.line).utf8)
        try Files<LogStoreError>.replace(path, with: text.span.bytes, through: PositionFile.newSuffix)
        last = commit
        return text.count
    }

    private static func seal(
        _ changes: PositionChanges, _ path: String, _ directory: StoreDirectory
    ) throws(LogStoreError) -> Data {
        guard directory.isSealing, let keys = directory.keys else { return changes.encoded }
        let key = try keys.sealingKey(for: path)
        do throws(EncryptionError) { return try Envelope.seal(changes.encoded, label: label(path), with: key) } catch {
            throw LogStoreError(error, path)
        }
    }

    private static func open(
        _ commit: PositionFile.Commit, _ path: String, _ keys: LogKeys?
    ) throws(LogStoreError) -> PositionChanges {
        var plain = commit.changes
        if Envelope.isEnvelope(plain) {
            do throws(EncryptionError) {
                let id = try Envelope.keyID(of: plain, purpose: .logs)
                plain = try Envelope.open(plain, label: label(path), with: try (keys ?? .none).opened(id))
            } catch { throw LogStoreError(error, path) }
        }
        guard let changes = PositionChanges(encoded: plain) else {
            throw PositionFile.damaged(path, "commit \(commit.number) has no positions")
        }
        return changes
    }

    /// The place that an envelope is for: the file's name.
    private static func label(_ path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }

    // MARK: - Sealing

    /// Seals segments that are no longer written, and keeps to the limits, on a thread of its own.
    private func sealFormer() {
        let mustStart = sealing.isRunning.withLock { isRunning in
            defer { isRunning = true }
            return !isRunning
        }
        guard mustStart else { return }
        let hasStarted = BackgroundThread.start("ws1-log-seal") { [keeper, sealing] in
            // What cannot be sealed now stays readable; the next segment tries again.
            sealing.work.withLock { work in if !work.hasEnded { try? keeper.sealAll(atLowPriority: true) } }
            sealing.isRunning.withLock { $0 = false }
        }
        if !hasStarted { sealing.isRunning.withLock { $0 = false } }
    }

    /// Seals what is written, at a clean stop. Nothing can be committed afterwards.
    package func close() {
        if let segment { letGo(segment.counts) }
        withheld = []
        failure = LogStoreError(.invalid, "the intake of \(application) is closed")
        try? keeper.count(losses.unsaved)
        losses.saved()
        // Waits for a sealing that is under way. None begins afterwards.
        sealing.work.withLock { [keeper] work in
            if !work.hasEnded { try? keeper.sealAll(atLowPriority: false) }
            work.hasEnded = true
        }
    }
}
