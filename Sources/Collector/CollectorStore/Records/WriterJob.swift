import Synchronization
import WireModel

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
