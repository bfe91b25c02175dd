import FoundationEssentials
import Encryption
import Glibc
import TelemetryBasics
import WireModel

/// Begins, seals and deletes segments, and cleans up after processes that died. Safe from any thread and process: each
/// step holds the store's `lock`, and whoever writes or seals a segment locks its text.
struct StoreKeeper: Sendable {
    let directory: StoreDirectory
    let maximumBytes: Int
    let ringBytes: Int
    /// The greatest age in microseconds.
    let maximumAge: Int64
    /// Bundle id of the program whose lines go into new segments.
    var application = ""

    /// How many texts are tried when looking for one to continue.
    private static let resumable = 4

    /// Makes a new, locked segment. Makes the directory if it is missing, and removes old segments if the store is over
    /// its limits.
    /// - Parameter losses: added to the state's counts in the same step.
    func begin(_ kind: SegmentName.Kind, counting losses: StoreState.Dropped) throws(LogStoreError) -> ActiveSegment {
        // Before the lock, because a new key is synced.
        let key = try directory.isSealing ? directory.keys?.beginningKey(for: directory.path) : nil
        do { return try beginOnce(kind, key, counting: losses) } catch {
            guard error.code == .notFound else { throw error }
            try directory.make()
            return try beginOnce(kind, key, counting: losses)
        }
    }

    private func beginOnce(
        _ kind: SegmentName.Kind, _ key: DataKey?, counting losses: StoreState.Dropped
    ) throws(LogStoreError) -> ActiveSegment {
        var made: SegmentName?
        do {
            return try directory.withState { (state) throws(LogStoreError) in
                state.count(losses)
                let segments = try survey()
                // The state may be older than the segments after a restore or a power cut. No ordinal may be used
                // twice.
                state.next = max(state.next, (segments.map(\.name.ordinal).max() ?? 0) + 1)
                if key != nil { state.mayBeEncrypted = true }
                retain(segments, &state)
                let segment = try ActiveSegment(
                    making: SegmentName(ordinal: state.next, kind: kind, application: application), in: directory,
                    key: key)
                made = segment.name
                state.next += 1
                return segment
            }
        } catch {
            if let made { try? directory.remove(made.file(.text)) }
            throw error
        }
    }

    /// The newest segment of a kind and of the application that can be continued and that nobody holds. It is locked.
    /// Also returns the position of its last line.
    func resume(_ kind: SegmentName.Kind, maximumBytes: Int) throws(LogStoreError) -> (
        segment: ActiveSegment, position: UInt64
    )? {
        let key = try directory.isSealing ? directory.keys?.sealingKey(for: directory.path) : nil
        return try directory.withState { (state) throws(LogStoreError) in
            let left = try CrashReporter.segmentsOfSessions(in: directory)
            let texts = try directory.segments().filter {
                $0.value == [.text] && $0.key.kind == kind && $0.key.application == application
                    && !left.contains($0.key.ordinal)
            }
            for name in texts.keys.sorted(by: >).prefix(Self.resumable) {
                if let resumed = try ActiveSegment.resume(name, in: directory, maximumBytes: maximumBytes, key: key) {
                    return resumed
                }
            }
            return nil
        }
    }

    /// Adds to the state's counts of lost lines.
    func count(_ losses: StoreState.Dropped) throws(LogStoreError) {
        guard !losses.isEmpty else { return }
        try directory.withState { $0.count(losses) }
    }

    /// Removes segments that exceed the limits.
    func retain() throws(LogStoreError) {
        try directory.withState { (state) throws(LogStoreError) in retain(try survey(), &state) }
    }

    private func retain(_ segments: [RetentionPlan.Segment], _ state: inout StoreState) {
        let limits = RetentionPlan.Limits(
            bytes: maximumBytes, ringBytes: ringBytes, oldest: SystemClock.wallMicroseconds() - maximumAge)
        let plan = RetentionPlan(segments, limits: limits) { name in
            (try? SegmentIndex(name, in: directory))?.whole.times.upperBound
        }
        for victim in plan.victims {
            state.count(lines(of: victim.name), as: victim.reason)
            state.removing.append(victim.name)
        }
    }

    /// Bytes that each segment's files occupy on disk. Counted in file system blocks, because small segments take more
    /// than they hold.
    func sizes() throws(LogStoreError) -> [SegmentName: Int] { try sizes(of: directory.segments()) }

    private static let diskBlockBytes = 4096

    private func sizes(of segments: [SegmentName: Set<SegmentName.Part>]) -> [SegmentName: Int] {
        var sizes: [SegmentName: Int] = [:]
        for (name, parts) in segments {
            for part in parts {
                var status = stat()
                guard stat(directory.path(name, part), &status) == 0 else { continue }
                sizes[name, default: 0] +=
                    (Int(status.st_size) + Self.diskBlockBytes - 1) / Self.diskBlockBytes * Self.diskBlockBytes
            }
        }
        return sizes
    }

