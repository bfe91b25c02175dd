import WireModel

/// Decides what the transmitter sends next and what an answer leads to. Holds no clock, no socket and no queue; times
/// are microseconds since boot, counting suspend.
///
/// Each stream has a ``StreamState``, and a limit to what goes into its next part: halved after a 413, a refusal or a
/// 5xx until one record is left, and doubled back by each success. The one record of a suspected stream is quarantined
/// after ten minutes in which other streams pass, at most one an hour, whoever answered and with whatever status
/// (`RefusalEvidence` says why). Where nothing passes at all it is an outage, and nothing is quarantined.
///
/// A collector that wants to refuse one record for good has its own way: it counts the record as rejected and moves its
/// mark past it, which the chain confirms. So a part outcome `too-large` or `damaged` is no stronger word than a 413.
package struct TransmitterStateMachine: Sendable {
    /// A part as it was sent.
    package struct Sent: Equatable, Sendable {
        package var stream: StreamName
        package var records: Int
        /// The last number: of the record, where there is one.
        package var last: UInt64

        package init(stream: StreamName, records: Int, last: UInt64 = 0) {
            self.stream = stream
            self.records = records
            self.last = last
        }
    }

    /// What became of one part.
    package enum PartVerdict: Equatable, Sendable {
        /// The queue removed something, or the collector already had it all.
        case progressed
        /// Too large or damaged: send less of this stream; the one record that is left waits, and may be quarantined.
        case refused(String)
        /// The collector could not decide on it now: a 5xx of this part alone.
        case unavailable(String)
        /// The histories diverged; the queue sends no more of this epoch, and a new one begins before the next batch.
        case diverged(String)
        /// An answer that changed nothing.
        case unchanged
    }

    package enum Verdict: Equatable, Sendable {
        case decided([StreamName: PartVerdict])
        case tooLarge(String)
        case refused(String)
        /// Nobody answered, or whoever did wants less: says nothing about what was sent.
        case retry(after: Duration?, String)
        /// The collector answered 5xx.
        case failed(after: Duration?, String)
        case credentialRefused(String)
        case forbidden(String)
        case incompatible(String)
        case otherCollector(String)
    }

    package enum Action: Equatable, Sendable {
        /// Look at once whether more is due.
        case goOn
        /// Wait at least this long, then try again; says why.
        case retry(after: Duration, String)
        /// Set the first record of the stream aside, then go on.
        case quarantine(StreamName, String)
        /// Enroll again, with the old credential.
        case enrollAgain
        /// Stop sending until something outside changes; look again after this long.
        case hold(String, lookAgain: Duration)
    }

    private struct Limit {
        var bytes: Int
        var records = Int.max
    }

    /// How a stream is sent.
    private enum StreamState {
        /// Together with the others. -> isolated, suspected
        case flowing
        /// Alone, since a request with several streams was refused or failed, until it has an answer of its own or
        /// nothing is due in it. -> flowing, suspected
        case isolated
        /// Alone, and after a backoff of its own, so that the others flow on: it failed alone, or one record of it was
        /// refused. -> flowing
        case suspected(Suspicion)

        var suspicion: Suspicion? { if case .suspected(let suspicion) = self { suspicion } else { nil } }
    }

    /// Against a stream that drew 5xx alone, or of which one record was refused.
    private struct Suspicion {
        var failures = 0
        /// It is not tried before.
        var notBefore: UInt64 = 0
        /// Against its first record: how often that was refused with nothing else of its stream in the request.
        var evidence = RefusalEvidence()
        /// The number of that record. Another one may take its place: a cap drops records at the front.
        var suspect: UInt64 = 0
        var why = ""
    }

    package static let leastPartBytes = 4 * 1024
    /// How long what cannot mend itself waits before it is tried again: an administrator may have acted.
    package static let lookAgain = Duration.seconds(300)
    /// The same after the collector said that it does not want this device: 30 to 60 s at first, 450 to 900 s in the
    /// end. A reinstated device is back within a quarter of an hour; a thousand revoked ones make less than two small
    /// requests a second between them.
    package static let forbiddenPolicy: RetryPolicy = {
        var policy = RetryPolicy()
        policy.base = .seconds(60)
        policy.cap = .seconds(900)
        return policy
    }()

    private let partBytes: Int
    private let policy: RetryPolicy
    private var limits: [StreamName: Limit]
    /// Those that are not here flow.
    private var states: [StreamName: StreamState] = [:]
    private var enrolledAgain = false
    /// 403 in a row.
    private var forbiddenInRow = 0
    /// In a row, without any progress in between.
    package private(set) var failures = 0

    package init(partBytes: Int = WireLimits.partBytes, policy: RetryPolicy = RetryPolicy()) {
        self.partBytes = partBytes
        self.policy = policy
        limits = Dictionary(uniqueKeysWithValues: StreamName.allCases.map { ($0, Limit(bytes: partBytes)) })
    }

    /// What the next request may hold.
    package func plan(at now: UInt64) -> TransmitPlan {
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

    /// When a suspected stream that may not be tried yet may be, and why it waits; `nil` where none waits. One whose
    /// time has come is not waited for: it is in the plan, and where it is not sent that has other reasons.
    package func nextProbe(after now: UInt64) -> (at: UInt64, why: String)? {
        states.values.compactMap(\.suspicion).filter { $0.notBefore > now }.min { $0.notBefore < $1.notBefore }
            .map { ($0.notBefore, $0.why) }
    }

    /// Whether the stream's records may be there still after a pass that found nothing more to send.
    package func holdsBack(_ stream: StreamName) -> Bool { states[stream]?.suspicion != nil }

    /// Streams whose first record is not taken alone. Where that was so more than once, something else that passes
    /// would tell a bad record from an outage.
    package var blocked: [StreamName: TransmitterStatus.Blocked] {
        states.compactMapValues(\.suspicion).filter { $0.value.evidence.refusals > 0 }
            .mapValues { TransmitterStatus.Blocked(why: $0.why, refusals: $0.evidence.refusals) }
    }

    /// Nothing is due in these streams of the plan, so that there is nothing to isolate in them.
    package mutating func foundNothing(in streams: [StreamName]) {
        for stream in streams { if case .isolated = states[stream] { states[stream] = .flowing } }
    }

    /// A new epoch began, or the queue was emptied: what was known of the records at the front is of no use any more.
    package mutating func epochBegan() {
        states = [:]
        for stream in limits.keys { limits[stream] = Limit(bytes: partBytes) }
    }

    /// The device presents another credential than the one that was refused.
    package mutating func credentialChanged() { enrolledAgain = false }

    /// The request was answered, or failed.
    /// - Parameters:
    ///   - mayQuarantine: whether the hour since the last record quarantined is over.
    ///   - roll: random, 0 up to 1.
    package mutating func settled(_ sent: [Sent], _ verdict: Verdict, mayQuarantine: Bool, now: UInt64, roll: Double)
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
            guard !enrolledAgain else { return hold("enrolled again, and refused again: \(why)") }
            enrolledAgain = true
            return .enrollAgain
        case .forbidden(let why):
            return .hold(
                "the collector refuses this device: \(why.hasSuffix(".") ? why : why + ".") Where it was revoked, an "
                    + "administrator can reinstate it there. It is tried again by itself, and at once by `ws1agent "
                    + "beacon`",
                lookAgain: Self.forbiddenPolicy.delay(
                    failures: forbiddenInRow, roll: RetryPolicy.upperHalf(roll), retryAfter: nil))
        case .incompatible(let why): return hold(why)
        case .otherCollector(let why): return hold(why)
        }
    }

    /// Enrolling failed, for a reason that time may mend. It was not the one time a refused credential has: nobody has
    /// decided on it.
    package mutating func enrollmentFailed(after: Duration?, _ why: String, roll: Double) -> Action {
        enrolledAgain = false
        return backOff(after, why, roll: roll)
    }

    /// Nothing to enroll with, or the token was refused.
    package func enrollmentRefused(_ why: String) -> Action {
        hold(why)
    }
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
        // The collector is back: what waited for it need not wait longer. Whoever fails again alone is told apart by
        // it.
        if failures > 0 {
            changeSuspicions { $0.notBefore = min($0.notBefore, now) }
        }
        failures = 0
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

    /// The form of the request was refused, or its size. With more than one record it is cut down at once; one record
    /// alone is suspected as one that draws 5xx is.
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

    /// 5xx, which may be anybody's fault: the collector's, or that of one record among those sent.
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
        // In a row of failures it is an outage until something passes. The time asked for holds for all streams.
        return failures > 0 || after != nil ? backOff(after, why, roll: roll) : .goOn
    }

    /// - Returns: whether the stream's first record is to be quarantined.
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
            // One failure is anybody's; from the second on it is worth looking for the record.
            halve(part)
        }
        // At least half the window, so that a lucky roll makes no hot loop of a stream beside which others pass.
        let delay = policy.delay(failures: suspicion.failures, roll: RetryPolicy.upperHalf(roll), retryAfter: after)
        suspicion.notBefore = now &+ delay.wholeMicroseconds
        states[part.stream] = .suspected(suspicion)
        return false
    }

    private mutating func halve(_ part: Sent) {
        let bytes = limits[part.stream]?.bytes ?? partBytes
        limits[part.stream]?.records = part.records / 2
        limits[part.stream]?.bytes = max(Self.leastPartBytes, bytes / 2)
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

    private func hold(_ why: String) -> Action {
        .hold(why, lookAgain: Self.lookAgain)
    }
}

/// What the next request may hold: the first of `requests` that has anything due is sent.
package struct TransmitPlan: Equatable, Sendable {
    package struct Part: Equatable, Sendable {
        package var stream: StreamName
        package var maximumBytes: Int
        package var maximumRecords: Int

        package init(stream: StreamName, maximumBytes: Int, maximumRecords: Int) {
            self.stream = stream
            self.maximumBytes = maximumBytes
            self.maximumRecords = maximumRecords
        }
    }

    package var requests: [[Part]]

    /// All parts, in the order they are looked at.
    package var parts: [Part] { requests.flatMap { $0 } }

    /// Streams that share a request go together but for those that have to go alone; no stream waits behind a lower
    /// one.
    /// - Parameters:
    ///   - alone: in the order of importance, as `together`.
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
