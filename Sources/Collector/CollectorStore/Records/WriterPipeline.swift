import Synchronization

/// What waits for a writer and what it is working on: bounded in bytes and parts; what does not fit is refused at once.
final class WriterPipeline: Sendable {
    struct Limits: Sendable {
        /// Bytes of parts waiting and in the transaction under way. One request always fits into an empty pipeline.
        var bytes = 64 << 20
        var parts = 4096
        /// Bytes and parts that share one transaction.
        var transactionBytes = 8 << 20
        var transactionParts = 512
    }

    enum Admission: Equatable {
        case admitted
        case full(bytes: Int, parts: Int)
        case shutDown
    }

    private struct State {
        var waiting: [WriterJob] = []
        var bytes = 0
        var parts = 0
        var isShutDown = false
    }

    let limits: Limits
    private let state = Mutex(State())

    init(limits: Limits) {
        self.limits = limits
    }

    func admit(_ job: WriterJob) -> Admission {
        state.withLock { state in
            if state.isShutDown { return .shutDown }
            let fits = state.bytes + job.byteCount <= limits.bytes && state.parts + job.partCount <= limits.parts
            guard fits || state.parts == 0 else { return .full(bytes: state.bytes, parts: state.parts) }
            state.waiting.append(job)
            state.bytes += job.byteCount
            state.parts += job.partCount
            return .admitted
        }
    }

    /// What shares the next transaction, in order of arrival; at least one job if any waits. It counts until it is released.
    func take() -> [WriterJob] {
        state.withLock { state in
            var bytes = 0
            var parts = 0
            let count = state.waiting.prefix { job in
                guard parts == 0 || bytes + job.byteCount <= limits.transactionBytes && parts + job.partCount <= limits.transactionParts
                else { return false }
                bytes += job.byteCount
                parts += job.partCount
                return true
            }.count
            let taken = Array(state.waiting.prefix(count))
            state.waiting.removeFirst(count)
            return taken
        }
    }

    func release(_ jobs: [WriterJob]) {
        state.withLock { state in
            for job in jobs {
                state.bytes -= job.byteCount
                state.parts -= job.partCount
            }
        }
    }

    /// Waiting and in the transaction under way.
    var bytes: Int { state.withLock { $0.bytes } }

    func shutDown() { state.withLock { $0.isShutDown = true } }
}
