import CollectorTunables
import Console
import HTTPTypes
import Hummingbird
import NIOCore
import Registry
import ServiceLifecycle
import Synchronization
import WireModel

/// Notifies browsers when something that a page shows has changed, as server-sent events. The page then loads its live
/// parts again, so an event has no content.
struct LiveRoutes: Sendable {
    let metadata: MetadataService
    let digests: LiveDigests
    let streams: RequestShares

    init(metadata: MetadataService, streams: RequestShares = RequestShares(256, perToken: 64)) {
        self.metadata = metadata
        self.streams = streams
        digests = LiveDigests(metadata: metadata)
    }

    func stream(_ request: Request, _ context: PersonContext) async throws -> Response {
        let topics = try await topics(FormFields(encoded: request.uri.query ?? "")["topics"] ?? "", context)
        let place = try context.acquirePlace(in: streams, for: "live pages")
        let secret = SessionCookie(of: request)?.secret
        let events = LiveEvents(
            topics: topics, organization: context.person.organization, digests: digests, streams: streams,
            place: place
        ) { [metadata] in
            guard let secret else { return false }
            return try await metadata.authenticateSession(secret) != nil
        }
        // A stream does not hold up the end of the collector.
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream"],
            body: ResponseBody(asyncSequence: events.cancelOnGracefulShutdown()))
    }

    /// Whether a page has to load although nothing happened.
    /// - Parameters:
    ///   - seconds: since it was last notified.
    ///   - streams: the number of live pages.
    static func isStale(_ topics: [LiveTopic], after seconds: Int, streams: Int) -> Bool {
        seconds >= max(Tunables.LivePages.refreshSeconds, streams)
            && topics.contains { $0 == .devices || $0 == .notices || $0 == .jobs }
    }

    /// - Throws: `Problem` for an unknown topic, or a device that the person may not see.
    private func topics(_ text: String, _ context: PersonContext) async throws -> [LiveTopic] {
        var topics: [LiveTopic] = []
        for word in text.split(separator: ",") {
            let parts = word.split(separator: ":", maxSplits: 1)
            var device: DeviceID?
            if parts.count == 2 {
                guard let id = DeviceID(String(parts[1])),
                    try await metadata.device(id, organization: context.person.organization) != nil
                else { throw Problem.noDevice }
                device = id
            }
            switch (parts[0], device) {
            case ("devices", nil): topics.append(.devices)
            case ("notices", nil): topics.append(.notices)
            case ("jobs", nil): topics.append(.jobs)
            case ("logs", nil): topics.append(.logs)
            case ("logs", let device?): topics.append(.logsOf(device))
            case ("commands", let device?): topics.append(.commandsOf(device))
            default: throw Problem.invalidParameter("topics", "holds \(word), which is unknown.")
            }
        }
        guard (1...8).contains(topics.count) else { throw Problem.invalidParameter("topics", "needs 1 to 8 topics.") }
        return topics
    }
}

/// The events of one page, until its browser goes or its session has ended.
private struct LiveEvents: AsyncSequence, Sendable {
    /// After so many seconds of silence an event shows the page that the connection is there.
    private static let idleSeconds = 10

    let topics: [LiveTopic]
    let organization: String?
    let digests: LiveDigests
    let streams: RequestShares
    /// Given back when the stream is released.
    let place: RequestShares.Place
    /// Whether the session still has its rights.
    let isSignedIn: @Sendable () async throws -> Bool

    /// The topics to look at that many seconds after an event. Those of the whole fleet wait longer; the others on the
    /// page do not wait for them.
    private func topics(after silence: Int) -> [LiveTopic] {
        guard silence >= Tunables.LivePages.pauseSeconds else { return [] }
        let isFleetDue = silence >= Swift.max(Tunables.LivePages.fleetPauseSeconds, streams.inUse)
        return topics.filter { isFleetDue || $0 != .devices && $0 != .logs }
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        let events: LiveEvents
        private var known: [LiveTopic: String]?
        /// Seconds since the last event. The first one need not wait.
        private var silence = Int.max / 2
        private var idle = 0
        /// Seconds since the page was loaded.
        private var age = 0

        fileprivate init(_ events: LiveEvents) { self.events = events }

        mutating func next() async throws -> ByteBuffer? {
            guard let known else {
                known = try await events.digests.now(events.topics, organization: events.organization)
                // The browser connects again after this many milliseconds.
                return ByteBuffer(string: "retry: 5000\n\n")
            }
            while true {
                try await Task.sleep(for: .seconds(1))
                (silence, idle, age) = (silence + 1, idle + 1, age + 1)
                // The browser connects again and is refused, which ends its stream for good.
                guard try await events.isSignedIn() else { return nil }
                let current = try await events.digests.now(
                    events.topics(after: silence), organization: events.organization)
                let isStale = LiveRoutes.isStale(events.topics, after: age, streams: events.streams.inUse)
                if isStale || current.contains(where: { known[$0.key] != $0.value }) {
                    // The page loads all its parts.
                    self.known = try await events.digests.now(events.topics, organization: events.organization)
                    (silence, idle, age) = (0, 0, 0)
                    return ByteBuffer(string: "event: change\ndata:\n\n")
                }
                if idle % LiveEvents.idleSeconds == 0 { return ByteBuffer(string: "event: alive\ndata:\n\n") }
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

/// Digests of topics, shared by all streams: each is read at most once a second.
final class LiveDigests: Sendable {
    private struct Key: Hashable {
        var topic: LiveTopic
        var organization: String?
    }

    private static let freshMicroseconds: Int64 = 900_000
    /// More are forgotten and read again.
    private static let maximum = 4096

    private let metadata: MetadataService
    private let known = Mutex<[Key: (text: String, at: Int64)]>([:])

    init(metadata: MetadataService) { self.metadata = metadata }

    func now(_ topics: [LiveTopic], organization: String?) async throws -> [LiveTopic: String] {
        var texts: [LiveTopic: String] = [:]
        for topic in topics {
            let (key, now) = (Key(topic: topic, organization: organization), Uptime.microseconds())
            if let fresh = known.withLock({ $0[key] }), now - fresh.at < Self.freshMicroseconds {
                texts[topic] = fresh.text
                continue
            }
            let text = try await metadata.digest(of: topic, organization: organization)
            known.withLock { known in
                if known.count >= Self.maximum { known = [:] }
                known[key] = (text, now)
            }
            texts[topic] = text
        }
        return texts
    }
}
