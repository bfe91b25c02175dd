import Synchronization
import WireModel

/// Jobs that wait for a writer or are being written; bounded in bytes and parts. A job that does not fit is refused at
/// once.
package final class WriterPipeline: Sendable {
    package struct Limits: Sendable {
        /// Bytes of parts waiting and in the transaction under way. One request always fits into an empty pipeline.
        package var bytes = 64 << 20
        package var parts = 4096
        /// Bytes and parts that share one transaction.
        package var transactionBytes = 8 << 20
        package var transactionParts = 512

        package init() {}
    }

    package enum Admission: Equatable {
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

    package let limits: Limits
    private let state = Mutex(State())

    package init(limits: Limits) {
        self.limits = limits
    }

    package func admit(_ job: WriterJob) -> Admission {
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

    /// Returns the jobs that share the next transaction, in order of arrival; at least one if any waits. They count
    /// until they are released.
    package func drain() -> [WriterJob] {
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

    package func release(_ jobs: [WriterJob]) {
        state.withLock { state in
            for job in jobs {
                state.bytes -= job.byteCount
                state.parts -= job.partCount
            }
        }
    }

    /// Waiting and in the transaction under way.
    package var bytes: Int { state.withLock { $0.bytes } }

    package func shutDown() { state.withLock { $0.isShutDown = true } }
}

/// One request's work for one stream's writer: parts to append in order, an epoch to close, or items to number and
/// append. Settled once.
package final class WriterJob: Sendable {
    package enum Work: Sendable {
        case append([BatchPart])
        case close(epoch: EpochID, EpochClose.Stream)
        /// Of any devices.
        case number([UnnumberedItems])
    }

    package enum Outcome: Sendable {
        case appended([PartAnswer])
        case closed(Result<ClosedStream, StoreError>)
        case numbered([UnnumberedAnswer])
    }

    /// Whose parts or epoch they are. Items name their devices themselves; the job has the first one's.
    package let device: DeviceID
    package let receivedAt: Int64
    package let work: Work
    /// The size of what it holds in memory, in bytes.
    package let byteCount: Int
    private let settled = Mutex<Outcome?>(nil)

    package init(device: DeviceID, receivedAt: Int64, work: Work) {
        self.device = device
        self.receivedAt = receivedAt
        self.work = work
        switch work {
        case .append(let parts):
            byteCount = parts.reduce(0) { $0 + 256 + $1.gaps.count * 48 + $1.records.reduce(0) { $0 + $1.count + 32 } }
        case .close(_, let stream): byteCount = 256 + stream.points.count * 24
        case .number(let items): byteCount = items.reduce(0) { $0 + $1.byteCount }
        }
    }

    /// - Parameter items: at least one.
    package convenience init(numbering items: [UnnumberedItems], receivedAt: Int64) {
        self.init(device: items[0].device, receivedAt: receivedAt, work: .number(items))
    }

    package var partCount: Int {
        switch work {
        case .append(let parts): parts.count
        case .close: 1
        case .number(let items): items.count
        }
    }

    package var outcome: Outcome? { settled.withLock { $0 } }

    package func settle(_ outcome: Outcome) { settled.withLock { $0 = $0 ?? outcome } }

    /// The outcome with which the job is settled if nothing of it can be done now.
    /// - Parameter mark: the last known mark of a part's chain.
    package func refusal(_ error: StoreError, mark: (BatchPart) -> StreamMark = { _ in .none }) -> Outcome {
        switch work {
        case .append(let parts):
            .appended(
                parts.map { PartAnswer(unavailable: $0, mark: mark($0), detail: error.publicDescription) })
        case .close: .closed(.failure(error))
        case .number(let items):
            .numbered(items.map { _ in UnnumberedAnswer(unavailable: error.publicDescription) })
        }
    }
}

extension WriterJob {
    /// Gives each stream's parts to its writer, and puts the answers in the order of the parts.
    /// - Parameter perform: has the stream's writer do the job; `nil` without such a writer.
    package static func append(
        _ parts: [BatchPart], from device: DeviceID, receivedAt: Int64,
        perform: @escaping @Sendable (WriterJob, StreamName) async -> Outcome?
    ) async -> [PartAnswer] {
        var positions: [StreamName: [Int]] = [:]
        for (position, part) in parts.enumerated() { positions[part.stream, default: []].append(position) }
        var answers = [PartAnswer?](repeating: nil, count: parts.count)
        await withTaskGroup(of: (StreamName, Outcome?).self) { group in
            for (stream, places) in positions {
                let job = WriterJob(device: device, receivedAt: receivedAt, work: .append(places.map { parts[$0] }))
                group.addTask { (stream, await perform(job, stream)) }
            }
            for await (stream, outcome) in group {
                guard case .appended(let found) = outcome else { continue }
                for (place, answer) in zip(positions[stream] ?? [], found) { answers[place] = answer }
            }
        }
        return zip(parts, answers).map { part, answer in
            answer ?? PartAnswer(unavailable: part, mark: .none, detail: "no writer")
        }
    }
}

extension PartAnswer {
    /// The part cannot be decided now. The device sends it again.
    package init(unavailable part: BatchPart, mark: StreamMark, detail: String) {
        self.init(epoch: part.epoch, stream: part.stream, outcome: .unavailable, mark: mark, detail: detail)
    }
}
