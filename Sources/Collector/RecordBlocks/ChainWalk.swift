/// Walks over a record chain, number by number, from its packed blocks alone, and recomputes every link.
///
/// Records of one chain lie in several blocks, one for each module, and their numbers interleave. The walk takes
/// all of them together.
package struct ChainWalk {
    /// What the walk found, in ascending order of numbers.
    package enum Finding: Equatable, Sendable {
        /// No block has these numbers. If one of the blocks is damaged, they are its.
        case missing(first: UInt64, last: UInt64)
        /// More than one block has this number.
        case doubled(UInt64)
        /// The recomputed link at this number is not the one that a block has for it. The fault lies behind the last
        /// proved number, which is given too.
        case differs(UInt64, proved: UInt64)
    }

    /// The numbers that were covered, of whatever kind.
    package private(set) var counts = Counts()
    package private(set) var findings: [Finding] = []
    /// The last number at which the recomputed link was the one that a block has.
    package private(set) var proved: UInt64 = 0
    /// Where the walk ended, and the link there; `nil` if it is not known.
    package private(set) var last: (number: UInt64, link: Bytes16?)

    package struct Counts: Equatable, Sendable {
        package var stored: UInt64 = 0
        package var rejected: UInt64 = 0
        package var dropped: UInt64 = 0
        package var lost: UInt64 = 0
    }

    private enum Step {
        case record(ArraySlice<UInt8>)
        case rejected(ChainItems.Rejected)
        case gap(ChainItems.Gap)
        case lost(ChainItems.Lost)

        var last: UInt64? {
            switch self {
            case .record, .rejected: nil
            case .gap(let gap): gap.last
            case .lost(let range): range.last
            }
        }
    }

    /// - Parameters:
    ///   - blocks: all blocks of one device, epoch and stream that are at hand, in any order.
    ///   - entry: number and link with which the chain enters the first of them; `nil`: the first link in them.
    ///   - next: the link over a record, from the link before it.
    package init(
        _ blocks: [RecordBlock], entry: ChainItems.Point? = nil, next: (Bytes16, ArraySlice<UInt8>) -> Bytes16
    ) {
        var steps: [(number: UInt64, step: Step)] = []
        var points: [ChainItems.Point] = []
        for block in blocks {
            let records = block.records
            for row in 0..<records.count { steps.append((records.numbers[row], .record(records[row]))) }
            steps += block.chain.gaps.map { ($0.first, .gap($0)) }
            steps += block.chain.lost.map { ($0.first, .lost($0)) }
            steps += block.chain.rejected.map { ($0.number, .rejected($0)) }
            points += block.chain.points
        }
        steps.sort { $0.number < $1.number }
        points.sort { $0.number < $1.number }
        let start = entry ?? points.first ?? ChainItems.Point(number: max(steps.first?.number ?? 1, 1) - 1, link: .zero)
        last = (start.number, entry == nil && points.isEmpty ? nil : start.link)
        proved = start.number
        var nextPoint = points[...]
        for (number, step) in steps {
            if number <= last.number {
                findings.append(.doubled(number))
                continue
            }
            if number - 1 > last.number {
                findings.append(.missing(first: last.number + 1, last: number - 1))
                // Links inside of what is missing cannot be compared. One at its end lets the chain go on.
                last = (number - 1, nil)
            }
            compare(&nextPoint)
            take(step, at: number, next)
        }
        compare(&nextPoint)
        if let end = nextPoint.last {
            findings.append(.missing(first: last.number + 1, last: end.number))
            last = (end.number, end.link)
        }
    }

    /// Compares the links that blocks have for numbers up to the present one.
    private mutating func compare(_ points: inout ArraySlice<ChainItems.Point>) {
        while let point = points.first, point.number <= last.number {
            points.removeFirst()
            guard point.number == last.number else { continue }
            if let link = last.link, link != point.link {
                findings.append(.differs(point.number, proved: proved))
            } else if last.link != nil {
                proved = point.number
            }
            last.link = point.link
        }
    }

    private mutating func take(_ step: Step, at number: UInt64, _ next: (Bytes16, ArraySlice<UInt8>) -> Bytes16) {
        let end = step.last ?? number
        switch step {
        case .record(let bytes):
            counts.stored += 1
            last = (number, last.link.map { next($0, bytes) })
        case .rejected(let rejected):
            counts.rejected += 1
            if let link = last.link, let bytes = rejected.bytes, next(link, bytes[...]) != rejected.link {
                findings.append(.differs(number, proved: proved))
            }
            last = (number, rejected.link)
        case .gap(let gap):
            counts.dropped += end - number + 1
            last = (end, gap.link)
        case .lost:
            counts.lost += end - number + 1
            last = (end, nil)
        }
    }
}
