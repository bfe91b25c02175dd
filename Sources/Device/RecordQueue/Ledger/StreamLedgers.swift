import WireModel

/// The ledgers of one epoch: one for each stream.
struct StreamLedgers: Equatable, Sendable {
    private var values = [StreamLedger](repeating: StreamLedger(), count: StreamName.allCases.count)

    subscript(_ stream: StreamName) -> StreamLedger {
        get { values[stream.rawValue - 1] }
        // In place: a ledger holds arrays, and every record goes through here.
        _modify { yield &values[stream.rawValue - 1] }
    }

    var rowCount: UInt64 { values.reduce(0) { $0 + $1.rowCount } }
    var bytes: UInt64 { values.reduce(0) { $0 + $1.bytes } }
}