    /// Call it under `lock`.
    private func survey() throws(LogStoreError) -> [RetentionPlan.Segment] {
        let segments = try directory.segments()
        return sizes(of: segments).map { name, bytes in
            let isWritten = segments[name]?.contains(.text) == true && (try? Claim(name, in: directory)) == nil
            return RetentionPlan.Segment(name: name, bytes: bytes, isClosed: !isWritten)
        }
    }

    /// The segment's lines by level, taken from its index or, without one, from its lines.
    private func lines(of name: SegmentName) -> LogLevelCounts {
        if let index = try? SegmentIndex(name, in: directory) { return LogLevelCounts(index.whole.levelCounts) }
        var tally = LineTally()
        if let file = try? OpenFile<LogStoreError>(reading: directory.path(name, .text)),
            var reader = try? TextBlockReader(file, of: name, keys: directory.keys)
        {
            while let text = try? reader.next() { tally.add(text: text) }
        } else if let rebuilder = try? SegmentIndexRebuilder(name, in: directory, epoch: .random()),
            let index = try? rebuilder.index()
        {
            return LogLevelCounts(index.whole.levelCounts)
        }
        return LogLevelCounts(tally.levelCounts)
    }

    /// Removes every segment, counted as deleted. Segments being written are removed too; their writers count the lines
    /// that they lose when they notice it.
    func eraseAll() throws(LogStoreError) {
        try directory.withState { (state) throws(LogStoreError) in
            for (name, parts) in try directory.segments() {
                let isWritten = parts.contains(.text) && (try? Claim(name, in: directory)) == nil
                if !isWritten { state.count(lines(of: name), as: .deleted) }
                state.removing.append(name)
            }
        }
    }

    // MARK: - Sealing

    /// Seals every segment that nobody writes any more, oldest first, and then removes those over the limits.
    ///
    /// - Parameters:
    ///   - atLowPriority: compresses on a thread of low priority, for which this one waits. A busy machine may give it
    ///     no turn for minutes.
    ///   - goesOn: asked before each segment.
    /// - Throws: what stopped it. The next call continues.
    func sealAll(atLowPriority: Bool, while goesOn: () -> Bool = { true }) throws(LogStoreError) {
        try tidy()
        var done: UInt64 = 0
        while goesOn(), let claim = try claim(after: done) {
            done = claim.name.ordinal
            do { try seal(claim, atLowPriority: atLowPriority) } catch {
                // What is damaged stays as it is, and what waits for its key waits. Others need not.
                guard error.code == .damaged || error.code == .locked else { throw error }
            }
        }
        try retain()
        // A stop need not wait for that; the next start goes on.
        if atLowPriority { try convertAll(while: goesOn) }
    }

    /// Encrypts sealed segments that are plain, or the reverse, and lets go of keys that nothing names any more.
    private func convertAll(while goesOn: () -> Bool) throws(LogStoreError) {
        guard let keys = directory.keys else { return }
        let converter = SegmentConverter(directory: directory)
        for name in try directory.segments().filter({ $0.value == [.sealed, .index] }).keys.sorted() {
            guard goesOn() else { return }
            do {
                guard try converter.mayBeDue(name) else { continue }
                try BackgroundThread.atLowPriority { @Sendable [directory] () throws(LogStoreError) in
                    _ = try SegmentConverter(directory: directory).convert(name)
                }
            } catch {
                switch error.code {
                case .damaged, .newer, .notFound, .locked: continue
                default: throw error
                }
            }
        }
        // Without knowing all names no key is let go of.
        guard keys.hasSeveral else { return }
        keys.retire(allBut: try directory.keyIDs())
    }

    private func seal(_ claim: borrowing Claim, atLowPriority: Bool) throws(LogStoreError) {
        let epoch = try directory.withState { $0.epoch }
        let work = { @Sendable [directory, name = claim.name] () throws(LogStoreError) in
            try SegmentSealer().seal(name, in: directory, epoch: epoch)
        }
        let outcome = try atLowPriority ? BackgroundThread.atLowPriority(work) : work()
        guard outcome.tornBytes > 0 else { return }
        var torn = LogLevelCounts()
        torn[outcome.isEncrypted ? .verbose : claim.level(ofLast: outcome.tornBytes)] = 1
        try count([.torn: torn])
    }

