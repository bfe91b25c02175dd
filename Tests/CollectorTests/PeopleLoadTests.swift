import CollectorStore
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Synchronization
import TelemetryTestKit
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

    private let metadata = TestMetadata()

    /// A collector with the routes that `add` gives it.
    private func application(
        perToken: Int = 16, people: PeopleExecutor = .shared, _ add: (CollectorRouter) -> Void
    ) -> Application<CollectorResponder> {
        let registry = metadata.service
        let router = CollectorRouter(
            registry: registry, certificates: .off,
            identity: CollectorIdentity(collector: registry.collectorID, incarnation: registry.incarnationID),
            metrics: CollectorTelemetry().metrics, rate: RequestRate(perSecond: 1000),
            shares: RequestShares(64, perToken: perToken),
            people: people, clock: { Harness.now })
        add(router)
        return Application(responder: router.responder())
    }

    /// As many requests of a person as there are processors never give their thread back.
    @Test func whatIsAskedOnBehalfOfPeopleLeavesHealthItsThreads() async throws {
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

    @Test func aTokenThatHasItsShareUnderWayIsRefusedAndAnotherIsNot() async throws {
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

    /// A reader who takes the first piece of the lines, and the rest when the gate opens.
    private struct SlowLines: LogContent {
        let gate: Gate

        func next() async throws(StoreError) -> Data? {
            await gate.pass()
            return nil
        }
    }

    @Test func slowReadersOfOneOrganizationKeepNoOtherFromItsLogs() async throws {
        let gate = Gate()
        let read = Mutex(0)
        let archive = EmptyLogArchive(lines: {
            // Those who come when the shares are taken are not kept waiting, should they be let in.
            let count = read.withLock { read -> Int in
                read += 1
                return read
            }
            return count <= 3 ? SlowLines(gate: gate) : EmptyLogContent()
        })
        try await Harness(clock: { Harness.now }, archive: archive) { $0.logStreams = 4 }.route { client in
            @Sendable func content(_ person: String) async throws -> TestResponse {
                try await client.send(.get, "/api/v1/logs/content", bearer: person)
            }
            try await withThrowingTaskGroup(of: HTTPResponse.Status.self) { group in
                for person in ["viewer-default", "viewer-default", "operator-default"] {
                    group.addTask { try await content(person).status }
                }
                await gate.arrived(3)
                let again = try await content("viewer-default")
                #expect(again.status == .tooManyRequests)
                #expect(try again.problem.detail?.contains("This token has 2 answers with logs") == true)
                let colleague = try await content("administrator-default")
                #expect(colleague.status == .tooManyRequests)
                #expect(try colleague.problem.detail?.contains("this organization have 3 answers with logs") == true)
                #expect(try await content("viewer-other").status == .ok)
                gate.open()
                for try await status in group { #expect(status == .ok) }
                #expect(try await content("viewer-default").status == .ok)
            }
        }
    }
}
