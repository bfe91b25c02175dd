import Hummingbird
import NIOCore
import NIOPosix
import Registry
import Synchronization

/// Threads of their own for what people and scripts ask: reading their JSON, computing over records, compressing
/// answers.
///
/// Organizations take turns: a step of one waits for one step of each other that has work, however much another asks
/// for.
///
/// Swift's own threads, one for each core, then stay free for devices and for `/livez`, however much people ask for at
/// a time. The system shares the cores between both.
package final class PeopleExecutor: Sendable {
    private let pool: NIOThreadPool
    private let waiting = Mutex(Waiting())

    /// Steps that wait for a thread.
    private struct Waiting {
        var lanes: [String?: CircularBuffer<(job: UnownedJob, lane: Lane)>] = [:]
        /// The organizations that have a step, in the order of their turns.
        var turns: CircularBuffer<String?> = []

        mutating func add(_ job: UnownedJob, _ lane: Lane) {
            if lanes[lane.organization, default: .init()].isEmpty { turns.append(lane.organization) }
            lanes[lane.organization, default: .init()].append((job, lane))
        }

        mutating func next() -> (job: UnownedJob, lane: Lane)? {
            guard let organization = turns.popFirst(), var steps = lanes.removeValue(forKey: organization) else {
                return nil
            }
            let step = steps.popFirst()
            if !steps.isEmpty {
                lanes.updateValue(steps, forKey: organization)
                turns.append(organization)
            }
            return step
        }
    }

    /// Its threads start at the first use. No default value may use it: a program makes the defaults while it parses
    /// its arguments, and checks only after that whether its limit on memory leaves room for threads.
    package static let shared = PeopleExecutor(threads: System.coreCount)

    package init(threads: Int) {
        pool = NIOThreadPool(numberOfThreads: max(1, threads))
        pool.start()
    }

    deinit { pool.shutdownGracefully { _ in } }

    /// Where an organization's requests are worked on. Tokens for all organizations share the lane of `nil`.
    package func lane(of organization: String?) -> Lane { Lane(executor: self, organization: organization) }

    /// An organization's turns.
    package final class Lane: TaskExecutor {
        private let executor: PeopleExecutor
        fileprivate let organization: String?

        fileprivate init(executor: PeopleExecutor, organization: String?) {
            self.executor = executor
            self.organization = organization
        }

        package func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            executor.waiting.withLock { $0.add(job, self) }
            // Runs a job even if the pool has ended. Otherwise its task would never return.
            executor.pool.submit { [executor] _ in
                guard let step = executor.waiting.withLock({ $0.next() }) else { return }
                step.job.runSynchronously(on: step.lane.asUnownedTaskExecutor())
            }
        }

        /// An answer whose body is made here too, piece by piece. It keeps its place until it is written: what nobody
        /// reads is in memory as well.
        fileprivate func finishing(_ response: Response, _ place: RequestShares.Place) -> Response {
            let body = response.body
            var response = response
            response.body = ResponseBody(contentLength: body.contentLength) { [self] writer in
                defer { place.giveBack() }
                try await withTaskExecutorPreference(self) { try await body.write(writer) }
            }
            return response
        }
    }
}

/// Bounds how many requests of people are worked on at a time, and where.
struct PeopleLoad: RouterMiddleware {
    let shares: RequestShares
    let executor: PeopleExecutor

    func handle(_ request: Request, context: PersonContext, next: Next<PersonContext>) async throws -> Response {
        // Whoever drops the answer, or the error of the request, lets go of the place.
        let place = try context.acquirePlace(in: shares, for: "requests")
        let lane = executor.lane(of: context.person.organization)
        return try await withTaskExecutorPreference(lane) { lane.finishing(try await next(request, context), place) }
    }
}
