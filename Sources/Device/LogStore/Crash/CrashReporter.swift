import Encryption
import FoundationEssentials
import Glibc
import Gzip
import TelemetryBasics
import WireModel

/// Finds sessions that ended without closing, and writes their crash logs. If several processes look at once, the lock
/// on the session's marker decides which of them writes.
struct CrashReporter {
    let directory: StoreDirectory
    let bootID: String?
    let scrubber: LineScrubber?

    /// How many of a session's newest segments are searched for its last lines.
    private static let tailSegments = 4
    static let maximumMarkerBytes = 1 << 20

    /// - Returns: the number of crash logs written.
    @discardableResult func reportAll() throws(LogStoreError) -> Int {
        var count = 0
        for name in try directory.names() {
            guard let ordinal = SessionMarker.ordinal(of: name), try report(name, ordinal) else { continue }
            count += 1
        }
        return count
    }

    /// Ordinals of the segments that are named in session markers: those of running programs, and those whose crash is
    /// not reported yet.
    static func segmentsOfSessions(in directory: StoreDirectory) throws(LogStoreError) -> Set<UInt64> {
        var segments: Set<UInt64> = []
        for name in try directory.names() where SessionMarker.ordinal(of: name) != nil {
            guard
                let bytes = try? OpenFile<LogStoreError>(reading: directory.path(name)).readWhole(
                    maximumBytes: maximumMarkerBytes),
                let session = SessionRecord(reading: String(decoding: bytes, as: UTF8.self))
            else { continue }
            segments.formUnion(session.segments)
        }
        return segments
    }

    private func report(_ marker: String, _ ordinal: UInt64) throws(LogStoreError) -> Bool {
        guard let file = try claim(marker) else { return false }
        let bytes = try file.readWhole(maximumBytes: Self.maximumMarkerBytes)
        guard let session = SessionRecord(reading: String(decoding: bytes, as: UTF8.self)) else {
            // The program died between making the marker and filling it. Nothing is known of its session.
            try directory.remove(marker)
            return false
        }
        let name = SegmentName(ordinal: ordinal, kind: .crash, application: session.applicationIdentifier)
        let isWritten = directory.has(name, .text) || directory.has(name, .sealed)
        if !isWritten { try write(session, to: name) }
        try directory.remove(marker)
        try directory.sync()
        return !isWritten
    }

    /// Opens and locks a marker that no process holds. `nil` if its program runs, or if the marker is gone.
    private func claim(_ marker: String) throws(LogStoreError) -> OpenFile<LogStoreError>? {
        let lock = try directory.lock()
        defer { lock.release() }
        guard var file = try OpenFile<LogStoreError>.reading(directory.path(marker)), try file.lock() else {
            return nil
        }
        return file
    }

    private func write(_ session: SessionRecord, to name: SegmentName) throws(LogStoreError) {
        let backtrace = Backtraces.read(of: session)
        let reason = CrashReason(
            session, backtrace: backtrace, kernelLines: KernelLog.messages(of: session.process), bootID: bootID)
        try requireKeys(of: session)
        var tail: [[UInt8]] = []
        for ordinal in session.segments.suffix(Self.tailSegments).reversed() {
            let size = tail.reduce(0) { $0 + $1.count }
            guard size < CrashLog.tailBytes else { break }
            let segment = SegmentName(
                ordinal: ordinal, kind: .application, application: session.applicationIdentifier)
            tail = LogTail.lines(of: segment, in: directory, maximumBytes: CrashLog.tailBytes - size) + tail
        }
        let text = CrashLog.text(
            session, reason: reason, backtrace: backtrace, tail: tail, ordinal: name.ordinal,
            now: SystemClock.wallMicroseconds(),
            scrubber: scrubber)
        let partial = name.file(.text) + SegmentName.partialSuffix
        let bytes = try inFormOfStore(text, for: name)
        let target = try OpenFile<LogStoreError>(replacing: directory.path(partial))
        try target.write(bytes)
        try target.sync()
        try directory.rename(partial, to: name.file(.text))
    }
}

