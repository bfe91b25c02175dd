import Foundation
import Testing
import WireModel

@testable import Registry

@Suite struct VerdictIncidentTests {
    private func reading(
        bad: Set<String> = [], unclear: Set<String> = [], isGood: Bool = false
    ) -> VerdictReading {
        VerdictReading(isBad: !bad.isEmpty, isGood: isGood, bad: bad, unclear: unclear)
    }

    @Test func `It lasts until every sign that was bad is good or gone`() {
        #expect(VerdictIncident.next(nil, reading()) == nil)
        let began = VerdictIncident.next(nil, reading(bad: ["b"]))
        #expect(began?.signs == ["b"])
        let grown = VerdictIncident.next(began, reading(bad: ["a"]))
        #expect(grown?.signs == ["a", "b"])
        #expect(VerdictIncident.next(grown, reading(unclear: ["a"])) == grown, "nobody could look")
        #expect(VerdictIncident.next(grown, reading(unclear: ["c"])) == nil)
        #expect(VerdictIncident.next(grown, reading(isGood: true)) == nil)
    }

    @Test func `An incident whose wipe may be under way ends with a good verdict only`() {
        let assumed = VerdictIncident(signs: [], wipe: .withheld)
        #expect(VerdictIncident.next(assumed, reading()) == assumed)
        #expect(VerdictIncident.next(assumed, reading(isGood: true)) == nil)
        let bad = VerdictIncident.next(assumed, reading(bad: ["a"]))
        #expect(bad == VerdictIncident(signs: ["a"], wipe: .withheld))
    }

    @Test func `A sign is one line`() {
        let incident = VerdictIncident.next(nil, reading(bad: ["a\nb"]))
        #expect(incident?.signs == ["a b"])
        #expect(VerdictIncident.next(incident, reading(unclear: ["a\nb"])) == incident, "nobody could look")
    }

    @Test func `Signs are bounded`() {
        let many = Set((0..<1000).map { "\($0)" + String(repeating: "x", count: 1000) })
        let incident = VerdictIncident.next(nil, reading(bad: many))
        #expect(incident?.signs.count == 64 && incident?.signs.allSatisfy { $0.utf8.count == 64 } == true)
    }

    @Test(
        arguments: [
            (nil, 5, 7, nil, 6, 9, true), (nil, 6, 7, nil, 6, 9, false), (1, 9, 7, 1, 6, 8, true),
            (1, 5, 7, 1, 6, 6, false),
            (1, 5, 9, 2, 6, 1, true), (1, 7, 9, 2, 6, 10, false),
        ] as [(UInt64?, Int64, UInt64, UInt64?, Int64, UInt64, Bool)])
    func `The time since boot decides within a boot`(
        boot: UInt64?, wall: Int64, sinceBoot: UInt64, otherBoot: UInt64?, otherWall: Int64, otherSinceBoot: UInt64,
        isEarlier: Bool
    ) {
        func stamp(_ boot: UInt64?, _ wall: Int64, _ sinceBoot: UInt64) -> RecordStamp {
            RecordStamp(wallTime: wall, bootID: boot.map { BootID(high: 0, low: $0) }, timeSinceBoot: sinceBoot)
        }
        let other = stamp(otherBoot, otherWall, otherSinceBoot)
        #expect(stamp(boot, wall, sinceBoot).isEarlier(than: other) == isEarlier)
    }
}
