import WireModel

/// Decides what the transmitter sends next and what an answer leads to. Holds no clock, no socket and no queue.
///
/// Per stream it keeps how much may go into the next part. `open` -> (413, refused) -> `narrowed`, halved each time until one record is left,
/// which is set aside at most once an hour; a success doubles it back -> `open`. Refused with several parts in one request, the streams go one by
/// one (`isolating`) until each has had its own answer. Failures in a row widen the backoff and any progress ends it.
package struct TransmitterStateMachine: Sendable {
    /// How much of each stream the next request may hold, in the order of importance.
    package struct Plan: Equatable, Sendable {
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

        package var parts: [Part]
    }

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
        /// Not decided now.
        case unavailable(String)
        /// The histories parted; the queue sends no more of this epoch.
        case parted(String)
        /// An answer that changed nothing.
        case unchanged
    }

    package enum Verdict: Equatable, Sendable {
        case decided([StreamName: PartVerdict])
        case tooLarge(String)
        case refused(String)
        case retry(after: Duration?, String)
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

    package static let leastPartBytes = 4 * 1024
    /// How long what cannot mend itself waits before it is tried again: an administrator may have acted.
    package static let lookAgain = Duration.seconds(300)

    private let partBytes: Int
    private let policy: RetryPolicy
    private var limits: [StreamName: Limit]
    private var toIsolate: [StreamName] = []
    private var enrolledAgain = false
    package private(set) var failures = 0

    package init(partBytes: Int = WireLimits.partBytes, policy: RetryPolicy = RetryPolicy()) {
        self.partBytes = partBytes
        self.policy = policy
        limits = Dictionary(uniqueKeysWithValues: StreamName.allCases.map { ($0, Limit(bytes: partBytes)) })
    }

    /// What the next request may hold.
    package var plan: Plan {
        let streams = toIsolate.first.map { [$0] } ?? StreamName.allCases
        return Plan(
            parts: streams.compactMap { stream in
                guard let limit = limits[stream], !limit.held else { return nil }
                return Plan.Part(stream: stream, maximumBytes: limit.bytes, maximumRecords: limit.records)
            })
    }

    /// Nothing of the planned streams was due: the pass is over, or, while isolating, the next stream's turn comes, after the last one all of them.
    /// - Returns: whether to look again at once.
    package mutating func foundNothing() -> Bool {
        guard !toIsolate.isEmpty else { return false }
        toIsolate.removeFirst()
        return true
    }

    /// A new transmit interval began: streams held because their first record may not be set aside yet are tried again.
    package mutating func intervalBegan() {
        for stream in limits.keys { limits[stream]?.held = false }
    }

    /// The request was answered, or failed.
    /// - Parameters:
    ///   - maySetAside: whether the hour since the last record set aside is over.
    ///   - roll: random, 0 up to 1.
    package mutating func settled(_ sent: [Sent], _ verdict: Verdict, maySetAside: Bool, roll: Double) -> Action {
        switch verdict {
        case .decided(let parts): return decided(sent, parts, maySetAside: maySetAside, roll: roll)
        case .tooLarge(let why), .refused(let why): return refusedWhole(sent, why, maySetAside: maySetAside, roll: roll)
        case .retry(let after, let why): return backOff(after, why, roll: roll)
        case .credentialRefused(let why):
            guard !enrolledAgain else { return hold("enrolled again, and refused again: \(why)") }
            enrolledAgain = true
            return .enrollAgain
        case .forbidden(let why): return hold("the collector refuses this device: \(why)")
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

    private mutating func decided(_ sent: [Sent], _ parts: [StreamName: PartVerdict], maySetAside: Bool, roll: Double) -> Action {
        var moved = false
        var setAside: Action?
        var holding: String?
        var waiting: String?
        for part in sent {
            switch parts[part.stream] ?? .unchanged {
            case .progressed:
                moved = true
                failures = 0
                enrolledAgain = false
                widen(part.stream)
                toIsolate.removeAll { $0 == part.stream }
            case .refused(let why):
                moved = true
                if narrow(part, maySetAside: maySetAside) == .setAside { setAside = setAside ?? .setAside(part.stream, why) }
            case .unavailable(let why): waiting = waiting ?? why
            case .parted(let why): holding = holding ?? why
            case .unchanged: break
            }
        }
        if let setAside { return setAside }
        if let waiting { return backOff(nil, waiting, roll: roll) }
        if moved { return .goOn }
        return holding.map(hold) ?? backOff(nil, "the answer changed nothing", roll: roll)
    }

    private mutating func refusedWhole(_ sent: [Sent], _ why: String, maySetAside: Bool, roll: Double) -> Action {
        guard let only = sent.first else { return backOff(nil, why, roll: roll) }
        guard sent.count == 1 else {
            toIsolate = sent.map(\.stream)
            return .goOn
        }
        return narrow(only, maySetAside: maySetAside) == .setAside ? .setAside(only.stream, why) : .goOn
    }

    private enum Narrowing {
        /// Half as much next time.
        case halved
        /// One record is left and may go.
        case setAside
        /// One record is left, or only gaps; the stream waits for the next interval, the others go on.
        case held
    }

    private mutating func narrow(_ part: Sent, maySetAside: Bool) -> Narrowing {
        if part.records > 1 {
            let bytes = limits[part.stream]?.bytes ?? partBytes
            limits[part.stream]?.records = part.records / 2
            limits[part.stream]?.bytes = max(Self.leastPartBytes, bytes / 2)
            return .halved
        }
        if part.records == 1, maySetAside { return .setAside }
        limits[part.stream]?.held = true
        toIsolate.removeAll { $0 == part.stream }
        return .held
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
