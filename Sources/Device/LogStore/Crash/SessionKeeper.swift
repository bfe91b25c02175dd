import Synchronization

/// This process's session in a store, and those that ended without closing. Safe from any thread; blocks for moments.
final class SessionKeeper: Sendable {
    private struct State: ~Copyable {
        var marker: SessionMarker?
        var hasEnded = false
        var scrubber: LineScrubber?
        /// `nil`: they were looked for.
        var waiters: [@Sendable () -> Void]? = []
    }

    private let record: SessionRecord
    private let directory: StoreDirectory
    private let state: Mutex<State>

    init(_ record: SessionRecord, in directory: StoreDirectory) {
        self.record = record
        self.directory = directory
        state = Mutex(State())
    }

    /// Marks the session. Where the directory cannot be written now, the first segment tries it again.
    func begin() {
        state.withLock { state in
            guard state.marker == nil, !state.hasEnded else { return }
            state.marker = try? SessionMarker(record, in: directory)
        }
    }

    func began(_ segment: SegmentName) {
        begin()
        state.withLock { $0.marker?.began(segment: segment.ordinal) }
    }

    /// It ended as it should.
    func end() {
        state.withLock { state in
            state.hasEnded = true
            state.marker?.close()
            state.marker = nil
        }
    }

    func scrub(with scrubber: LineScrubber?) { state.withLock { $0.scrubber = scrubber } }

    /// Writes the crash logs that are due. What fails is tried again the next time.
    func reportCrashes() {
        let scrubber = state.withLock { $0.scrubber }
        _ = try? CrashReporter(directory: directory, bootID: record.bootID, scrubber: scrubber).reportAll()
        let waiters = state.withLock { state in
            defer { state.waiters = nil }
            return state.waiters ?? []
        }
        for waiter in waiters { waiter() }
    }

    /// Returns when they were looked for once.
    func crashesReported() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                state.waiters?.append { continuation.resume() }
                return state.waiters == nil
            }
            if isOver { continuation.resume() }
        }
    }
}
