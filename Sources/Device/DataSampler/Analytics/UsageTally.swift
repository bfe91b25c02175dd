import RecordQueue
import WireModel

/// Counts how the application is used, from one sample to the next. Pure: what happened and when go in, a sample comes
/// out.
///
/// Times are microseconds since boot, so that a wall clock that is set changes no duration; suspend counts.
struct UsageTally: Equatable, Sendable {
    /// What a restart must not lose: counts that no sample has told yet, and which session is open.
    struct Snapshot: Codable, Equatable, Sendable {
        var launches: UInt64 = 0
        var sessions: UInt64 = 0
        var useMicroseconds: UInt64 = 0
        var eventsRecorded: UInt64 = 0
        /// The open session's id; `nil`: none was open.
        var session: String?
        /// The last figures a sample has told; only after an orderly stop, because nobody knows what came after them
        /// otherwise.
        var figures: EventFigures?

        /// Whether counts wait in it for the next sample.
        var hasCounts: Bool { launches > 0 || sessions > 0 || useMicroseconds > 0 || eventsRecorded > 0 }
    }

    private struct Session: Equatable {
        var id: SessionID
        /// The time up to which the session is counted.
        var countedTo: UInt64
    }

    private var launches: UInt64 = 0
    private var sessions: UInt64 = 0
    private var useMicroseconds: UInt64 = 0
    private var eventsRecorded: UInt64 = 0
    private var session: Session?
    /// What the last sample told.
    private var told: EventFigures?
    private var latest: EventFigures?
    private var lastSample: UInt64?

    init() {}

    /// Goes on where the last run of the program ended. A session it left open is closed: how long it was still used
    /// after the last sample nobody knows, so that time is not counted.
    init(_ snapshot: Snapshot) {
        launches = snapshot.launches
        sessions = snapshot.sessions
        useMicroseconds = snapshot.useMicroseconds
        eventsRecorded = snapshot.eventsRecorded
        told = snapshot.figures
    }

    /// The open session; `nil`: none.
    var sessionID: SessionID? { session?.id }

    /// The program has started.
    mutating func launched() { launches += 1 }

    /// A session begins. While one is open that one goes on.
    /// - Returns: the open session.
    mutating func sessionBegan(_ id: SessionID, at now: UInt64) -> SessionID {
        if let session { return session.id }
        session = Session(id: id, countedTo: now)
        sessions += 1
        return id
    }

    /// The open session ends; harmless where there is none.
    mutating func sessionEnded(at now: UInt64) {
        count(upTo: now)
        session = nil
    }

    /// An event was taken into the queue.
    mutating func eventRecorded() { eventsRecorded += 1 }

    /// What the queue says now. The first figures without earlier ones are where counting begins.
    mutating func observed(_ figures: EventFigures) {
        latest = figures
        if told == nil { told = figures }
    }

    /// A sample is taken: everything since the last one.
    mutating func sampled(at now: UInt64) -> WireAnalyticsSample {
        count(upTo: now)
        var sample = WireAnalyticsSample()
        sample.launches = launches
        sample.sessions = sessions
        sample.useMicroseconds = useMicroseconds
        sample.eventsRecorded = eventsRecorded
        if let latest {
            sample.eventsSent = Self.delta(latest, told, \.sent)
            sample.eventsDropped = Self.delta(latest, told, \.dropped)
            sample.eventsHeld = latest.held
            told = latest
        }
        if let lastSample, now >= lastSample { sample.intervalMicroseconds = now - lastSample }
        lastSample = now
        (launches, sessions, useMicroseconds, eventsRecorded) = (0, 0, 0, 0)
        return sample
    }

    /// What a restart must not lose.
    /// - Parameter orderly: the program stops: nothing of its own happens any more until the next start.
    func snapshot(orderly: Bool) -> Snapshot {
        Snapshot(
            launches: launches, sessions: sessions, useMicroseconds: useMicroseconds, eventsRecorded: eventsRecorded,
            session: session.map { "\($0.id)" }, figures: orderly ? told : nil)
    }

    private mutating func count(upTo now: UInt64) {
        guard let open = session, now > open.countedTo else { return }
        useMicroseconds += now - open.countedTo
        session?.countedTo = now
    }

    /// In another epoch, or after a count went back (a restored queue), everything counted there is new.
    private static func delta(_ now: EventFigures, _ before: EventFigures?, _ count: KeyPath<EventFigures, UInt64>)
        -> UInt64
    {
        guard let before, before.epoch == now.epoch, before[keyPath: count] <= now[keyPath: count] else {
            return now[keyPath: count]
        }
        return now[keyPath: count] - before[keyPath: count]
    }
}

/// What has become of the events of one epoch: totals of the queue's event stream, and what it holds now.
struct EventFigures: Codable, Equatable, Sendable {
    /// The queue's epoch: another one counts from zero.
    var epoch: String
    /// Stored, by the collector's word.
    var sent: UInt64
    /// Left the queue without having been stored, for whatever reason.
    var dropped: UInt64
    /// Waiting now because their hold is not over.
    var held: UInt64
}

extension EventFigures {
    /// - Parameter status: of the queue, asked with the hold of the event stream.
    init(_ status: QueueStatus) {
        let events = status.streams[.event]
        self.init(
            epoch: "\(status.epoch)", sent: events?.mark.stored ?? 0, dropped: events?.dropped.values.reduce(0, +) ?? 0,
            held: events.map { $0.waiting - min($0.waiting, $0.due) } ?? 0)
    }
}
