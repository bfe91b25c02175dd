import FoundationEssentials
import SwiftProtobuf

/// Converts `BatchPart` and its contents to and from the generated messages.
extension BatchPart {
    package init(_ wire: WireBatchPart) throws(WireError) {
        self.init(
            epoch: try Identifier.required(wire.epoch, "part.epoch"), stream: try StreamName(wire.stream, in: "part"),
            first: wire.first, last: wire.last, priorLink: try ChainLink.required(wire.priorLink, "part.prior_link"),
            lastLink: try ChainLink.required(wire.lastLink, "part.last_link"), gaps: [],
            totals: StreamTotals(wire.totals),
            records: wire.records)
        gaps.reserveCapacity(wire.gaps.count)
        for gap in wire.gaps { gaps.append(try Gap(gap)) }
    }

    package var wire: WireBatchPart {
        var wire = WireBatchPart()
        wire.epoch = epoch.data
        wire.stream = stream.wire
        wire.first = first
        wire.last = last
        wire.priorLink = priorLink.data
        wire.lastLink = lastLink.data
        wire.gaps = gaps.map(\.wire)
        wire.totals = totals.wire
        wire.records = records
        return wire
    }
}

extension Gap {
    package init(_ wire: WireGap) throws(WireError) {
        self.init(
            first: wire.first, last: wire.last, reason: DropReason(rawValue: wire.reason.rawValue),
            link: try ChainLink.required(wire.link, "gap.link"))
    }

    package var wire: WireGap {
        var wire = WireGap()
        wire.first = first
        wire.last = last
        wire.reason = WireDropReason(rawValue: reason.rawValue) ?? .unspecified
        wire.link = link.data
        return wire
    }
}

extension StreamTotals {
    package init(_ wire: WireStreamTotals) {
        self.init(
            produced: wire.produced, waiting: wire.waiting, apart: wire.apart,
            dropped: [DropReason: UInt64](wire.dropped),
            droppedUnnumbered: [DropReason: UInt64](wire.droppedUnnumbered))
    }

    package var wire: WireStreamTotals {
        var wire = WireStreamTotals()
        wire.produced = produced
        wire.waiting = waiting
        wire.apart = apart
        wire.dropped = dropped.wire
        wire.droppedUnnumbered = droppedUnnumbered.wire
        return wire
    }
}

extension StreamName {
    package init(_ wire: WireStream, in place: String) throws(WireError) {
        guard let stream = StreamName(rawValue: wire.rawValue) else {
            throw WireError(
                .invalidField, "\(place).stream is \(wire.rawValue); expected 1 (status), 2 (event) or 3 (sample)")
        }
        self = stream
    }

    package var wire: WireStream { WireStream(rawValue: rawValue) ?? .unspecified }
}

extension Identifier {
    package static func required(_ bytes: Data, _ field: String) throws(WireError) -> Self {
        guard let identifier = Self(bytes) else {
            throw WireError(.invalidField, "\(field) has \(bytes.count) bytes; expected 16")
        }
        return identifier
    }
}

extension ChainLink {
    package static func required(_ bytes: Data, _ field: String) throws(WireError) -> Self {
        guard let link = Self(bytes) else {
            throw WireError(.invalidField, "\(field) has \(bytes.count) bytes; expected 16")
        }
        return link
    }
}

extension [DropReason: UInt64] {
    /// Adds up counts of the same reason, saturating.
    package init(_ wire: [WireDropCount]) {
        self = [:]
        for entry in wire { self[DropReason(rawValue: entry.reason.rawValue), default: 0].addSaturating(entry.count) }
    }

    package var wire: [WireDropCount] {
        sorted { $0.key < $1.key }.filter { $0.value > 0 }.map { reason, count in
            var entry = WireDropCount()
            entry.reason = WireDropReason(rawValue: reason.rawValue) ?? .unspecified
            entry.count = count
            return entry
        }
    }
}

extension [RejectReason: UInt64] {
    /// Adds up counts of the same reason, saturating.
    package init(_ wire: [WireRejectCount]) {
        self = [:]
        for entry in wire { self[RejectReason(rawValue: entry.reason.rawValue), default: 0].addSaturating(entry.count) }
    }

    package var wire: [WireRejectCount] {
        sorted { $0.key < $1.key }.filter { $0.value > 0 }.map { reason, count in
            var entry = WireRejectCount()
            entry.reason = WireRejectReason(rawValue: reason.rawValue) ?? .unspecified
            entry.count = count
            return entry
        }
    }
}

/// Converts a collector's answer to and from the generated messages.
extension PartAnswer {
    package init(_ wire: WirePartAnswer) throws(WireError) {
        self.init(
            epoch: try Identifier.required(wire.epoch, "answer.epoch"),
            stream: try StreamName(wire.stream, in: "answer"),
            outcome: PartOutcome(rawValue: wire.outcome.rawValue) ?? .unknown, mark: try StreamMark(wire.mark),
            detail: wire.detail)
    }

    package var wire: WirePartAnswer {
        var wire = WirePartAnswer()
        wire.epoch = epoch.data
        wire.stream = stream.wire
        wire.outcome = WirePartOutcome(rawValue: outcome.rawValue) ?? .unspecified
        wire.mark = mark.wire
        wire.detail = detail
        return wire
    }
}

extension StreamMark {
    /// An empty link means the link of number 0. A mark whose counts do not add up to its number is refused, because
    /// adopting it would break the balance. So is a number that no record can have.
    package init(_ wire: WireMark) throws(WireError) {
        self.init(
            number: wire.number,
            link: wire.link.isEmpty && wire.number == 0 ? .zero : try ChainLink.required(wire.link, "mark.link"),
            stored: wire.stored, rejected: [RejectReason: UInt64](wire.rejected),
            dropped: [DropReason: UInt64](wire.dropped),
            lostAtCollector: wire.lostAtCollector)
        guard addsUp else {
            throw WireError(.invalidField, "the counts of the mark do not add up to its number \(number)")
        }
        guard number <= BatchPart.greatestNumber else {
            throw WireError(.invalidField, "the mark's number \(number) is impossible")
        }
    }

    package var wire: WireMark {
        var wire = WireMark()
        wire.number = number
        wire.link = link.data
        wire.stored = stored
        wire.rejected = rejected.wire
        wire.dropped = dropped.wire
        wire.lostAtCollector = lostAtCollector
        return wire
    }
}