    private func claim(after ordinal: UInt64) throws(LogStoreError) -> Claim? {
        let lock = try directory.lock()
        defer { lock.release() }
        let names = try directory.segments().filter { $0.value.contains(.text) && $0.key.ordinal > ordinal }.keys
            .sorted()
        for name in names {
            if let claim = try Claim(name, in: directory) { return claim }
        }
        return nil
    }

    /// Removes unfinished files of processes that died.
    private func tidy() throws(LogStoreError) {
        let lock = try directory.lock()
        defer { lock.release() }
        for file in try directory.names() where file.hasSuffix(SegmentName.partialSuffix) {
            if let (name, _) = SegmentName.read(String(file.dropLast(SegmentName.partialSuffix.count))),
                directory.has(name, .text), try Claim(name, in: directory) == nil
            {
                continue
            }
            try directory.remove(file)
        }
    }

    /// The lock on a segment's text while it is being sealed.
    private struct Claim: ~Copyable {
        let name: SegmentName
        private let file: OpenFile<LogStoreError>

        /// Call it under the store's `lock`. `nil` if another process holds the text, or if the text is gone.
        init?(_ name: SegmentName, in directory: StoreDirectory) throws(LogStoreError) {
            let path = directory.path(name, .text)
            guard var file = try OpenFile<LogStoreError>.reading(path), try file.lock() else { return nil }
            self.name = name
            self.file = file
        }

        /// The level of an incomplete line; verbose if even the level is missing.
        func level(ofLast bytes: Int) -> LogLevel {
            guard bytes > LogLine.levelOffset, let size = try? file.byteCount(),
                let letter = try? file.read(1, at: size - bytes + LogLine.levelOffset).first
            else { return .verbose }
            return LogLevel(letter: letter) ?? .verbose
        }
    }
}

/// Decides which segments must go: the oldest first, and never one that is being written.
struct RetentionPlan: Equatable, Sendable {
    struct Segment: Equatable, Sendable {
        var name: SegmentName
        /// Bytes of all its files.
        var bytes: Int
        /// Nobody writes or seals the segment.
        var isClosed: Bool
    }

    struct Limits: Equatable, Sendable {
        /// Limit of all segments but the ring's.
        var bytes: Int
        var ringBytes: Int
        /// Segments whose last line is older than this must go, in microseconds since 1970.
        var oldest: Int64
    }

    struct Victim: Equatable, Sendable {
        var name: SegmentName
        var reason: LogDropReason
    }

    private(set) var victims: [Victim] = []

    /// - Parameters:
    ///   - segments: in any order.
    ///   - lastTime: the time of a segment's last line; `nil` if unknown. Called only until the first segment that is
    ///     young enough.
    init(_ segments: [Segment], limits: Limits, lastTime: (SegmentName) -> Int64?) {
        for (isRing, cap) in [(false, limits.bytes), (true, limits.ringBytes)] {
            let ours = segments.filter { ($0.name.kind == .ring) == isRing }.sorted { $0.name < $1.name }
            var total = ours.reduce(0) { $0 + $1.bytes }
            var mayBeOld = true
            for segment in ours where segment.isClosed {
                if mayBeOld, let last = lastTime(segment.name), last < limits.oldest {
                    victims.append(Victim(name: segment.name, reason: .ageCap))
                } else {
                    mayBeOld = false
                    guard total > cap else { break }
                    victims.append(Victim(name: segment.name, reason: .sizeCap))
                }
                total -= segment.bytes
            }
        }
    }
}

/// Deletes sealed segments that somebody selected. They are counted as `deleted` in the same step.
package struct SegmentDeletion: Sendable {
    package let directory: StoreDirectory
    /// Sorted by ordinal.
    package let segments: [StoreSnapshot.Segment]

    /// Selects the sealed segments of a snapshot whose lines all lie within a time span.
    /// - Parameters:
    ///   - since: microseconds since 1970; `nil` for the beginning.
    ///   - until: before this time; `nil` for the end.
    package init(_ snapshot: StoreSnapshot, since: Int64?, until: Int64?) {
        directory = snapshot.directory
        segments = snapshot.segments.filter { segment in
            segment.isSealed && segment.index.whole.times.lowerBound >= since ?? .min
                && segment.index.whole.times.upperBound < until ?? .max
        }
    }

    /// - Returns: the deleted lines by level. Lines that were gone already are not counted.
    package func perform() throws(LogStoreError) -> LogLevelCounts {
        try directory.withState { (state) throws(LogStoreError) in
            var deleted = LogLevelCounts()
            for segment in segments where directory.has(segment.name, .sealed) {
                deleted += LogLevelCounts(segment.index.whole.levelCounts)
                state.removing.append(segment.name)
            }
            state.count(deleted, as: .deleted)
            return deleted
        }
    }
}
