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
    private let pool: SharedPool
    /// A lane stays for as long as its executor: a task does not keep its executor alive, and while `enqueue` still
    /// works, another thread may run the task to its end.
    private let lanes = Mutex<[String?: Lane]>([:])

    /// What all lanes share.
    fileprivate final class SharedPool: Sendable {
        let threads: NIOThreadPool
        let waiting = Mutex(Waiting())

        init(threads: Int) {
            self.threads = NIOThreadPool(numberOfThreads: max(1, threads))
            self.threads.start()
        }

        deinit { threads.shutdownGracefully { _ in } }
    }

    /// Steps that wait for a thread.
    fileprivate struct Waiting {
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

    /// Threads for the decoding of requests of OTLP, which tokens share as organizations do above. They also start at
    /// the first use.
    package static let otlp = PeopleExecutor(threads: System.coreCount)

    package init(threads: Int) { pool = SharedPool(threads: threads) }

    /// Where an organization's requests are worked on. Tokens for all organizations share the lane of `nil`.
    package func lane(of organization: String?) -> Lane {
        lanes.withLock { lanes in
            if let lane = lanes[organization] { return lane }
            let lane = Lane(pool, organization: organization)
            lanes.updateValue(lane, forKey: organization)
            return lane
        }
    }

    /// An organization's turns.
    package final class Lane: TaskExecutor {
        private let pool: SharedPool
        fileprivate let organization: String?

        fileprivate init(_ pool: SharedPool, organization: String?) {
            self.pool = pool
            self.organization = organization
        }

        package func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            pool.waiting.withLock { $0.add(job, self) }
            // Runs a job even if the pool has ended. Otherwise its task would never return.
            pool.threads.submit { [pool] _ in
                guard let step = pool.waiting.withLock({ $0.next() }) else { return }
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