extension CrashReporter {
    /// A crash log is encrypted before it is on the disk. Without the key it waits for it, and the marker stays.
    private func inFormOfStore(_ text: [UInt8], for name: SegmentName) throws(LogStoreError) -> [UInt8] {
        guard let keys = directory.keys, keys.isSealing else { return text }
        // Others learn from the state that lines may be encrypted, before there is one.
        try directory.withState { $0.mayBeEncrypted = true }
        let frames = FrameWriter(
            segment: name.ordinal, key: try keys.sealingKey(for: directory.path(name, .text)))
        return try text.withUnsafeBufferPointer { (text) throws(LogStoreError) in
            try frames.seal(UnsafeRawBufferPointer(text)).bytes
        }
    }

    /// Last lines that cannot be read for want of a key would be missing in the crash log for good.
    private func requireKeys(of session: SessionRecord) throws(LogStoreError) {
        guard directory.keys != nil else { return }
        for ordinal in session.segments.suffix(Self.tailSegments) {
            let segment = SegmentName(
                ordinal: ordinal, kind: .application, application: session.applicationIdentifier)
            for part in [SegmentName.Part.text, .sealed] where directory.has(segment, part) {
                let file = try OpenFile<LogStoreError>(reading: directory.path(segment, part))
                let head = try file.read(SealedLogRun.headBytes, at: 0)
                guard FrameReader.isFramed(head), head.count == SealedLogRun.headBytes else { continue }
                let id = try SealedForm.keyID(of: Data(SealedForm.magic + head.dropFirst(4)), path: file.path)
                do { _ = try directory.keys?.key(id, for: file.path) } catch {
                    // A key that is gone for good does not come back.
                    if (error.cause as? EncryptionError)?.code == .keyGone { continue }
                    throw error
                }
            }
        }
    }
}

/// The text of a crash log. Pure.
enum CrashLog {
    /// The most bytes of the session's last lines in a crash log.
    static let tailBytes = 64 * 1024
    /// The most backtrace lines. Together with the tail they stay below the limit of a segment.
    static let backtraceLines = 4000

    /// - Parameters:
    ///   - ordinal: the ordinal of the crash log's segment.
    ///   - tail: whole lines of the session's segments, in order.
    ///   - now: microseconds since 1970. Lines that the session did not write carry this time.
    static func text(
        _ session: SessionRecord, reason: CrashReason, backtrace: String?, tail: [[UInt8]], ordinal: UInt64, now: Int64,
        scrubber: LineScrubber?
    ) -> [UInt8] {
        var text: [UInt8] = []
        var pending = LineText()
        var position: UInt64 = 0
        func add(_ time: Int64, _ level: LogLevel, _ body: UnsafeRawBufferPointer) {
            position += 1
            pending.append(
                time: time, level: level, number: LogNumber(segment: ordinal, position: position), body: body)
            guard pending.isFull else { return }
            text += pending.bytes
            pending.empty()
        }
        func add(_ category: String, _ message: String, _ metadata: [(String, String)] = []) {
            var fields = LineFields(
                category: category, message: message, fields: metadata.map { LineFields.Field(key: $0.0, value: $0.1) })
            scrubber?.scrub(&fields)
            fields.body.withUnsafeBytes { add(now, .error, $0) }
        }
        add(
            "crash", "\(session.application) \(reason.text)",
            [
                ("application", session.application), ("process", "\(session.process)"),
                ("started", Timestamp.text(session.started)),
                ("version", session.version),
            ])
        for line in (backtrace ?? "").split(separator: "\n").prefix(backtraceLines) {
            add("crash.backtrace", String(line))
        }
        // These lines were scrubbed when they were written.
        for line in tail {
            line.withUnsafeBytes { bytes in
                guard let line = LogLine(bytes) else { return }
                add(
                    line.time, line.level,
                    UnsafeRawBufferPointer(rebasing: bytes[line.category.lowerBound..<line.metadata.upperBound]))
            }
        }
        text += pending.bytes
        return text
    }
}

/// Finds the last lines of segments.
enum LogTail {
    /// The last whole lines of a segment, in order, together at most `maximumBytes`. Empty if the segment is gone.
    static func lines(of name: SegmentName, in directory: StoreDirectory, maximumBytes: Int) -> [[UInt8]] {
        // The segment may be sealed between the first and the second attempt.
        return text(of: name, directory, maximumBytes) ?? sealed(name, directory, maximumBytes) ?? []
    }

