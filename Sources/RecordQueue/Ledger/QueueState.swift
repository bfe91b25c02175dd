import WireModel

/// Everything of the queue but its rows: what is on disk as of the last commit, and the same in memory.
struct QueueState: Equatable, Sendable {
    var epoch: EpochID
    var clock: QueueClock
    var parting: QueueParting?
    var binding: QueueBinding?
    /// When a record was last set aside, on the queue clock.
    var quarantineTime: Int64?
    var streams: [StreamName: StreamLedger]

    init(epoch: EpochID, clock: QueueClock) {
        self.epoch = epoch
        self.clock = clock
        streams = Dictionary(uniqueKeysWithValues: StreamName.allCases.map { ($0, StreamLedger()) })
    }

    subscript(_ stream: StreamName) -> StreamLedger {
        get { streams[stream] ?? StreamLedger() }
        set { streams[stream] = newValue }
    }

    var bytes: UInt64 { streams.values.reduce(0) { $0 + $1.bytes } }
}
