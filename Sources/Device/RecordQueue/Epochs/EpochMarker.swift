import FoundationEssentials
import WireModel

/// The current epoch, and the last numbers it has given: what `queue.epoch` says of the queue (MarkerFile.swift has the
/// format).
///
/// It is a second witness beside the database, for the day on which that cannot be read, is gone, or has lost its
/// newest commits.
struct EpochMarker: Equatable, Sendable {
    /// One stream.
    struct Stream: Equatable, Sendable {
        /// The last number given.
        var last: UInt64 = 0
        /// Its link.
        var link = ChainLink.zero
        /// Of the records that wait for consent: up to which place they have left, the last place, and how many wait.
        var consentFront: UInt64 = 0
        var consentLast: UInt64 = 0
        var consentWaiting: UInt64 = 0
    }

    var epoch: EpochID
    var ordinal: Int64
    /// By stream; `nil` in a marker of an older version, which did not know them.
    var streams: [StreamName: Stream]?

    init(epoch: EpochID, ordinal: Int64, streams: [StreamName: Stream]?) {
        self.epoch = epoch
        self.ordinal = ordinal
        self.streams = streams
    }

    init(_ state: QueueState) {
        var streams: [StreamName: Stream] = [:]
        for stream in StreamName.allCases {
            let ledger = state[stream]
            let consent = state.consent[stream]
            streams[stream] = Stream(
                last: ledger.last, link: ledger.lastLink, consentFront: consent.front, consentLast: consent.last,
                consentWaiting: consent.rowCount)
        }
        self.init(epoch: state.epoch, ordinal: state.ordinal, streams: streams)
    }

    /// What the marker of a directory says; `nil` where there is none, or it says nothing.
    init?(in directory: String) {
        guard let marker = MarkerFile(directory: directory).marker else { return nil }
        self = marker
    }

    /// What the marker knows to have been on synced disk and a database does not have any more, in words; `nil`:
    /// nothing.
    ///
    /// The marker is written after the commit it tells of, so it is never ahead of a database that is whole.
    func finding(against state: QueueState) -> String? {
        if ordinal > state.ordinal {
            return
                "\(QueueFile.markerName) names epoch \(epoch), the file's epoch number \(ordinal), and "
                + "the file knows only "
                + "\(state.ordinal); what was committed last is missing: \(Self.cause)"
        }
        // A marker of an epoch before is only late; one of another history says nothing about this file.
        guard ordinal == state.ordinal, epoch == state.epoch, let streams else { return nil }
        let missing = streams.sorted { $0.key < $1.key }.compactMap { stream, known -> String? in
            let (last, apart) = (state[stream].last, state.consent[stream].last)
            if known.last > last {
                return "\(known.last - last) of stream \(stream) (its last number was \(known.last) and is \(last))"
            }
            return known.consentLast > apart
                ? "\(known.consentLast - apart) of stream \(stream) that waited for consent" : nil
        }
        guard !missing.isEmpty else { return nil }
        return
            "\(QueueFile.markerName) knows of records on synced disk that are missing, \(missing.joined(separator: ", ")): \(Self.cause)"
    }

    private static let cause =
        "\(QueueFile.databaseName)-wal was damaged, cut or removed, or an older copy of the file was put in its place"
}
