import Gzip
import OTLP
import Synchronization
import TelemetryBasics
import WireModel

/// Answers requests of OTLP: decodes them, applies the rules, and waits until the data are on synced disk.
///
/// ```
/// body ─► inflate ─► quota ─► decode ─► rules ─┬─► lines ───► inbox ─► log store ─┬─► 200
///                                              └─► records ─► sink ──► queue ─────┘
/// ```
///
/// One request is decoded at a time, so the memory for that is bounded by the limits of one. Waiting for the disk does
/// not hold others up.
actor OTLPReceiver {
    struct Counts: Sendable {
        /// Data points that are stored.
        var points: UInt64 = 0
        /// Requests that were refused for good, and that senders repeat.
        var refused: UInt64 = 0
        var postponed: UInt64 = 0
        /// Why the last one of either was.
        var reason: String?
    }

    /// Seconds until a sender repeats a request that found no room or could not be stored. Most disks and queues that
    /// recover at all do so within seconds; senders give up after 10 to 60.
    static let retrySeconds = 2
    /// More than deflate can reach, which is 1,032. The bytes after inflation are bounded instead.
    private static let greatestRatio = 2048

    private let limits: OTLPLimits
    private let inbox: OTLPInbox
    private let sink: OTLPMetricSink
    private let clock: IntakeClock
    private nonisolated let quota: Mutex<DailyQuota>
    private nonisolated let ownCounts = Mutex(Counts())

    /// - Parameter bytesPerDay: of bodies after inflation, in a day of UTC; `nil`: no bound.
    init(limits: OTLPLimits, bytesPerDay: Int?, inbox: OTLPInbox, sink: @escaping OTLPMetricSink, clock: IntakeClock) {
        self.limits = limits
        self.inbox = inbox
        self.sink = sink
        self.clock = clock
        quota = Mutex(DailyQuota(limit: bytesPerDay))
    }

    nonisolated var counts: Counts { ownCounts.withLock { $0 } }

    /// The answer to a request whose body is here.
    func answer(_ head: OTLPRequestHead, _ received: [UInt8]) async -> OTLPAnswer {
        let body: [UInt8]
        do { body = head.isCompressed ? try inflate(received) : received } catch {
            let isTooLarge = error.code == .limitExceeded || error.code == .ratioExceeded
            return refuse(
                isTooLarge ? 413 : 400, isTooLarge ? OTLPRequestHead.tooLarge(limits.bodyBytes) : "\(error.message)",
                as: head.encoding)
        }
        let size = body.count
        if let seconds = quota.withLock({ $0.secondsUntilRoom(for: size, at: clock.wallMicroseconds()) }) {
            return postpone(
                429, "The agent has taken as many bytes today (UTC) as bytesPerDay of its source allows.",
                seconds: seconds, as: head.encoding)
        }
        let answer =
            switch head.signal {
            case .logs: await answer(OTLPLogsRequest.self, body, head) { request, tally in await keep(request, &tally) }
            case .metrics:
                await answer(OTLPMetricsRequest.self, body, head) { request, tally in await keep(request, &tally) }
            }
        if answer.status == 200 { quota.withLock { $0.take(size, at: clock.wallMicroseconds()) } }
        return answer
    }

    private func answer<Request: OTLPRequest>(
        _ type: Request.Type, _ body: [UInt8], _ head: OTLPRequestHead,
        keep: (Request, inout OTLPTally) async -> String?
    ) async -> OTLPAnswer {
        var request: Request
        do throws(OTLPError) { request = try Request.decode(body, as: head.encoding, limits: limits) } catch {
            return refuse(error.code == .tooLarge ? 413 : 400, error.message, as: head.encoding)
        }
        var tally = request.removeForbidden()
        if let problem = await keep(request, &tally) {
            return postpone(503, problem, seconds: Self.retrySeconds, as: head.encoding)
        }
        return OTLPAnswer.accepted(Request.signal, tally, as: head.encoding, limits: limits)
    }

    /// - Returns: why the sender must send it again; `nil` once it is stored.
    private func keep(_ request: OTLPLogsRequest, _ tally: inout OTLPTally) async -> String? {
        let lines = OTLPLines(request, tally, arrival: clock.wallMicroseconds())
        tally = lines.tally
        guard !lines.lines.isEmpty else { return nil }
        let outcome: OTLPInbox.Outcome? = await withCheckedContinuation { waiter in
            let waits = inbox.add(lines, at: clock.bootMilliseconds()) { waiter.resume(returning: $0) }
            if !waits { waiter.resume(returning: nil) }
        }
        return switch outcome {
        case .stored: nil
        case .failed: "The agent's log store cannot be written now; `ws1agent status` says why."
        case nil: "The agent has as many log records in memory as it may: they come faster than they can be stored."
        }
    }

    /// - Returns: why the sender must send it again; `nil` once it is stored, or rejected.
    private func keep(_ request: OTLPMetricsRequest, _ tally: inout OTLPTally) async -> String? {
        let records = OTLPMetricRecord.all(of: request, &tally)
        guard !records.isEmpty else { return nil }
        let points = records.reduce(0) { $0 + $1.points }
        switch await sink(records) {
        case .stored:
            ownCounts.withLock { $0.points += UInt64(points) }
            return nil
        case .refused(let reason):
            tally.reject(.notRecorded, items: points, at: "resource_metrics[0]")
            ownCounts.withLock {
                $0.refused += 1
                $0.reason = reason
            }
            return nil
        case .unavailable(let reason): return "The agent's queue cannot take data points now: \(reason)"
        }
    }

    private func inflate(_ body: [UInt8]) throws(GzipError) -> [UInt8] {
        let decompressor = try GzipDecompressor(
            limits: InflateLimits(maximumBytes: limits.bodyBytes, maximumRatio: Self.greatestRatio))
        var inflated: [UInt8] = []
        let result = body.withUnsafeBytes { bytes in
            Result { () throws(GzipError) in try decompressor.update(bytes) { inflated.append(contentsOf: $0) } }
        }
        try result.get()
        try decompressor.finish()
        return inflated
    }

    // MARK: Refusals

    nonisolated func refuse(_ status: Int, _ message: String, as encoding: OTLPEncoding?) -> OTLPAnswer {
        ownCounts.withLock {
            $0.refused += 1
            $0.reason = message
        }
        return OTLPAnswer.refused(status: status, mayPass: false, message: message, as: encoding, limits: limits)
    }

    nonisolated func postpone(
        _ status: Int, _ message: String, seconds: Int = retrySeconds, as encoding: OTLPEncoding?
    ) -> OTLPAnswer {
        ownCounts.withLock {
            $0.postponed += 1
            $0.reason = message
        }
        return OTLPAnswer.refused(
            status: status, mayPass: true, message: message, retryAfterSeconds: seconds, as: encoding, limits: limits)
    }
}

/// Bytes that may be taken in a day of UTC. A restart forgets what was taken.
struct DailyQuota {
    private static let dayMicroseconds: Int64 = 86_400_000_000

    /// `nil`: no bound.
    let limit: Int?
    private var day: Int64 = .min
    private var taken = 0

    init(limit: Int?) { self.limit = limit }

    /// - Parameter time: microseconds since 1970.
    /// - Returns: `nil` if there is room now.
    mutating func secondsUntilRoom(for bytes: Int, at time: Int64) -> Int? {
        guard let limit else { return nil }
        begin(time)
        // The first request of a day may be larger than the quota: it would never find room.
        guard taken > 0, bytes > limit - taken else { return nil }
        return Int(((day + 1) * Self.dayMicroseconds - time) / 1_000_000) + 1
    }

    mutating func take(_ bytes: Int, at time: Int64) {
        begin(time)
        taken += bytes
    }

    private mutating func begin(_ time: Int64) {
        let day = time / Self.dayMicroseconds
        // A clock that goes back gives nothing.
        if day > self.day { (self.day, taken) = (day, 0) }
    }
}
