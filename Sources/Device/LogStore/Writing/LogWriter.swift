import DeviceTunables
import Glibc
import Synchronization
import TelemetryBasics
import WireModel

/// Accepts lines from any thread and writes them to disk.
///
/// There are two locks. The callers' lock (`waiting`) guards the lines in memory and is held only while one line is
/// copied. The writer's lock (`output`) guards the segments and is held during writes, by the background thread or by a
/// caller that logs an error or flushes. So a slow disk stops only these. Waiting lines are removed under both locks,
/// so they are written in the order in which they came.
///
/// Sealing and retention run on a second thread, which exists only while there is work. Its priority is not lowered,
/// because it holds the store's lock now and then: on a busy machine a thread of low priority could hold it for
/// seconds, and all writers would wait. It compresses on a third thread, of low priority, without the lock.
final class LogWriter: Sendable {
    struct Settings: Sendable {
        /// 0: every call writes its own line.
        var flushMilliseconds: Int64
        var segmentBytes: Int
        var ringSegmentBytes: Int
        var segmentAgeMilliseconds: Int64
        var waiting: WaitingLimits
    }

    private struct Output {
        let application: SegmentStream
        let ring: SegmentStream
        var losses = LossLedger()
        var spare = LineBuffer()
        /// The number of lines handed on since the start.
        var done: UInt64 = 0
        /// Milliseconds since boot.
        var lastNote = Int64.min / 2
        var lastSave = Int64.min / 2
        /// The segments are closed, and no new one is begun.
        var isClosed = false
        /// Why the key for the next segment is not at hand; then lines wait in memory.
        var obstacle: LogStoreError?
        /// When the key is asked for again. Milliseconds since boot.
        var nextAttempt = Int64.min
    }

    private enum Maintenance { case none, running, runningAndWanted }

    /// Milliseconds between two attempts to get a key that was not at hand.
    private static let keyMilliseconds: Int64 = 1000

    let settings: Settings
    private let keeper: StoreKeeper
    private let waiting: ShortLock<WaitingLines>
    private let output: Mutex<Output>
    private let wakeUp = WakeUp()
    private let maintenance = Mutex(Maintenance.none)
    private let isStopping = Atomic(false)
    private let session: SessionKeeper
    /// Serializes sealing. A stop that seals waits for the sealing under way. True once a stop has sealed.
    private let sealing = Mutex(false)
    private let stopped = Mutex<[@Sendable () -> Void]?>([])

    init(_ settings: Settings, keeper: StoreKeeper, session: SessionKeeper) {
        self.settings = settings
        self.keeper = keeper
        self.session = session
        waiting = ShortLock(WaitingLines(limits: settings.waiting))
        output = Mutex(
            Output(
                application: SegmentStream(.application, maximumBytes: settings.segmentBytes, keeper: keeper) {
                    session.began($0)
                },
                ring: SegmentStream(.ring, maximumBytes: settings.ringSegmentBytes, keeper: keeper)))
    }

    /// - Throws: `.io` if the system has no room for another thread.
    func start() throws(LogStoreError) {
        guard BackgroundThread.start("ws1-log", { self.run() }) else {
            throw LogStoreError(
                .io, "There is no room for the thread of the log store. Raise the limit of processes (ulimit -u).")
        }
        session.begin()
        maintain()
    }

    // MARK: - Callers

    /// Accepts a line; see `LineBuffer.append`. When the call returns, a line at level error is with the kernel or
    /// counted as lost.
    func append(
        time: Int64, level: LogLevel, isRing: Bool, category: UnsafeBufferPointer<UInt8>,
        message: UnsafeBufferPointer<UInt8>?
    ) {
        let admission = waiting.withLock {
            $0.add(time: time, level: level, isRing: isRing, category: category, message: message)
        }
        switch admission {
        case .refused: break
        case .taken(let ticket), .takenFirst(let ticket):
            if level == .error || settings.flushMilliseconds == 0 {
                drain(through: ticket)
            } else if case .takenFirst = admission {
                wakeUp.wake()
            }
        }
    }

    /// Writes lines behind everything accepted so far. When the call returns, they are with the kernel or counted as
    /// lost.
    /// - Returns: the number of each kind that the kernel has, and why others are missing.
    func deliver(_ buffer: LineBuffer) -> (application: UInt64, ring: UInt64, failure: LogStoreError?) {
        drain(through: .max)
        defer {
            // The thread must watch the age of the segment that begins now.
            wakeUp.wake()
        }
        return output.withLock { output in
            guard !output.isClosed else {
                output.losses.count(buffer.counts, as: .overload)
                return (0, 0, nil)
            }
            if let obstacle = output.obstacle {
                output.losses.count(buffer.counts, as: .unwritable)
                return (0, 0, obstacle)
            }
            let written = write(buffer, &output)
            return (written.application, written.ring, output.losses.failure)
        }
    }

