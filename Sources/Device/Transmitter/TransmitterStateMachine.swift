import DeviceTunables
import WireModel

/// Decides what the transmitter sends next and what follows from an answer. It has no clock, socket or queue; times are
/// microseconds since boot, including suspend.
///
/// Each stream has a ``StreamState`` and a limit for its next part. The limit is halved after a 413, a refusal or a
/// 5xx, down to one record, and doubled by each success. The single record of a suspected stream is quarantined after
/// ten minutes in which other streams pass. The answer's status and origin do not matter (`RefusalEvidence` says why).
/// At most one record is quarantined per hour. If nothing passes at all it is an outage, and nothing is quarantined.
///
/// A collector that rejects one record for good counts it as rejected and moves its mark past it, which the chain
/// confirms. So the part outcomes `too-large` and `damaged` mean no more than a 413.
struct TransmitterStateMachine: Sendable {
    /// A part that was sent.
    struct Sent: Equatable, Sendable {
        var stream: StreamName
        var records: Int
        /// The last number. It is that of the record if there is only one.
        var last: UInt64 = 0
    }

    /// The result for one part.
    enum PartVerdict: Equatable, Sendable {
        /// The queue removed records, or the collector already had all of them.
        case progressed
        /// The part was too large or damaged. Send less of this stream. If one record is left, it waits and may be
        /// quarantined.
        case refused(String)
        /// The collector could not decide now: a 5xx for this part alone.
        case unavailable(String)
        /// The histories diverged. The queue sends no more of this epoch, and a new one begins before the next batch.
        case diverged(String)
        /// The answer changed nothing.
        case unchanged
    }

    enum Verdict: Equatable, Sendable {
        case decided([StreamName: PartVerdict])
        case tooLarge(String)
        case refused(String)
        /// Nobody answered, or the answer asks for a slower pace. It says nothing about the parts.
        case retry(after: Duration?, String)
        /// The collector answered 5xx.
        case failed(after: Duration?, String)
        case credentialRefused(String)
        case forbidden(String)
        case incompatible(String)
        case otherCollector(String)
    }

    enum Action: Equatable, Sendable {
        /// Check at once whether more is due.
        case goOn
        /// Wait at least this long, then try again. The text says why.
        case retry(after: Duration, String)
        /// Quarantine the stream's first record, then continue.
        case quarantine(StreamName, String)
        /// Enroll again, with the old credential.
        case enrollAgain
        /// Stop sending until something outside changes. Check again after this long.
        case hold(String, lookAgain: Duration)
    }

    private struct Limit {
        var bytes: Int
        var records = Int.max
    }

    /// How a stream is sent.
    private enum StreamState {
        /// Sent together with the others. -> isolated, suspected
        case flowing
        /// Sent alone after a request with several streams was refused or failed, until it has its own answer or
        /// nothing is due in it. -> flowing, suspected
        case isolated
        /// Sent alone with its own backoff, so the others continue: it failed alone, or its single record was refused.
        /// -> flowing
        case suspected(Suspicion)

        var suspicion: Suspicion? { if case .suspected(let suspicion) = self { suspicion } else { nil } }
    }

    /// The evidence against a suspected stream.
    private struct Suspicion {
        var failures = 0
        /// The stream is not tried earlier.
        var notBefore: UInt64 = 0
        /// Evidence against its first record: the refusals of requests in which the record was alone.
        var evidence = RefusalEvidence()
        /// The number of that record. Another record may take its place, because a limit drops records at the front.
        var suspect: UInt64 = 0
        var why = ""
    }

    /// The pause after the collector rejected this device.
    static let forbiddenPolicy = RetryPolicy(
        base: Tunables.Retry.firstForbiddenWindow, cap: Tunables.Retry.longestForbiddenWindow)

    /// The pause after trouble of this device's own disk.
    static let localPolicy = RetryPolicy(cap: Tunables.Retry.longestLocalWindow)

