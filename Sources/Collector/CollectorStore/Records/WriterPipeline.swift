import Synchronization
import WireModel

/// Jobs that wait for a writer or are being written; bounded in bytes and parts. A job that does not fit is refused at
/// once.
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

    /// What shares the next transaction, in order of arrival; at least one job if any waits. It counts until it is
    /// released.
    func take() -> [WriterJob] {
        state.withLock { state in
            var bytes = 0
            var parts = 0
            let count = state.waiting.prefix { job in
                guard
                    parts == 0
                        || bytes + job.byteCount <= limits.transactionBytes
                            && parts + job.partCount <= limits.transactionParts
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

/// One request's work for one stream's writer: parts to append in order, or an epoch to close. Settled once.
final class WriterJob: Sendable {
    enum Work: Sendable {
        case append([BatchPart])
        case close(epoch: EpochID, EpochClose.Stream)
    }

    enum Outcome: Sendable {
        case appended([PartAnswer])
        case closed(Result<ClosedStream, StoreError>)
    }

    let device: DeviceID
    let receivedAt: Int64
    let work: Work
    /// What it holds in memory, in bytes.
    let byteCount: Int
    private let settled = Mutex<Outcome?>(nil)

    init(device: DeviceID, receivedAt: Int64, work: Work) {
        self.device = device
        self.receivedAt = receivedAt
        self.work = work
        switch work {
        case .append(let parts):
            byteCount = parts.reduce(0) { $0 + 256 + $1.gaps.count * 48 + $1.records.reduce(0) { $0 + $1.count + 32 } }
        case .close(_, let stream): byteCount = 256 + stream.points.count * 24
        }
    }

    var partCount: Int {
        if case .append(let parts) = work { parts.count } else { 1 }
    }

    var outcome: Outcome? { settled.withLock { $0 } }

    func settle(_ outcome: Outcome) { settled.withLock { $0 = $0 ?? outcome } }
}
