import Testing
import WireModel

/// The device's rule of exactly-once, case by case: records 4...9 held, 6...7 a gap, its mark at 3.
@Suite struct MarkDecisionTests {
    static func link(_ number: UInt64) -> ChainLink { ChainLink(high: number, low: 7) }

    @Test(
        arguments: [
            (UInt64(8), Self.link(8), PartOutcome.stored, MarkDecision.remove),
            (9, Self.link(9), .already, .remove),
            (8, Self.link(8), .damaged, .remove),
            (8, Self.link(8), .unavailable, .remove),
            (7, Self.link(7), .stored, .remove),
            (6, Self.link(6), .stored, .insideGap),
            (3, Self.link(99), .stored, .old),
            (0, ChainLink.zero, .unknown, .old),
            (10, Self.link(10), .stored, .diverged(.markBeyondProduced)),
            (8, Self.link(80), .stored, .diverged(.linkDiffers)),
            (3, Self.link(3), .identityConflict, .diverged(.identityConflict)),
            (8, Self.link(8), .closed, .diverged(.closed)),
        ] as [(UInt64, ChainLink, PartOutcome, MarkDecision)])
    func `Every case has its decision`(number: UInt64, link: ChainLink, outcome: PartOutcome, expected: MarkDecision) {
        let decision = MarkDecision.decide(
            answered: StreamMark(number: number, link: link, stored: number), outcome: outcome, ownMark: 3,
            lastProduced: 9,
            ownLink: { (number: UInt64) -> ChainLink? in number == 6 ? nil : Self.link(number) })
        #expect(decision == expected)
    }
}
