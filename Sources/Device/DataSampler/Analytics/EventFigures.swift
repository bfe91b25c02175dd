import RecordQueue
import WireModel

/// What has become of the events of one epoch: totals of the queue's event stream, and what it holds now.
struct EventFigures: Codable, Equatable, Sendable {
    /// The queue's epoch: another one counts from zero.
    var epoch: String
    /// Stored, by the collector's word.
    var sent: UInt64
    /// Left the queue without having been stored, for whatever reason.
    var dropped: UInt64
    /// Waiting now because their hold is not over.
    var held: UInt64
}

extension EventFigures {
    /// - Parameter status: of the queue, asked with the hold of the event stream.
    init(_ status: QueueStatus) {
        let events = status.streams[.event]
        self.init(
            epoch: "\(status.epoch)", sent: events?.mark.stored ?? 0, dropped: events?.dropped.values.reduce(0, +) ?? 0,
            held: events.map { $0.waiting - min($0.waiting, $0.due) } ?? 0)
    }
}
