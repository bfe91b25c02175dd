import WireModel

/// Decides what the transmitter sends next and what an answer leads to. Holds no clock, no socket and no queue; times are microseconds since
/// boot, counting suspend.
///
/// Per stream it keeps how much may go into the next part. `open` -> (413, refused, 5xx) -> `narrowed`, halved each time until one record is
/// left; a success doubles it back -> `open`. A refused record that stands alone is set aside at once, one that alone draws 5xx after ten
/// minutes while other streams pass; neither more than once an hour. Refused or failed with several parts in one request, the streams go one
/// by one (`isolating`) until each has had its own answer. A stream that fails alone is `suspected`: it waits by a backoff of its own, and goes
/// alone, so that the others flow on. Where nothing passes at all it is an outage: one backoff for everything, and nothing is set aside.
package struct TransmitterStateMachine: Sendable {
    /// A part as it was sent.
    package struct Sent: Equatable, Sendable {
        package var stream: StreamName
        package var records: Int

        package init(stream: StreamName, records: Int) {
            self.stream = stream
            self.records = records
        }
    }

    /// What became of one part.
    package enum PartVerdict: Equatable, Sendable {
        /// The queue removed something, or the collector already had it all.
        case progressed
        /// Too large or damaged: send less of this stream.
        case refused(String)
        /// The collector could not decide on it now: a 5xx of this part alone.
        case unavailable(String)
        /// The histories parted; the queue sends no more of this epoch, and a new one begins before the next batch.
        case parted(String)
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
        case setAside(StreamName, String)
        /// Enroll again, with the old credential.
        case enrollAgain
        /// Stop sending until something outside changes; look again after this long.
        case hold(String, lookAgain: Duration)
    }

    private struct Limit {
        var bytes: Int
        var records = Int.max
        /// Its first record is refused and may not be set aside yet.
        var held = false
    }

    /// A stream that drew 5xx alone.
    private struct Suspicion {
        var failures = 0
        /// It is not tried before.
        var notBefore: UInt64 = 0
        /// Since when its first record has been failing with nothing else in the request.
        var aloneSince: UInt64?
        var aloneFailures = 0
        /// Another stream moved since the last failure: the collector works.
        var othersPassed = false
        var why = ""
    }

    package static let leastPartBytes = 4 * 1024
    /// How long what cannot mend itself waits before it is tried again: an administrator may have acted.
    package static let lookAgain = Duration.seconds(300)
    /// The same after the collector said that it does not want this device.
    package static let lookAgainForbidden = Duration.seconds(3600)
    /// A record draws 5xx alone for so long before it is set aside.
    package static let poisonPeriod: UInt64 = 600 * 1_000_000
    /// ... and so many times.
    package static let poisonFailures = 3

    private let partBytes: Int
    private let policy: RetryPolicy
    private var limits: [StreamName: Limit]
    private var suspicions: [StreamName: Suspicion] = [:]
    private var toIsolate: [StreamName] = []
    private var enrolledAgain = false
    /// In a row, without any progress in between.
    package private(set) var failures = 0

    package init(partBytes: Int = WireLimits.partBytes, policy: RetryPolicy = RetryPolicy()) {
        self.partBytes = partBytes
        self.policy = policy
        limits = Dictionary(uniqueKeysWithValues: StreamName.allCases.map { ($0, Limit(bytes: partBytes)) })
    }

    /// What the next request may hold.
    package func plan(at now: UInt64) -> TransmitPlan {
        let eligible = StreamName.allCases.filter { limits[$0]?.held == false && (suspicions[$0]?.notBefore ?? 0) <= now }
        let alone = eligible.filter { suspicions[$0] != nil || toIsolate.contains($0) }
        return TransmitPlan(alone: alone, together: eligible.filter { !alone.contains($0) }) { stream in
            let limit = limits[stream] ?? Limit(bytes: partBytes)
            return TransmitPlan.Part(stream: stream, maximumBytes: limit.bytes, maximumRecords: limit.records)
        }
    }

    /// When a suspected stream that may not be tried yet may be, and why it waits; `nil` where none waits. One whose time has come is not
    /// waited for: it is in the plan, and where it is not sent that has other reasons.
    package func nextProbe(after now: UInt64) -> (at: UInt64, why: String)? {
        suspicions.values.filter { $0.notBefore > now }.min { $0.notBefore < $1.notBefore }.map { ($0.notBefore, $0.why) }
    }

    /// Whether the stream's records may be there still after a pass that found nothing more to send.
    package func holdsBack(_ stream: StreamName) -> Bool { suspicions[stream] != nil || limits[stream]?.held == true }

    /// Streams whose first record fails alone, again and again: something else that passes would tell a bad record from an outage.
    package var blocked: [StreamName: String] {
        suspicions.filter { $0.value.aloneFailures > 1 }.mapValues(\.why)
    }

    /// Nothing is due in these streams of the plan, so that there is nothing to isolate in them.
    package mutating func foundNothing(in streams: [StreamName]) {
        toIsolate.removeAll { streams.contains($0) }
    }

    /// A new pass began: streams held because their first record may not be set aside yet are tried again.
    package mutating func passBegan() {
        for stream in limits.keys { limits[stream]?.held = false }
    }

    /// A new epoch began, or the queue was emptied: what was known of the records at the front is of no use any more.
    package mutating func epochBegan() {
        suspicions = [:]
        toIsolate = []
        for stream in limits.keys { limits[stream] = Limit(bytes: partBytes) }
    }

    /// The device presents another credential than the one that was refused.
    package mutating func credentialChanged() { enrolledAgain = false }

    /// The request was answered, or failed.
    /// - Parameters:
    ///   - maySetAside: whether the hour since the last record set aside is over.
    ///   - roll: random, 0 up to 1.
    package mutating func settled(_ sent: [Sent], _ verdict: Verdict, maySetAside: Bool, now: UInt64, roll: Double) -> Action {
        switch verdict {
        case .decided(let parts): return decided(sent, parts, maySetAside: maySetAside, now: now, roll: roll)
        case .tooLarge(let why), .refused(let why): return refusedWhole(sent, why, maySetAside: maySetAside, roll: roll)
        case .retry(let after, let why): return backOff(after, why, roll: roll)
        case .failed(let after, let why): return failedWhole(sent, after, why, maySetAside: maySetAside, now: now, roll: roll)
        case .credentialRefused(let why):
            guard !enrolledAgain else { return hold("enrolled again, and refused again: \(why)") }
            enrolledAgain = true
            return .enrollAgain
        case .forbidden(let why): return .hold("the collector refuses this device: \(why)", lookAgain: Self.lookAgainForbidden)
        case .incompatible(let why): return hold(why)
        case .otherCollector(let why): return hold(why)
        }
    }

    /// Enrolling failed, for a reason that time may mend. It was not the one time a refused credential has: nobody has decided on it.
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
        _ sent: [Sent], _ parts: [StreamName: PartVerdict], maySetAside: Bool, now: UInt64, roll: Double
    ) -> Action {
        for part in sent where parts[part.stream] == .progressed { progressed(part.stream, now: now) }
        var moved = sent.contains { parts[$0.stream] == .progressed }
        var setAside: Action?
        var unavailable: [(part: Sent, why: String)] = []
        for part in sent {
            switch parts[part.stream] ?? .unchanged {
            case .progressed, .unchanged: break
            case .refused(let why):
                moved = true
                if narrow(part, maySetAside: maySetAside) == .setAside { setAside = setAside ?? .setAside(part.stream, why) }
            case .unavailable(let why): unavailable.append((part, why))
            case .parted: moved = true
            }
        }
        if let setAside { return setAside }
        if !moved, let first = unavailable.first {
            return failedWhole(unavailable.map(\.part), nil, first.why, maySetAside: maySetAside, now: now, roll: roll)
        }
        for (part, why) in unavailable where suspect(part, nil, why, maySetAside: maySetAside && setAside == nil, now: now, roll: roll) {
            setAside = .setAside(part.stream, why)
        }
        if let setAside { return setAside }
        if moved { return .goOn }
        return backOff(nil, "the answer changed nothing", roll: roll)
    }

    private mutating func progressed(_ stream: StreamName, now: UInt64) {
        // The collector is back: what waited for it need not wait longer. Whoever fails again alone is told apart by it.
        if failures > 0 {
            suspicions = suspicions.mapValues { suspicion in
                var suspicion = suspicion
                suspicion.notBefore = min(suspicion.notBefore, now)
                return suspicion
            }
        }
        failures = 0
        enrolledAgain = false
        suspicions[stream] = nil
        for other in suspicions.keys { suspicions[other]?.othersPassed = true }
        toIsolate.removeAll { $0 == stream }
        widen(stream)
    }

    private mutating func refusedWhole(_ sent: [Sent], _ why: String, maySetAside: Bool, roll: Double) -> Action {
        guard let only = sent.first else { return backOff(nil, why, roll: roll) }
        guard sent.count == 1 else {
            toIsolate = sent.map(\.stream)
            return .goOn
        }
        return narrow(only, maySetAside: maySetAside) == .setAside ? .setAside(only.stream, why) : .goOn
    }

    /// 5xx, which may be anybody's fault: the collector's, or that of one record among those sent.
    private mutating func failedWhole(
        _ sent: [Sent], _ after: Duration?, _ why: String, maySetAside: Bool, now: UInt64, roll: Double
    ) -> Action {
        guard sent.count == 1, let only = sent.first else {
            toIsolate = sent.map(\.stream)
            return backOff(after, why, roll: roll)
        }
        toIsolate.removeAll { $0 == only.stream }
        if suspect(only, after, why, maySetAside: maySetAside, now: now, roll: roll) { return .setAside(only.stream, why) }
        // In a row of failures it is an outage until something passes. The time asked for holds for all streams.
        return failures > 0 || after != nil ? backOff(after, why, roll: roll) : .goOn
    }

    /// - Returns: whether the stream's first record is to be set aside.
    private mutating func suspect(
        _ part: Sent, _ after: Duration?, _ why: String, maySetAside: Bool, now: UInt64, roll: Double
    ) -> Bool {
        var suspicion = suspicions[part.stream] ?? Suspicion()
        let othersPassed = suspicion.othersPassed
        suspicion.othersPassed = false
        suspicion.failures += 1
        suspicion.why = why
        if part.records == 1 {
            let since = suspicion.aloneSince ?? now
            suspicion.aloneSince = since
            suspicion.aloneFailures += 1
            if maySetAside, othersPassed, suspicion.aloneFailures >= Self.poisonFailures, now >= since, now - since >= Self.poisonPeriod {
                suspicions[part.stream] = nil
                return true
            }
        } else {
            suspicion.aloneSince = nil
            suspicion.aloneFailures = 0
            // One failure is anybody's; from the second on it is worth looking for the record.
            if part.records > 1, suspicion.failures > 1 { halve(part) }
        }
        // At least half the window, so that a lucky roll makes no hot loop of a stream beside which others pass.
        let delay = policy.delay(failures: suspicion.failures, roll: 0.5 + min(max(roll, 0), 1) / 2, retryAfter: after)
        suspicion.notBefore = now &+ delay.wholeMicroseconds
        suspicions[part.stream] = suspicion
        return false
    }

    private enum Narrowing {
        /// Half as much next time.
        case halved
        /// One record is left and may go.
        case setAside
        /// One record is left, or only gaps; the stream waits for the next pass, the others go on.
        case held
    }

    private mutating func narrow(_ part: Sent, maySetAside: Bool) -> Narrowing {
        if part.records > 1 {
            halve(part)
            return .halved
        }
        if part.records == 1, maySetAside { return .setAside }
        limits[part.stream]?.held = true
        toIsolate.removeAll { $0 == part.stream }
        return .held
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