    private static func text(of name: SegmentName, _ directory: StoreDirectory, _ maximumBytes: Int) -> [[UInt8]]? {
        guard let file = try? OpenFile<LogStoreError>(reading: directory.path(name, .text)),
            let size = try? file.byteCount()
        else {
            return nil
        }
        if let start = try? file.read(SealedForm.magic.count, at: 0), FrameReader.isFramed(start) {
            return framed(name, directory, maximumBytes)
        }
        let start = max(0, size - maximumBytes)
        guard let bytes = try? file.read(size - start, at: start) else { return nil }
        return wholeLines(bytes, isCut: start > 0)
    }

    /// Keeps no more than the last lines of the text in memory.
    private static func framed(_ name: SegmentName, _ directory: StoreDirectory, _ maximumBytes: Int) -> [[UInt8]]? {
        guard let file = try? OpenFile<LogStoreError>(reading: directory.path(name, .text)),
            var reader = try? TextBlockReader(file, of: name, keys: directory.keys)
        else { return nil }
        var tail: [UInt8] = []
        var isCut = false
        while let text = try? reader.next() {
            tail.append(contentsOf: text)
            if tail.count > maximumBytes + LogLimits.blockBytes {
                tail.removeFirst(tail.count - maximumBytes)
                isCut = true
            }
        }
        if tail.count > maximumBytes {
            tail.removeFirst(tail.count - maximumBytes)
            isCut = true
        }
        return wholeLines(tail, isCut: isCut)
    }

    private static func sealed(_ name: SegmentName, _ directory: StoreDirectory, _ maximumBytes: Int) -> [[UInt8]]? {
        guard let index = try? SegmentIndex(name, in: directory),
            let file = try? StoredSegment(name, in: directory, index: index)
        else {
            return nil
        }
        var lines: [[UInt8]] = []
        var count = 0
        for block in index.blocks.reversed() where count < maximumBytes {
            guard let stored = try? file.read(block),
                let text = try? GzipCodec.decompress(stored)
            else { return lines }
            lines = wholeLines(text, isCut: false) + lines
            count += text.count
        }
        while count > maximumBytes, let first = lines.first {
            count -= first.count
            lines.removeFirst()
        }
        return lines
    }

    private static func wholeLines(_ bytes: [UInt8], isCut: Bool) -> [[UInt8]] {
        bytes.withUnsafeBytes { bytes in
            let lines = LineSlices(bytes).filter { $0.last == UInt8(ascii: "\n") }.map { Array($0) }
            return isCut ? Array(lines.dropFirst()) : lines
        }
    }
}

/// Reads what Swift's backtracer writes. With `SWIFT_BACKTRACE=enable=yes,output-to=PATH` it writes the file `PATH`, or
/// `<program>-<process>-<time>.log` if PATH is a directory (Swift project, docs/Backtracing.rst).
enum Backtraces {
    /// Longer backtraces are cut.
    static let maximumBytes = 256 * 1024

    /// The path in `SWIFT_BACKTRACE`; `nil` if backtraces are off or go to a stream.
    static func path(from environment: String?) -> String? {
        var settings: [Substring: Substring] = [:]
        for setting in (environment ?? "").split(separator: ",") {
            let parts = setting.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { settings[parts[0]] = parts[1] }
        }
        guard ["yes", "on", "true", "y", "t", "1", "tty"].contains(settings["enable"] ?? "yes"),
            let path = settings["output-to"],
            path.contains("/")
        else { return nil }
        return String(path)
    }

    /// The newest backtrace of the process that was written since its session started; `nil` if there is none.
    static func read(of session: SessionRecord) -> String? {
        guard let path = session.backtraces else { return nil }
        let names = try? StoreDirectory(path: path).names()
        let candidates =
            names?.filter { $0.contains("-\(session.process)-") && $0.hasSuffix(".log") }.map { "\(path)/\($0)" } ?? [
                path
            ]
        let files = candidates.compactMap { file -> (time: Int64, path: String)? in
            var status = stat()
            guard stat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            let time = Timestamp.microseconds(
                ofSeconds: Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1_000_000_000)
            return time >= session.started ? (time, file) : nil
        }
        return files.max { $0.time < $1.time }.flatMap { contents($0.path) }
    }

    private static func contents(_ path: String) -> String? {
        guard let bytes = try? Files<LogStoreError>.read(path, maximumBytes: maximumBytes), !bytes.isEmpty else {
            return nil
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
