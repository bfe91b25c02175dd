import RecordQueue
import WireModel

/// Counts how the application is used between two samples. Pure: events with their times go in, a sample comes out.
///
/// Times are microseconds since boot including suspend, so setting the wall clock changes no duration.
struct UsageTally: Equatable, Sendable {
    /// The state that must survive a restart: unreported counts and the open session.
    struct Snapshot: Codable, Equatable, Sendable {
        var launches: UInt64 = 0
        var sessions: UInt64 = 0
        var useMicroseconds: UInt64 = 0
        var eventsRecorded: UInt64 = 0
        /// The open session's id; `nil` if there is none.
        var session: String?
        /// The figures of the last sample. Set only after an orderly stop, because after a crash nobody knows what came
        /// later.
        var figures: EventFigures?

        /// Whether it contains counts for the next sample.
        var hasCounts: Bool { launches > 0 || sessions > 0 || useMicroseconds > 0 || eventsRecorded > 0 }
    }

    private struct Session: Equatable {
        var id: SessionID
        /// The time up to which the session's use is counted.
        var countedTo: UInt64
    }

    /// The counts that no sample has reported yet, without session and figures.
    private var counts = Snapshot()
    private var session: Session?
    /// The figures of the last sample.
    private var reported: EventFigures?
    private var latest: EventFigures?
    private var lastSample: UInt64?

    init() {}

    /// Continues where the last run of the program ended. A session left open is ended. How long it was used after the
    /// last sample is unknown, so that time is not counted.
    init(_ snapshot: Snapshot) {
        counts = snapshot
        counts.session = nil
        counts.figures = nil
        reported = snapshot.figures
    }

    var sessionID: SessionID? { session?.id }

    mutating func launched() { counts.launches += 1 }

    /// A session begins. If one is open, it continues.
    /// - Returns: the open session.
    mutating func sessionBegan(_ id: SessionID, at now: UInt64) -> SessionID {
        if let session { return session.id }
        session = Session(id: id, countedTo: now)
        counts.sessions += 1
        return id
    }

    /// The open session ends. Does nothing if there is none.
    mutating func sessionEnded(at now: UInt64) {
        count(upTo: now)
        session = nil
    }

    mutating func eventRecorded() { counts.eventsRecorded += 1 }

    /// The queue's present figures. The first ones without earlier figures are the starting point.
    mutating func observed(_ figures: EventFigures) {
        latest = figures
        if reported == nil { reported = figures }
    }

    /// A sample is taken. Returns everything since the last one.
    mutating func sampled(at now: UInt64) -> WireAnalyticsSample {
        count(upTo: now)
        var sample = WireAnalyticsSample()
        sample.launches = counts.launches
        sample.sessions = counts.sessions
        sample.useMicroseconds = counts.useMicroseconds
        sample.eventsRecorded = counts.eventsRecorded
        if let latest {
            sample.eventsSent = Self.delta(latest, reported, \.sent)
            sample.eventsDropped = Self.delta(latest, reported, \.dropped)
            sample.eventsHeld = latest.held
            reported = latest
        }
        if let lastSample, now >= lastSample { sample.intervalMicroseconds = now - lastSample }
        lastSample = now
        counts = Snapshot()
        return sample
    }

    /// The part that must survive a restart.
    /// - Parameter orderly: the program stops, so nothing else happens before the next start.
    func snapshot(orderly: Bool) -> Snapshot {
        var snapshot = counts
        snapshot.session = session.map { "\($0.id)" }
        snapshot.figures = orderly ? reported : nil
        return snapshot
    }

    private mutating func count(upTo now: UInt64) {
        guard let open = session, now > open.countedTo else { return }
        counts.useMicroseconds += now - open.countedTo
        session?.countedTo = now
    }

    /// Everything counted is new in another epoch, or after a count went back (a restored queue).
    private static func delta(_ now: EventFigures, _ before: EventFigures?, _ count: KeyPath<EventFigures, UInt64>)
        -> UInt64
    {
        guard let before, before.epoch == now.epoch, before[keyPath: count] <= now[keyPath: count] else {
            return now[keyPath: count]
        }
        return now[keyPath: count] - before[keyPath: count]
    }
}

/// The outcome of one epoch's events: totals of the event stream, and what it holds now.
struct EventFigures: Codable, Equatable, Sendable {
    /// The queue's epoch. A new epoch counts from zero.
    var epoch: String
    /// Events that the collector reported as stored.
    var sent: UInt64
    /// Events that left the queue without being stored, for any reason.
    var dropped: UInt64
    /// Events that wait because their hold is not over.
    var held: UInt64
}

extension EventFigures {
    /// - Parameter status: the queue's status, requested with the hold of the event stream.
    init(_ status: QueueStatus) {
        let events = status.streams[.event]
        self.init(
            epoch: "\(status.epoch)", sent: events?.mark.stored ?? 0,
            dropped: events?.dropped.values.saturatingSum ?? 0,
            held: events.map { $0.waiting - min($0.waiting, $0.due) } ?? 0)
    }
}