    private let partBytes: Int
    private let policy = RetryPolicy()
    private var limits: [StreamName: Limit]
    /// A stream without an entry is flowing.
    private var states: [StreamName: StreamState] = [:]
    private var enrolledAgain = false
    /// Consecutive 403 answers.
    private var forbiddenInRow = 0
    /// Consecutive failures of this device's own disk.
    private var localFailures = 0
    /// Consecutive failures without any progress.
    private(set) var failures = 0

    init(partBytes: Int = WireLimits.partBytes) {
        self.partBytes = partBytes
        limits = Dictionary(uniqueKeysWithValues: StreamName.allCases.map { ($0, Limit(bytes: partBytes)) })
    }

    /// Returns what the next request may hold.
    func plan(at now: UInt64) -> TransmitPlan {
        let eligible = StreamName.allCases.filter { (states[$0]?.suspicion?.notBefore ?? 0) <= now }
        let alone = eligible.filter { stream in
            switch states[stream] {
            case .flowing, nil: false
            case .isolated, .suspected: true
            }
        }
        return TransmitPlan(alone: alone, together: eligible.filter { !alone.contains($0) }) { stream in
            let limit = limits[stream] ?? Limit(bytes: partBytes)
            return TransmitPlan.Part(stream: stream, maximumBytes: limit.bytes, maximumRecords: limit.records)
        }
    }

    /// When a suspected stream may next be tried, and why it waits; `nil` if none waits. A stream whose time has come
    /// is in the plan. If it is not sent, that has other reasons.
    func nextProbe(after now: UInt64) -> (at: UInt64, why: String)? {
        states.values.compactMap(\.suspicion).filter { $0.notBefore > now }.min { $0.notBefore < $1.notBefore }
            .map { ($0.notBefore, $0.why) }
    }

    /// Whether the stream may still have records after a pass found nothing more to send.
    func holdsBack(_ stream: StreamName) -> Bool { states[stream]?.suspicion != nil }

    /// Streams whose first record alone is not accepted. After more than one refusal, a passing record of another
    /// stream would distinguish a bad record from an outage.
    var blocked: [StreamName: TransmitterStatus.Blocked] {
        states.compactMapValues(\.suspicion).filter { $0.value.evidence.refusals > 0 }
            .mapValues { TransmitterStatus.Blocked(why: $0.why, refusals: $0.evidence.refusals) }
    }

    /// Nothing is due in these streams of the plan, so they need no isolation.
    mutating func foundNothing(in streams: [StreamName]) {
        for stream in streams { if case .isolated = states[stream] { states[stream] = .flowing } }
    }

    /// A new epoch began, or the queue was emptied. Knowledge about the records at the front is obsolete.
    mutating func epochBegan() {
        states = [:]
        for stream in limits.keys { limits[stream] = Limit(bytes: partBytes) }
    }

    /// The device now uses another credential than the refused one.
    mutating func credentialChanged() { enrolledAgain = false }

    /// A request was answered or failed.
    /// - Parameters:
    ///   - mayQuarantine: whether an hour has passed since the last quarantined record.
    ///   - roll: random, 0 up to 1.
    mutating func settled(_ sent: [Sent], _ verdict: Verdict, mayQuarantine: Bool, now: UInt64, roll: Double)
        -> Action
    {
        if case .forbidden = verdict { forbiddenInRow += 1 } else { forbiddenInRow = 0 }
        switch verdict {
        case .decided(let parts): return decided(sent, parts, mayQuarantine: mayQuarantine, now: now, roll: roll)
        case .tooLarge(let why), .refused(let why):
            return refusedWhole(sent, why, mayQuarantine: mayQuarantine, now: now, roll: roll)
        case .retry(let after, let why): return backOff(after, why, roll: roll)
        case .failed(let after, let why):
            return failedWhole(sent, after, why, mayQuarantine: mayQuarantine, now: now, roll: roll)
        case .credentialRefused(let why):
            guard !enrolledAgain else { return hold("refused again after a new enrollment: \(why)") }
            enrolledAgain = true
            return .enrollAgain
        case .forbidden(let why):
            return .hold(
                """
                the collector refuses this device: \(why.hasSuffix(".") ? why : why + ".") If it was revoked, an \
                administrator can reinstate it there. The device tries again by itself, and at once after `ws1agent \
                beacon`
                """,
                lookAgain: Self.forbiddenPolicy.delay(
                    failures: forbiddenInRow, roll: RetryPolicy.upperHalf(roll), retryAfter: nil))
        case .incompatible(let why), .otherCollector(let why): return hold(why)
        }
    }