    /// When the call returns, every line accepted before is with the kernel or counted as lost.
    func flush() { drain(through: .max) }

    /// Closes segments whose files were removed. The file system frees their blocks only then.
    func letGoOfRemoved() {
        output.withLock { output in
            output.application.beginTurn(&output.losses)
            output.ring.beginTurn(&output.losses)
        }
    }

    /// The figures of lines written and lost since the start, and of those that wait.
    struct Figures: Sendable {
        var written: LogLevelCounts
        var unsaved: StoreState.Dropped
        var waiting: LogLevelCounts
        var waitingBytes: Int
        var failure: LogStoreError?
    }

    func figures() -> Figures {
        output.withLock { output in
            var written = output.application.written
            written += output.ring.written
            return waiting.withLock { waiting in
                var losses = output.losses
                losses.count(waiting.refused, as: .overload)
                return Figures(
                    written: written, unsaved: losses.unsaved, waiting: waiting.buffer.counts,
                    waitingBytes: waiting.buffer.count, failure: output.obstacle ?? losses.failure)
            }
        }
    }

    /// Writes waiting lines and ends the thread. Later lines are refused.
    /// - Parameters:
    ///   - sealing: whether to seal the segments now. Otherwise the next program that opens the store seals them.
    ///   - completion: called on the thread when all is done.
    func stop(sealing: Bool, completion: @escaping @Sendable () -> Void = {}) {
        waiting.withLock { $0.close() }
        let isOver = stopped.withLock { waiters in
            guard waiters != nil else { return true }
            if sealing { waiters?.append { [self] in sealAll(isLast: true) } }
            waiters?.append(completion)
            return false
        }
        if isOver { return completion() }
        isStopping.store(true, ordering: .releasing)
        wakeUp.wake()
    }

    // MARK: - The thread

    private func run() {
        var isIdle = true
        var lastMaintenance = SystemClock.bootMilliseconds()
        while true {
            let isWoken = wakeUp.wait(milliseconds: isIdle ? idleMilliseconds() : pauseMilliseconds())
            let isLast = isStopping.load(ordering: .acquiring)
            if isIdle, isWoken, !isLast {
                // The first line after a pause may wait for more lines.
                isIdle = false
                if waiting.withLock({ $0.buffer.count < Tunables.Logs.urgentBytes }) { continue }
            }
            drain(through: .max, isLast: isLast)
            let now = SystemClock.bootMilliseconds()
            let wantsSealing = output.withLock { housekeep(&$0, now: now, isLast: isLast) }
            if isLast { break }
            if wantsSealing || now - lastMaintenance >= Tunables.Logs.maintenanceMilliseconds {
                lastMaintenance = now
                maintain()
            }
            isIdle = waiting.withLock { waiting in
                waiting.isWriterIdle = waiting.buffer.count == 0
                return waiting.isWriterIdle
            }
        }
        let waiters = stopped.withLock { waiters in
            defer { waiters = nil }
            return waiters ?? []
        }
        // The session must have ended before waiting callers continue.
        session.end()
        for waiter in waiters { waiter() }
    }

    private func pauseMilliseconds() -> Int64 {
        let isHeldUp = output.withLock { $0.obstacle != nil }
        return isHeldUp ? max(settings.flushMilliseconds, Self.keyMilliseconds) : settings.flushMilliseconds
    }

    private func idleMilliseconds() -> Int64 {
        let began = output.withLock { [$0.application.oldestLine, $0.ring.oldestLine].compactMap { $0 }.min() }
        let due = began.map { $0 + settings.segmentAgeMilliseconds - SystemClock.bootMilliseconds() } ?? .max
        return min(max(due, 1), Tunables.Logs.maintenanceMilliseconds)
    }

    /// Lines stay in memory while their key is not at hand; those that do not fit are counted.
    /// - Parameter isLast: lines that cannot be written now are lost, because the store ends.
    private func drain(through ticket: UInt64, isLast: Bool = false) {
        output.withLock { output in
            if output.done >= ticket { return }
            guard hasKey(&output) || isLast else {
                let refused = waiting.withLock { $0.takeRefused() }
                return output.losses.count(refused, as: .overload)
            }
            let (buffer, taken, refused) = waiting.withLock { $0.drain(for: output.spare) }
            output.losses.count(refused, as: .overload)
            write(buffer, &output)
            buffer.empty()
            output.spare = buffer
            output.done = taken
        }
    }

