import FoundationEssentials

/// The part of a batch part that lies above the mark: what one transaction stores, and the mark after it.
package struct AcceptedSlice: Equatable, Sendable {
    package let first: UInt64
    package let last: UInt64
    /// `link(first - 1)`: the mark's link where the slice continues the mark, the part's word where numbers are lost in between.
    package internal(set) var priorLink: ChainLink = .zero
    /// `link(last)`.
    package let lastLink: ChainLink
    /// Cut at the mark, ascending.
    package internal(set) var gaps: [Gap] = []
    /// All records of the slice, rejected ones included, ascending.
    package internal(set) var records: [AcceptedRecord] = []
    /// The mark once the slice is stored.
    package internal(set) var mark: StreamMark

    init(first: UInt64, last: UInt64, lastLink: ChainLink, mark: StreamMark) {
        self.first = first
        self.last = last
        self.lastLink = lastLink
        self.mark = mark
    }

    mutating func advanceMark(from former: StreamMark, partFirst: UInt64) {
        if partFirst > former.number + 1 { mark.lostAtCollector += partFirst - 1 - former.number }
        for record in records {
            if let reason = record.rejection { mark.rejected[reason, default: 0] += 1 } else { mark.stored += 1 }
        }
        for gap in gaps { mark.dropped[gap.reason, default: 0] += gap.count }
        mark.number = last
        mark.link = lastLink
    }
}

/// A record above the mark with the collector's verdict on its form.
package struct AcceptedRecord: Equatable, Sendable {
    package let number: UInt64
    package let bytes: Data
    /// `nil` where the record is stored.
    package let rejection: RejectReason?
    /// As its envelope says; 0 where that is malformed, and so is the time.
    package let kind: Int
    /// The device's, microseconds.
    package let wallTime: Int64

    init(number: UInt64, bytes: Data, maximumBytes: Int) {
        self.number = number
        self.bytes = bytes
        let envelope = bytes.withUnsafeBytes { RecordEnvelope(scanning: $0) }
        kind = envelope?.kind ?? 0
        wallTime = envelope?.wallTime ?? 0
        rejection =
            bytes.count > maximumBytes ? .recordTooLarge : envelope?.number != number ? .malformedEnvelope : nil
    }
}
