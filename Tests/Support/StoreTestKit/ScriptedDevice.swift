import Foundation
import WireModel

/// One stream of one epoch of a device, as far as a collector sees it: it makes records and cuts parts of what it
/// holds.
package struct ScriptedDevice {
    package enum Item {
        case record(number: UInt64, bytes: Data, link: ChainLink)
        case gap(Gap)

        package var last: UInt64 {
            switch self {
            case .record(let number, _, _): number
            case .gap(let gap): gap.last
            }
        }

        package var link: ChainLink {
            switch self {
            case .record(_, _, let link): link
            case .gap(let gap): gap.link
            }
        }
    }

    package let device: DeviceID
    package var epoch: EpochID
    package let stream: StreamName
    package var last: UInt64 = 0
    package var link = ChainLink.zero
    package var held: [Item] = []
    package var mark = StreamMark.none
    /// Every record ever made, by number.
    package var made: [UInt64: Data] = [:]
    package var links: [UInt64: ChainLink] = [0: .zero]

    package init(device: DeviceID = .random(), epoch: EpochID = .random(), stream: StreamName = .sample) {
        self.device = device
        self.epoch = epoch
        self.stream = stream
    }

    package mutating func produce(
        _ count: Int = 1, kind: WireRecordKind = .sampleSystem, module: String = "system", bodyBytes: Int = 40
    ) {
        for _ in 0..<count {
            let number = last + 1
            let record = NewRecord(
                stream: stream, kind: kind, module: module,
                stamp: RecordStamp(
                    wallTime: Int64(1_700_000_000_000_000) + Int64(number), bootID: nil, timeSinceBoot: number),
                body: .filler(bodyBytes, seed: number))
            append(record.serialized(number: number))
        }
    }

    /// Any bytes, well-formed or not.
    package mutating func append(_ bytes: Data) {
        last += 1
        link = link.appending(bytes)
        made[last] = bytes
        links[last] = link
        held.append(.record(number: last, bytes: bytes, link: link))
    }

    /// Replaces up to `count` of the oldest items by one gap, merging with a gap of the same reason.
    @discardableResult
    package mutating func dropOldest(_ count: Int, reason: DropReason = .byteCap) -> Set<UInt64> {
        var first: UInt64?
        var end: Item?
        var dropped: Set<UInt64> = []
        while !held.isEmpty, dropped.count < count {
            let item = held.removeFirst()
            switch item {
            case .record(let number, _, _):
                first = first ?? number
                dropped.insert(number)
            case .gap(let gap): first = first ?? gap.first
            }
            end = item
        }
        if let first, let end {
            held.insert(.gap(Gap(first: first, last: end.last, reason: reason, link: end.link)), at: 0)
        }
        return dropped
    }

    /// The first `count` items of what is held.
    package func part(_ count: Int = .max) -> BatchPart? {
        let items = held.prefix(count)
        guard let front = items.first, let back = items.last else { return nil }
        var records: [Data] = []
        var gaps: [Gap] = []
        var first = front.last
        if case .gap(let gap) = front { first = gap.first }
        for item in items {
            switch item {
            case .record(_, let bytes, _): records.append(bytes)
            case .gap(let gap): gaps.append(gap)
            }
        }
        return BatchPart(
            epoch: epoch, stream: stream, first: first, last: back.last, priorLink: mark.link, lastLink: back.link,
            gaps: gaps,
            totals: totals, records: records)
    }

    package var totals: StreamTotals {
        var totals = StreamTotals(produced: last)
        for item in held {
            switch item {
            case .record: totals.waiting += 1
            case .gap(let gap): totals.dropped[gap.reason, default: 0] += gap.count
            }
        }
        return totals
    }

    @discardableResult
    package mutating func apply(_ answer: PartAnswer) -> MarkDecision {
        let decision = MarkDecision.decide(
            answered: answer.mark, outcome: answer.outcome, ownMark: mark.number, lastProduced: last,
            ownLink: { number in held.first { $0.last == number }?.link })
        if decision == .remove {
            held.removeAll { $0.last <= answer.mark.number }
            mark = answer.mark
        }
        return decision
    }
}