    /// Enrolling failed for a temporary reason. A refused credential may still enroll again once, because nobody has
    /// decided about it.
    mutating func enrollmentFailed(after: Duration?, _ why: String, roll: Double) -> Action {
        enrolledAgain = false
        return backOff(after, why, roll: roll)
    }

    /// Reading or writing on this device failed. The collector is not to blame, so its backoff does not grow. The parts
    /// become small, because an answer that could not be recorded makes the device send the same part again.
    mutating func localFailed(_ why: String, roll: Double) -> Action { .retry(after: localPause(roll: roll), why) }

    /// Counts a failure like `localFailed`.
    /// - Returns: how long to wait.
    mutating func localPause(roll: Double) -> Duration {
        localFailures += 1
        for stream in limits.keys { limits[stream]?.bytes = min(Tunables.Transmission.leastPartBytes, partBytes) }
        return Self.localPolicy.delay(failures: localFailures, roll: RetryPolicy.upperHalf(roll), retryAfter: nil)
    }

    /// There is no token to enroll with, or it was refused.
    func enrollmentRefused(_ why: String) -> Action { hold(why) }
}

// MARK: - Answers

extension TransmitterStateMachine {
    private mutating func decided(
        _ sent: [Sent], _ parts: [StreamName: PartVerdict], mayQuarantine: Bool, now: UInt64, roll: Double
    ) -> Action {
        for part in sent where parts[part.stream] == .progressed { progressed(part.stream, now: now) }
        var moved = sent.contains { parts[$0.stream] == .progressed }
        var failing: [(part: Sent, why: String)] = []
        for part in sent {
            switch parts[part.stream] ?? .unchanged {
            case .progressed, .unchanged: break
            case .refused where part.records > 1:
                moved = true
                halve(part)
            case .refused(let why), .unavailable(let why): failing.append((part, why))
            case .diverged: moved = true
            }
        }
        if !moved, let first = failing.first {
            return failedWhole(failing.map(\.part), nil, first.why, mayQuarantine: mayQuarantine, now: now, roll: roll)
        }
        var quarantine: Action?
        for (part, why) in failing
        where suspect(part, nil, why, mayQuarantine: mayQuarantine && quarantine == nil, now: now, roll: roll) {
            quarantine = .quarantine(part.stream, why)
        }
        if let quarantine { return quarantine }
        if moved { return .goOn }
        return backOff(nil, "the answer changed nothing", roll: roll)
    }

    private mutating func progressed(_ stream: StreamName, now: UInt64) {
        // The collector is back, so nothing needs to wait for it. A stream that fails again alone will be found out by
        // that.
        if failures > 0 { changeSuspicions { $0.notBefore = min($0.notBefore, now) } }
        failures = 0
        localFailures = 0
        enrolledAgain = false
        states[stream] = .flowing
        changeSuspicions { $0.evidence.otherPassed() }
        widen(stream)
    }

    private mutating func changeSuspicions(_ change: (inout Suspicion) -> Void) {
        for (stream, state) in states {
            guard var suspicion = state.suspicion else { continue }
            change(&suspicion)
            states[stream] = .suspected(suspicion)
        }
    }

    private mutating func isolate(_ sent: [Sent]) { for part in sent { states[part.stream] = .isolated } }

    /// The request's form or size was refused. With several records it is cut down at once. A single record becomes
    /// suspected, as after a 5xx.
    private mutating func refusedWhole(_ sent: [Sent], _ why: String, mayQuarantine: Bool, now: UInt64, roll: Double)
        -> Action
    {
        guard let only = sent.first else { return backOff(nil, why, roll: roll) }
        guard sent.count == 1 else {
            isolate(sent)
            return .goOn
        }
        guard only.records <= 1 else {
            halve(only)
            return .goOn
        }
        return failedWhole(sent, nil, why, mayQuarantine: mayQuarantine, now: now, roll: roll)
    }

