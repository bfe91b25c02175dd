import WireModel

/// A table of records of one stream.
enum RecordTable: Hashable, Sendable {
    case current(StreamName)
    /// Of the ended epoch with this ordinal.
    case ended(Int64, StreamName)
    case consent(StreamName)

    var stream: StreamName {
        switch self {
        case .current(let stream), .ended(_, let stream), .consent(let stream): stream
        }
    }

    var name: String {
        switch self {
        case .current(let stream): stream.description
        case .ended(let ordinal, let stream): "ended_\(ordinal)_\(stream)"
        case .consent(let stream): "consent_\(stream)"
        }
    }
}