    /// Asks for a key before lines are taken out of memory, because a turn may begin a segment anywhere. A turn that
    /// began is written with the keys of its beginning, so lines are not lost to a lock in between.
    private func hasKey(_ output: inout Output) -> Bool {
        guard keeper.directory.isSealing, let keys = keeper.directory.keys else { return true }
        let now = SystemClock.bootMilliseconds()
        if output.obstacle != nil, now < output.nextAttempt { return false }
        do {
            try keys.prepare(for: keeper.directory.path)
            output.obstacle = nil
            return true
        } catch {
            output.obstacle = error
            output.nextAttempt = now + Self.keyMilliseconds
            return false
        }
    }

    /// The key may be at hand now: waiting lines are written, and sealing goes on.
    func keysAvailable() {
        output.withLock { $0.nextAttempt = .min }
        wakeUp.wake()
        maintain()
    }

    /// - Returns: the number of these lines that the kernel has.
    @discardableResult
    private func write(_ buffer: LineBuffer, _ output: inout Output) -> (application: UInt64, ring: UInt64) {
        if buffer.count == 0, output.losses.note == nil { return (0, 0) }
        output.application.beginTurn(&output.losses)
        output.ring.beginTurn(&output.losses)
        report(&output)
        let before = (application: output.application.written.total, ring: output.ring.written.total)
        var losses = output.losses
        buffer.forEach { line in
            (line.isRing ? output.ring : output.application).append(
                time: line.time, level: line.level, body: line.body, &losses)
        }
        let isWhole = output.application.flush(&losses)
        if output.ring.flush(&losses), isWhole, buffer.count > 0 { losses.failure = nil }
        output.losses = losses
        return (output.application.written.total - before.application, output.ring.written.total - before.ring)
    }

    /// Logs what was lost, once there is room for the line.
    private func report(_ output: inout Output) {
        let now = SystemClock.bootMilliseconds()
        guard now - output.lastNote >= Tunables.Logs.lossLineMilliseconds, let note = output.losses.note else { return }
        // If this line cannot be written, it is not counted as lost itself.
        var attempt = output.losses
        note.withUnsafeBytes { note in
            output.application.append(time: SystemClock.wallMicroseconds(), level: .warning, body: note, &attempt)
        }
        guard output.application.flush(&attempt) else { return }
        output.losses = attempt
        output.losses.reported()
        output.lastNote = now
    }

    /// - Returns: whether there is a segment to seal.
    private func housekeep(_ output: inout Output, now: Int64, isLast: Bool) -> Bool {
        output.isClosed = isLast
        for stream in [output.application, output.ring] {
            stream.retire(ifBegunBefore: isLast ? nil : now - settings.segmentAgeMilliseconds)
        }
        if !output.losses.unsaved.isEmpty, isLast || now - output.lastSave >= Tunables.Logs.lossSaveMilliseconds {
            output.lastSave = now
            if (try? keeper.count(output.losses.unsaved)) != nil { output.losses.saved() }
        }
        defer {
            output.application.hasRetired = false
            output.ring.hasRetired = false
        }
        return output.application.hasRetired || output.ring.hasRetired
    }

    // MARK: - Sealing and retention

    /// Starts sealing and retention on a thread of their own.
    private func maintain() {
        let mustStart = maintenance.withLock { state in
            defer { state = state == .none ? .running : .runningAndWanted }
            return state == .none
        }
        guard mustStart else { return }
        let hasStarted = BackgroundThread.start("ws1-log-seal") { [self] in
            repeat { sealAll() } while goesOn()
        }
        if !hasStarted { maintenance.withLock { $0 = .none } }
    }

    private func goesOn() -> Bool {
        maintenance.withLock { state in
            state = state == .runningAndWanted && !isStopping.load(ordering: .acquiring) ? .running : .none
            return state == .running
        }
    }

    private func sealAll(isLast: Bool = false) {
        // A segment that cannot be sealed stays readable. The next segment, or the next hour, tries again.
        sealing.withLock { isOver in
            // The thread may get its turn only after the store was closed, and another may be open by then. It must not
            // take a segment away from that one's sealing.
            guard !isOver else { return }
            isOver = isLast
            // Crash logs are segments too, so a stop that seals waits for them.
            session.reportCrashes()
            // A stop waits for the segment under way, and seals the others itself.
            try? keeper.sealAll(atLowPriority: !isLast) { isLast || !isStopping.load(ordering: .acquiring) }
        }
    }
}
