import Foundation
import Testing
import WireModel

/// The collector's rule of exactly-once, case by case.
@Suite struct PartDecisionTests {
    /// A stream of ten records as one device made them.
    struct Stream {
        let records: [Data]
        let links: [ChainLink]

        init(count: Int, seed: UInt8 = 0) {
            var link = ChainLink.zero
            var records: [Data] = []
            var links = [link]
            for number in 1...UInt64(count) {
                let record = NewRecord(
                    stream: .event, kind: .event, stamp: RecordStamp(wallTime: 1, bootID: nil, timeSinceBoot: 2),
                    body: Data([seed, 1])
                ).serialized(number: number)
                link = link.appending(record)
                records.append(record)
                links.append(link)
            }
            self.records = records
            self.links = links
        }

        func part(_ first: UInt64, _ last: UInt64, gaps: [ClosedRange<UInt64>] = [], reason: DropReason = .byteCap)
            -> BatchPart
        {
            BatchPart(
                epoch: GoldenMessages.epoch, stream: .event, first: first, last: last, priorLink: links[Int(first - 1)],
                lastLink: links[Int(last)],
                gaps: gaps.map {
                    Gap(first: $0.lowerBound, last: $0.upperBound, reason: reason, link: links[Int($0.upperBound)])
                },
                records: (first...last).filter { number in !gaps.contains { $0.contains(number) } }.map {
                    records[Int($0) - 1]
                })
        }

        func mark(_ number: UInt64) -> StreamMark {
            StreamMark(number: number, link: links[Int(number)], stored: number)
        }
    }

    let stream = Stream(count: 10)

    private func stored(_ decision: PartDecision, sourceLocation: SourceLocation = #_sourceLocation) throws
        -> AcceptedSlice
    {
        guard case .store(let slice) = decision else {
            Issue.record("\(decision) instead of a slice", sourceLocation: sourceLocation)
            throw WireError(.malformed, "no slice")
        }
        #expect(slice.mark.addsUp, sourceLocation: sourceLocation)
        return slice
    }

    @Test func `A first part is stored whole and moves the mark to its last`() throws {
        let slice = try stored(PartDecision.decide(part: stream.part(1, 4), mark: .none))
        #expect(slice.records.map(\.number) == [1, 2, 3, 4])
        #expect(slice.mark == stream.mark(4))
    }

    @Test func `Numbers at or below the mark are skipped`() throws {
        let slice = try stored(PartDecision.decide(part: stream.part(2, 7), mark: stream.mark(5)))
        #expect(slice.records.map(\.number) == [6, 7])
        #expect(slice.first == 6 && slice.priorLink == stream.links[5])
        #expect(slice.mark == stream.mark(7))
    }

    @Test func `A part wholly below the mark stores nothing`() {
        #expect(PartDecision.decide(part: stream.part(1, 5), mark: stream.mark(5)) == .already)
        #expect(PartDecision.decide(part: stream.part(2, 3), mark: stream.mark(5)) == .already)
    }

    @Test func `A part beyond the mark is stored, and the range between is lost at the collector`() throws {
        let slice = try stored(PartDecision.decide(part: stream.part(5, 6), mark: stream.mark(2)))
        #expect(slice.mark.lostAtCollector == 2)
        #expect(slice.priorLink == stream.links[4])
        #expect(slice.mark.number == 6)
    }

    @Test func `Gaps count as dropped only above the mark`() throws {
        let part = stream.part(1, 9, gaps: [1...4, 5...6])
        let slice = try stored(PartDecision.decide(part: part, mark: stream.mark(6)))
        #expect(slice.mark.dropped.isEmpty)
        let inside = try stored(PartDecision.decide(part: part, mark: stream.mark(3)))
        #expect(inside.mark.dropped == [.byteCap: 3])
        #expect(inside.gaps.map(\.first) == [4, 5])
    }

    @Test func `Gaps alone move the mark`() throws {
        let slice = try stored(PartDecision.decide(part: stream.part(1, 3, gaps: [1...3]), mark: .none))
        #expect(slice.mark == StreamMark(number: 3, link: stream.links[3], dropped: [.byteCap: 3]))
    }

    @Test func `Another history at the mark is a conflict`() {
        let other = Stream(count: 10, seed: 9)
        #expect(PartDecision.decide(part: other.part(6, 8), mark: stream.mark(5)) == .identityConflict)
        #expect(PartDecision.decide(part: other.part(3, 8), mark: stream.mark(5)) == .identityConflict)
        #expect(PartDecision.decide(part: other.part(3, 5), mark: stream.mark(5)) == .identityConflict)
        #expect(
            PartDecision.decide(part: other.part(1, 3), mark: StreamMark(number: 0, link: ChainLink(high: 1, low: 1)))
                == .identityConflict)
    }

    @Test func `A mark inside a gap has nothing to compare`() throws {
        let other = Stream(count: 10, seed: 9)
        let slice = try stored(PartDecision.decide(part: other.part(1, 8, gaps: [1...6]), mark: stream.mark(5)))
        #expect(slice.records.map(\.number) == [7, 8])
        // At the gap's last number there is a link to compare.
        #expect(PartDecision.decide(part: other.part(1, 8, gaps: [1...5]), mark: stream.mark(5)) == .identityConflict)
    }

    @Test func `A part that does not tile or chain is damaged`() {
        func damaged(_ change: (inout BatchPart) -> Void) -> Bool {
            var part = stream.part(2, 6, gaps: [2...3])
            change(&part)
            if case .damaged = PartDecision.decide(part: part, mark: stream.mark(1)) { return true }
            return false
        }
        #expect(damaged { $0.records.removeLast() })
        #expect(damaged { $0.records.append(Data()) })
        #expect(damaged { $0.records.swapAt(0, 1) })
        #expect(damaged { $0.records[1].append(0) })
        #expect(damaged { $0.first = 0 })
        #expect(damaged { $0.first = 7 })
        #expect(damaged { $0.last = .max })
        #expect(damaged { $0.lastLink = .zero })
        #expect(damaged { $0.gaps[0] = Gap(first: 1, last: 3, reason: .byteCap, link: $0.gaps[0].link) })
        #expect(damaged { $0.gaps[0] = Gap(first: 2, last: 7, reason: .byteCap, link: $0.gaps[0].link) })
        #expect(damaged { $0.gaps[0] = Gap(first: 3, last: 2, reason: .byteCap, link: $0.gaps[0].link) })
        #expect(damaged { $0.gaps.append($0.gaps[0]) })
        for reason in [0, -1, 256] {
            #expect(
                damaged {
                    $0.gaps[0] = Gap(first: 2, last: 3, reason: DropReason(rawValue: reason), link: $0.gaps[0].link)
                })
        }
        #expect(!damaged { _ in })
    }

    @Test func `Bad records are rejected and keep their number, and the mark passes them`() throws {
        var link = ChainLink.zero
        let records = [Data([0xFF]), stream.records[0], stream.records[2], Data(count: WireLimits.recordBytes + 1)]
        for record in records { link = link.appending(record) }
        let part = BatchPart(
            epoch: GoldenMessages.epoch, stream: .event, first: 1, last: 4, priorLink: .zero, lastLink: link,
            records: records)
        let slice = try stored(PartDecision.decide(part: part, mark: .none))
        #expect(slice.records.map(\.rejection) == [.malformedEnvelope, .malformedEnvelope, nil, .recordTooLarge])
        #expect(
            slice.mark
                == StreamMark(number: 4, link: link, stored: 1, rejected: [.malformedEnvelope: 2, .recordTooLarge: 1]))
    }
}
