import CollectorAPI
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import LogArchive
import NIOCore
import RecordStore
import Registry
import SQLiteRecordStore
import Synchronization
import TestKit
import Testing
import WireModel

@testable import Collector

/// What people and scripts ask for keeps nobody else from an answer.
@Suite("People's load", .timeLimit(.minutes(5)))
struct PeopleLoadTests {
    /// Opened once; whoever comes before waits for it.
    private final class Gate: Sendable {
        private struct State {
            var isOpen = false
            var waiting: [CheckedContinuation<Void, Never>] = []
        }

        private let state = Mutex(State())
        private let arrivals: AsyncStream<Void>
        private let arrival: AsyncStream<Void>.Continuation

        init() { (arrivals, arrival) = AsyncStream.makeStream() }

        func pass() async {
            arrival.yield()
            await withCheckedContinuation { continuation in
                let isOpen = state.withLock { state in
                    if !state.isOpen { state.waiting.append(continuation) }
                    return state.isOpen
                }
                if isOpen { continuation.resume() }
            }
        }

        /// Returns when so many have come.
        func arrived(_ count: Int) async {
            var iterator = arrivals.makeAsyncIterator()
            for _ in 0..<count { await iterator.next() }
        }

        func open() {
            let waiting = state.withLock { state in
                state.isOpen = true
                defer { state.waiting = [] }
                return state.waiting
            }
            for continuation in waiting { continuation.resume() }
        }
    }

    private let directory = TestMetadata()

    /// A collector with the routes that `add` gives it.
    private func application(
        perToken: Int = 16, people: PeopleExecutor = .shared, _ add: (CollectorRouter) -> Void
    ) -> Application<RouterResponder<CollectorRequestContext>> {
        let metadata = directory.service
        let router = CollectorRouter(
            metadata: metadata, certificates: .off,
            identity: CollectorIdentity(collector: metadata.collectorID, incarnation: metadata.incarnationID),
            metrics: CollectorTelemetry().metrics, rate: RequestRate(perSecond: 1000),
            shares: RequestShares(64, perToken: perToken),
            people: people, clock: { Harness.now })
        add(router)
        return Application(responder: router.responder())
    }