    /// A 5xx may be the collector's fault, or be caused by one of the sent records.
    private mutating func failedWhole(
        _ sent: [Sent], _ after: Duration?, _ why: String, mayQuarantine: Bool, now: UInt64, roll: Double
    ) -> Action {
        guard sent.count == 1, let only = sent.first else {
            isolate(sent)
            return backOff(after, why, roll: roll)
        }
        if suspect(only, after, why, mayQuarantine: mayQuarantine, now: now, roll: roll) {
            return .quarantine(only.stream, why)
        }
        // Consecutive failures are an outage until something passes. A requested wait applies to all streams.
        return failures > 0 || after != nil ? backOff(after, why, roll: roll) : .goOn
    }

    /// - Returns: whether to quarantine the stream's first record.
    private mutating func suspect(
        _ part: Sent, _ after: Duration?, _ why: String, mayQuarantine: Bool, now: UInt64, roll: Double
    ) -> Bool {
        var suspicion = states[part.stream]?.suspicion ?? Suspicion()
        suspicion.failures += 1
        suspicion.why = why
        if part.records != 1 || part.last != suspicion.suspect { suspicion.evidence = RefusalEvidence() }
        suspicion.suspect = part.last
        if part.records == 1 {
            suspicion.evidence.refused(at: now)
            if mayQuarantine, suspicion.evidence.isProven {
                states[part.stream] = .flowing
                return true
            }
        } else if part.records > 1, suspicion.failures > 1 {
            // A single failure may have any cause. From the second on, search for the record.
            halve(part)
        }
        // At least half the window. Otherwise a small roll would make a busy loop of one stream while others pass.
        let delay = policy.delay(failures: suspicion.failures, roll: RetryPolicy.upperHalf(roll), retryAfter: after)
        suspicion.notBefore = now &+ delay.wholeMicroseconds
        states[part.stream] = .suspected(suspicion)
        return false
    }

    private mutating func halve(_ part: Sent) {
        let bytes = limits[part.stream]?.bytes ?? partBytes
        limits[part.stream]?.records = part.records / 2
        limits[part.stream]?.bytes = max(Tunables.Transmission.leastPartBytes, bytes / 2)
    }

    private mutating func widen(_ stream: StreamName) {
        guard var limit = limits[stream] else { return }
        limit.bytes = min(partBytes, limit.bytes * 2)
        limit.records = limit.records > Int.max / 2 ? Int.max : limit.records * 2
        if limit.bytes == partBytes { limit.records = Int.max }
        limits[stream] = limit
    }

    private mutating func backOff(_ after: Duration?, _ why: String, roll: Double) -> Action {
        failures += 1
        return .retry(after: policy.delay(failures: failures, roll: roll, retryAfter: after), why)
    }

    private func hold(_ why: String) -> Action { .hold(why, lookAgain: Tunables.Retry.lookAgain) }
}

/// The content of the next request: the first of `requests` that has something due.
struct TransmitPlan: Equatable, Sendable {
    struct Part: Equatable, Sendable {
        var stream: StreamName
        var maximumBytes: Int
        var maximumRecords: Int
    }

    var requests: [[Part]]

    /// All parts in the order in which they are considered.
    var parts: [Part] { requests.flatMap { $0 } }

    /// Streams share a request unless they must go alone. No stream waits behind a less important one.
    /// - Parameters:
    ///   - alone: in the order of importance, like `together`.
    ///   - part: how much of a stream may go.
    init(alone: [StreamName], together: [StreamName], part: (StreamName) -> Part) {
        requests = []
        var given = 0
        for stream in alone {
            let above = together.prefix { $0 < stream }
            if above.count > given { requests.append(above[given...].map(part)) }
            given = max(given, above.count)
            requests.append([part(stream)])
        }
        if together.count > given { requests.append(together[given...].map(part)) }
    }
}
