import Glibc
import WireModel

/// Finds sessions that ended without closing, and writes their crash logs. Several processes may look at the same time: the marker's lock says who
/// does it.
struct CrashReporter {
    let directory: StoreDirectory
    let bootID: String?
    let scrubber: LineScrubber?

    /// Segments at the end of a session that are looked at for its last lines.
    private static let tailSegments = 4
    static let maximumMarkerBytes = 1 << 20

    /// - Returns: how many crash logs were written.
    @discardableResult func reportAll() throws(LogStoreError) -> Int {
        var count = 0
        for name in try directory.names() {
            guard let ordinal = SessionMarker.ordinal(of: name), try report(name, ordinal) else { continue }
            count += 1
        }
        return count
    }

    /// Ordinals of the segments that sessions have noted whose markers are there still: of programs that run, or whose end nobody has told yet.
    static func segmentsOfSessions(in directory: StoreDirectory) throws(LogStoreError) -> Set<UInt64> {
        var segments: Set<UInt64> = []
        for name in try directory.names() where SessionMarker.ordinal(of: name) != nil {
            guard let bytes = try? StoreFile(reading: directory.path(name)).readWhole(maximumBytes: maximumMarkerBytes),
                let session = SessionRecord(reading: String(decoding: bytes, as: UTF8.self))
            else { continue }
            segments.formUnion(session.segments)
        }
        return segments
    }

    private func report(_ marker: String, _ ordinal: UInt64) throws(LogStoreError) -> Bool {
        guard let file = try claim(marker) else { return false }
        defer { flock(file.descriptor, LOCK_UN) }
        let bytes = try file.readWhole(maximumBytes: Self.maximumMarkerBytes)
        guard let session = SessionRecord(reading: String(decoding: bytes, as: UTF8.self)) else {
            // Made, and its maker died before he wrote: nothing is known of it.
            try directory.remove(marker)
            return false
        }
        let name = SegmentName(ordinal: ordinal, kind: .crash)
        let isWritten = directory.has(name, .text) || directory.has(name, .sealed)
        if !isWritten { try write(session, to: name) }
        try directory.remove(marker)
        try directory.sync()
        return !isWritten
    }

    /// A marker nobody holds, held; `nil`: its program runs, or it is gone.
    private func claim(_ marker: String) throws(LogStoreError) -> StoreFile? {
        let lock = try StoreLock(directory)
        defer { extendLifetime(lock) }
        do {
            let file = try StoreFile(reading: directory.path(marker))
            return flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 ? consume file : nil
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    private func write(_ session: SessionRecord, to name: SegmentName) throws(LogStoreError) {
        let backtrace = Backtraces.read(of: session)
        let reason = CrashReason(
            session, backtrace: backtrace, kernelLines: KernelLog.messages(of: session.process), bootID: bootID)
        var tail: [[UInt8]] = []
        for ordinal in session.segments.suffix(Self.tailSegments).reversed() {
            let size = tail.reduce(0) { $0 + $1.count }
            guard size < CrashLog.tailBytes else { break }
            tail = LogTail.lines(of: ordinal, in: directory, maximumBytes: CrashLog.tailBytes - size) + tail
        }
        let text = CrashLog.text(
            session, reason: reason, backtrace: backtrace, tail: tail, ordinal: name.ordinal, now: SystemClock.wallMicroseconds(),
            scrubber: scrubber)
        let partial = name.file(.text) + SegmentName.partialSuffix
        let target = try StoreFile(replacing: directory.path(partial))
        try target.write(text)
        try target.sync()
        try directory.rename(partial, to: name.file(.text))
    }
}