    /// As many requests of a person as there are processors never give their thread back.
    @Test func `What is asked on behalf of people leaves health its threads`() async throws {
        let threads = ProcessInfo.processInfo.activeProcessorCount
        let (full, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let entered = Mutex(0)
        let isLate = Mutex(false)
        let application = application(people: PeopleExecutor(threads: threads)) { router in
            router.anyone.get("/livez") { _, _ in Response(status: .ok) }
            router.people(.viewer).get("/stall") { _, _ in
                Self.stall {
                    if entered.withLock({ entered -> Bool in
                        entered += 1
                        return entered == threads
                    }) {
                        full.signal()
                    }
                    // Bounds a failing test only.
                    if release.wait(timeout: .now() + 60) == .timedOut { isLate.withLock { $0 = true } }
                }
                return Response(status: .ok)
            }
        }
        try await application.test(.router) { client in
            try await withThrowingTaskGroup(of: HTTPResponse.Status.self) { group in
                for _ in 0..<threads {
                    group.addTask { try await client.send(.get, "/stall", bearer: "viewer-default").status }
                }
                await BlockingCall.run { full.wait() }
                #expect(try await client.send(.get, "/livez").status == .ok)
                #expect(!isLate.withLock { $0 }, "answered while all of them were still at work")
                for _ in 0..<threads { release.signal() }
                for try await status in group { #expect(status == .ok) }
            }
        }
    }

    private static func stall(_ body: () -> Void) { body() }

    @Test func `A token that has its share under way is refused, and another is not`() async throws {
        let gate = Gate()
        let application = application(perToken: 2) { router in
            router.people(.viewer)
                .get("/wait") { _, _ in
                    await gate.pass()
                    return Response(status: .ok)
                }
                .get("/quick") { _, _ in Response(status: .ok) }
        }
        try await application.test(.router) { client in
            try await withThrowingTaskGroup(of: HTTPResponse.Status.self) { group in
                for _ in 0..<2 {
                    group.addTask { try await client.send(.get, "/wait", bearer: "viewer-default").status }
                }
                await gate.arrived(2)
                let refused = try await client.send(.get, "/quick", bearer: "viewer-default")
                #expect(refused.status == .tooManyRequests && refused.headers[.retryAfter] != nil)
                #expect(try refused.problem.code == "busy" && refused.problem.retryable)
                #expect(try refused.problem.detail?.contains("2 requests under way") == true)
                #expect(try await client.send(.get, "/quick", bearer: "operator-default").status == .ok)
                gate.open()
                for try await status in group { #expect(status == .ok) }
                #expect(try await client.send(.get, "/quick", bearer: "viewer-default").status == .ok)
            }
        }
    }

    /// An answer that nobody reads is in memory, too.
    @Test func `A request keeps its place until its answer is written`() async throws {
        let gate = Gate()
        let application = application(perToken: 2) { router in
            router.people(.viewer)
                .get("/unread") { _, _ in
                    Response(
                        status: .ok,
                        body: ResponseBody { writer in
                            await gate.pass()
                            try await writer.finish(nil)
                        })
                }
                .get("/quick") { _, _ in Response(status: .ok) }
        }
        try await application.test(.router) { client in
            try await withThrowingTaskGroup(of: HTTPResponse.Status.self) { group in
                for _ in 0..<2 {
                    group.addTask { try await client.send(.get, "/unread", bearer: "viewer-default").status }
                }
                await gate.arrived(2)
                #expect(try await client.send(.get, "/quick", bearer: "viewer-default").status == .tooManyRequests)
                gate.open()
                for try await status in group { #expect(status == .ok) }
                #expect(try await client.send(.get, "/quick", bearer: "viewer-default").status == .ok)
            }
        }
    }

    private final class Order: Sendable {
        private let recorded = Mutex<[String]>([])
        var names: [String] { recorded.withLock { $0 } }
        func record(_ name: String) { recorded.withLock { $0.append(name) } }
    }

    /// The runtime's reference to a lane does not keep it alive, and a thread that queues a step outlives its task.
    @Test func `An organization has the same lane for as long as the executor lives`() {
        let people = PeopleExecutor(threads: 1)
        weak let west = people.lane(of: "west")
        #expect(west != nil && west === people.lane(of: "west"))
        #expect(west !== people.lane(of: nil) && people.lane(of: nil) === people.lane(of: nil))
    }

    /// With one thread: fifty steps of an organization wait, and another's comes after one of them.
    @Test func `Organizations take turns`() async {
        let people = PeopleExecutor(threads: 1)
        let (busy, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let order = Order()
        let west = people.lane(of: "west")
        let east = people.lane(of: "east")
        let first = Task(executorPreference: west) {
            Self.stall {
                busy.signal()
                release.wait()
            }
        }
        await BlockingCall.run { busy.wait() }
        var many: [Task<Void, Never>] = []
        for _ in 0..<50 { many.append(Task(executorPreference: west) { order.record("west") }) }
        let one = Task(executorPreference: east) { order.record("east") }
        release.signal()
        for task in many + [first, one] { await task.value }
        #expect(order.names.firstIndex(of: "east") == 1 && order.names.count == 51)
    }

    /// A page of large records ends by bytes, and the pages after it have the others.
    @Test func `A page of large records ends by bytes`() async throws {
        let data = try await KeptData(days: 1, devices: 1)
        let (metadata, _) = try MetadataService.open(directory: data.path, clock: data.clock, logger: KeptData.logger)
        let person = try await metadata.createPersonToken(name: "ann", role: .viewer, organization: "default")
        let store = try data.openStore()
        var chain = ChainBuilder(stream: .event)
        let (count, epoch) = (60, chain.epoch)
        for _ in 0..<count {
            let answer = await store.append(
                [chain.events([String(repeating: "x", count: 200_000)])], from: data.devices[0],
                receivedAt: data.clock.now())
            try #require(answer.map(\.outcome) == [.stored])
        }
        let clock = data.clock
        let server = CollectorServer(
            store: store, metadata: metadata, archive: try LogArchive.open(metadata: metadata, logger: KeptData.logger),
            notices: NoticeService(metadata: metadata), settings: CollectorServer.Settings(port: 0),
            logger: KeptData.logger, clock: { clock.now() })
        try await server.application().test(.router) { client in
            var numbers: [Int] = []
            var next: String? = ""
            var pages = 0
            while let cursor = next {
                let page = try await client.json(
                    "/api/v1/events?limit=1000" + (cursor.isEmpty ? "" : "&cursor=\(cursor)"), bearer: person.token)
                let items = page.objects("items").filter { $0.text("epoch") == "\(epoch)" }
                // Each piece of a page may be larger than asked for by one record.
                #expect(items.count * 200_000 < RecordListing.pageBytes + 5 * 200_000)
                numbers += items.compactMap { $0.number("number") }
                next = page.text("next")
                pages += 1
            }
            #expect(numbers == Array((1...count).reversed()))
            #expect(pages >= 3)
        }
        await store.shutDown()
        await metadata.close()
    }

    /// A chunk store whose first reads wait until the gate opens.
    private struct GatedChunkStore: ChunkStore {
        let base: DirectoryChunkStore
        /// Signalled by each of those reads.
        let arrivals: DispatchSemaphore
        /// Waited for by each of those reads.
        let gate: DispatchSemaphore
        /// How many wait.
        let waiting: Int
        let count = ReadCount()

        final class ReadCount: Sendable {
            private let reads = Mutex(0)
            func next() -> Int {
                reads.withLock { reads in
                    reads += 1
                    return reads
                }
            }
        }

        func read(_ path: String, _ range: Range<Int>) throws(StoreError) -> Data? {
            // Those who come when the shares are in use are not kept waiting, should they be let in.
            if count.next() <= waiting {
                arrivals.signal()
                // Bounds a failing test only.
                _ = gate.wait(timeout: .now() + 60)
            }
            return try base.read(path, range)
        }

        func put(_ bytes: Data, at path: ChunkPath) throws(StoreError) { try base.put(bytes, at: path) }
        func digest(_ path: String) throws(StoreError) -> FileDigest? { try base.digest(path) }
        func delete(_ path: String) -> Bool { base.delete(path) }
        func list(_ body: (ChunkStoreEntry) throws(StoreError) -> Void) throws(StoreError) { try base.list(body) }
        var freeBytes: UInt64? { base.freeBytes }
    }

    /// Sends one chunk of logs as a device of the organization.
    private static func sendLogs(_ harness: Harness, of organization: String) async throws {
        var book = LogBook()
        try book.add(segment: 1, positions: 1...10, from: Harness.now)
        let device = try await harness.enrolledDevice(organization)
        let row = try #require(try await harness.metadata.device(device.id, organization: nil))
        let upload = UploadID.random()
        _ = try await harness.metadata.beginUpload(try UploadManifest(book.manifest(upload)), from: row)
        _ = try await harness.archive.store(book.chunks[0].gzip, chunk: 1, of: upload, from: device.id)
    }

    @Test func `Slow readers of one organization keep no other from its logs`() async throws {
        let (arrivals, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let directory = TestMetadata {
            GatedChunkStore(base: $0, arrivals: arrivals, gate: gate, waiting: 3)
        }
        let harness = Harness(clock: { Harness.now }, in: directory) { $0.logStreams = 4 }
        for organization in ["default", "other"] { try await Self.sendLogs(harness, of: organization) }
        try await harness.route { client in
            @Sendable func content(_ person: String) async throws -> TestResponse {
                try await client.send(.get, "/api/v1/logs/content", bearer: person)
            }
            try await withThrowingTaskGroup(of: HTTPResponse.Status.self) { group in
                for person in ["viewer-default", "viewer-default", "operator-default"] {
                    group.addTask { try await content(person).status }
                }
                await BlockingCall.run { for _ in 0..<3 { arrivals.wait() } }
                let again = try await content("viewer-default")
                #expect(again.status == .tooManyRequests)
                #expect(try again.problem.detail?.contains("This token has 2 log queries") == true)
                let colleague = try await content("administrator-default")
                #expect(colleague.status == .tooManyRequests)
                #expect(try colleague.problem.detail?.contains("this organization have 3 log queries") == true)
                #expect(try await content("viewer-other").status == .ok)
                for _ in 0..<3 { gate.signal() }
                for try await status in group { #expect(status == .ok) }
                #expect(try await content("viewer-default").status == .ok)
            }
        }
    }
}
