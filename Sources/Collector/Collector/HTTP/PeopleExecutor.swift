import Hummingbird
import NIOCore
import NIOPosix

/// Threads of their own for what people and scripts ask: reading their JSON, computing over records, compressing
/// answers.
///
/// Swift's own threads, one for each core, then stay free for devices and for `/livez`, however much people ask for at
/// a time. The system shares the cores between both.
package final class PeopleExecutor: TaskExecutor {
    private let pool: NIOThreadPool

    /// Its threads start at the first use. No default value may use it: a program makes the defaults while it parses
    /// its arguments, and checks only after that whether its limit on memory leaves room for threads.
    package static let shared = PeopleExecutor(threads: System.coreCount)

    package init(threads: Int) {
        pool = NIOThreadPool(numberOfThreads: max(1, threads))
        pool.start()
    }

    deinit { pool.shutdownGracefully { _ in } }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // Runs the job even if the pool has ended. Otherwise its task would never return.
        pool.submit { [self] _ in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// An answer whose body is made here too, piece by piece.
    fileprivate func finishing(_ response: Response) -> Response {
        // A body whose length is known is in memory already.
        guard response.body.contentLength == nil else { return response }
        let body = response.body
        var response = response
        response.body = ResponseBody { [self] writer in
            try await withTaskExecutorPreference(self) { try await body.write(writer) }
        }
        return response
    }
}

/// Bounds how many requests of people are worked on at a time, and where.
struct PeopleLoad: RouterMiddleware {
    let shares: RequestShares
    let executor: PeopleExecutor

    func handle(_ request: Request, context: PersonContext, next: Next<PersonContext>) async throws -> Response {
        let place = try context.takePlace(in: shares, for: "requests")
        defer { place.giveBack() }
        return try await withTaskExecutorPreference(executor) { executor.finishing(try await next(request, context)) }
    }
}
