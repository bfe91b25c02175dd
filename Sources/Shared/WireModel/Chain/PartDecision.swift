import FoundationEssentials

/// The decision of a collector about a part, given its mark for that stream. A pure function of both: the collector's
/// side of exactly-once (Documentation/wire-protocol.md).
package enum PartDecision: Equatable, Sendable {
    /// The part's items do not cover `first...last`, or its chain does not end in `lastLink`. Nothing is stored.
    case damaged(String)
    /// The part overlaps the mark, and the collector has another history there. Nothing is stored.
    case identityConflict
    /// The whole part is at or below the mark. Nothing is stored.
    case already
    /// Store the slice and move the mark.
    case store(AcceptedSlice)

    /// Decides about a part.
    ///
    /// Numbers at or below the mark are skipped, and those above it accepted. If the part starts above mark + 1, the
    /// numbers between are counted as `lostAtCollector`. A record is rejected if it exceeds `maximumRecordBytes`, if
    /// its envelope is malformed, if the envelope's number differs from its position, or if only collectors make
    /// records of its kind. A rejected record keeps its number and its link, and the mark passes it.
    package static func decide(part: BatchPart, mark: StreamMark, maximumRecordBytes: Int = WireLimits.recordBytes)
        -> PartDecision
    {
        if let fault = part.tilingFault { return .damaged(fault) }

        var slice = AcceptedSlice(
            first: max(part.first, mark.number + 1), last: part.last, lastLink: part.lastLink, mark: mark)
        slice.priorLink = part.first > mark.number ? part.priorLink : mark.link
        var running = part.priorLink
        var position = part.first - 1
        var linkAtMark: ChainLink? = position == mark.number ? running : nil
        var gaps = part.gaps[...]
        var next = 0
        slice.records.reserveCapacity(part.records.count)
        while position < part.last {
            if let gap = gaps.first, gap.first == position + 1 {
                gaps.removeFirst()
                running = gap.link
                position = gap.last
                if gap.last > mark.number {
                    slice.gaps.append(
                        Gap(first: max(gap.first, mark.number + 1), last: gap.last, reason: gap.reason, link: gap.link))
                }
            } else {
                let record = part.records[next]
                next += 1
                running = running.appending(record)
                position += 1
                if position > mark.number {
                    slice.records.append(
                        AcceptedRecord(number: position, bytes: record, maximumBytes: maximumRecordBytes))
                }
            }
            if position == mark.number { linkAtMark = running }
        }
        guard running == part.lastLink else {
            return .damaged("the chain over \(part.first)...\(part.last) does not end in its last link")
        }
        if let linkAtMark, linkAtMark != mark.link { return .identityConflict }
        guard part.last > mark.number else { return .already }
        slice.advanceMark(from: mark, partFirst: part.first)
        return .store(slice)
    }
}

extension BatchPart {
    /// Why the items do not cover `first...last`; `nil` if they do.
    fileprivate var tilingFault: String? {
        guard first >= 1, first <= last, last <= Self.greatestNumber else { return "bad range \(first)...\(last)" }
        var covered: UInt64 = 0
        var floor = first
        for gap in gaps {
            guard gap.first >= floor, gap.first <= gap.last, gap.last <= last else {
                return "gap \(gap.first)...\(gap.last) out of place"
            }
            guard DropReason.valid.contains(gap.reason.rawValue) else {
                return "gap \(gap.first)...\(gap.last) has no valid reason"
            }
            covered += gap.count
            floor = gap.last + 1
        }
        let wanted = last - first + 1 - covered
        guard wanted == UInt64(records.count) else {
            return "\(records.count) records where \(wanted) numbers are not in gaps"
        }
        return nil
    }
}

/// The part of a batch part above the mark. One transaction stores it together with the new mark.
package struct AcceptedSlice: Equatable, Sendable {
    package let first: UInt64
    package let last: UInt64
    /// `link(first - 1)`. It is the mark's link if the slice continues the mark. If numbers between are lost, it is the
    /// link that the part states.
    package internal(set) var priorLink: ChainLink = .zero
    /// `link(last)`.
    package let lastLink: ChainLink
    /// Cut at the mark, ascending.
    package internal(set) var gaps: [Gap] = []
    /// All records of the slice, rejected ones included, ascending.
    package internal(set) var records: [AcceptedRecord] = []
    /// The mark after the slice is stored.
    package internal(set) var mark: StreamMark

    init(first: UInt64, last: UInt64, lastLink: ChainLink, mark: StreamMark) {
        self.first = first
        self.last = last
        self.lastLink = lastLink
        self.mark = mark
    }

    /// Numbers records behind a mark. They are well-formed, because `NewRecord` writes them.
    /// - Parameter records: at least one, each of which fits into a store.
    package init(numbering records: [NewRecord], after mark: StreamMark) {
        var running = mark.link
        var numbered: [AcceptedRecord] = []
        numbered.reserveCapacity(records.count)
        for (place, record) in records.enumerated() {
            let number = mark.number + 1 + UInt64(place)
            let bytes = record.serialized(number: number)
            running = running.appending(bytes)
            numbered.append(AcceptedRecord(number: number, bytes: bytes, of: record))
        }
        self.init(
            first: mark.number + 1, last: mark.number + UInt64(records.count), lastLink: running, mark: mark)
        priorLink = mark.link
        self.records = numbered
        advanceMark(from: mark, partFirst: first)
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

/// A record above the mark, and whether its form is valid.
package struct AcceptedRecord: Equatable, Sendable {
    package let number: UInt64
    package let bytes: Data
    /// `nil` if the record is stored.
    package let rejection: RejectReason?
    /// The kind from the envelope. Kind and time are 0 if the envelope is malformed.
    package let kind: Int
    /// The device's wall clock, in microseconds.
    package let wallTime: Int64

    init(number: UInt64, bytes: Data, maximumBytes: Int) {
        self.number = number
        self.bytes = bytes
        let envelope = bytes.withUnsafeBytes { RecordEnvelope(scanning: $0) }
        kind = envelope?.kind ?? 0
        wallTime = envelope?.wallTime ?? 0
        rejection =
            if bytes.count > maximumBytes {
                .recordTooLarge
            } else if envelope?.number != number {
                .malformedEnvelope
            } else if let envelope, !envelope.mayComeFromDevice {
                .policy
            } else {
                nil
            }
    }

    /// A record that the collector has numbered itself.
    init(number: UInt64, bytes: Data, of record: NewRecord) {
        self.number = number
        self.bytes = bytes
        rejection = nil
        kind = record.kind.rawValue
        wallTime = record.stamp.wallTime
    }
}
