import Foundation
import Testing
import WireModel

@testable import RecordStore
@testable import Registry

@Suite struct SilencePlanTests {
    private static let devices = (0..<100).map { DeviceID(high: 0, low: UInt64($0)) }
    private static let bound = SilencePlan.reportedIndividually

    private static func some(_ range: Range<Int>) -> Set<DeviceID> { Set(devices[range]) }

    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var silent: Range<Int>
        var lasting: Range<Int> = 0..<0
        /// Beside those.
        var recent: Range<Int> = 0..<0
        var isMany = false
        var isSettled = true
        var begin: Range<Int> = 0..<0
        var end: Range<Int> = 0..<0
        var many = SilencePlan.Many.unchanged
    }

    private static let cases: [Case] = [
        Case(testDescription: "nothing", silent: 0..<0),
        Case(testDescription: "one by one", silent: 0..<3, begin: 0..<3),
        Case(testDescription: "told already", silent: 0..<3, lasting: 0..<3),
        Case(testDescription: "as many as are told", silent: 0..<bound, begin: 0..<bound),
        Case(testDescription: "a herd", silent: 0..<bound + 1, many: .report(bound + 1)),
        Case(testDescription: "one more than is told", silent: 0..<bound + 1, lasting: 0..<bound, many: .report(1)),
        Case(testDescription: "the day's are told", silent: 50..<52, recent: 0..<bound, many: .report(2)),
        Case(testDescription: "one of the day's again", silent: 3..<4, recent: 0..<bound, begin: 3..<4),
        Case(testDescription: "heard again", silent: 1..<3, lasting: 0..<3, end: 0..<1),
        Case(testDescription: "more of a herd", silent: 0..<80, isMany: true, many: .report(80)),
        Case(testDescription: "half of it is back", silent: 0..<11, isMany: true, many: .report(11)),
        Case(testDescription: "most of it is back", silent: 0..<10, isMany: true, begin: 0..<10, many: .end),
        Case(testDescription: "all of it is back", silent: 0..<0, isMany: true, many: .end),
        Case(testDescription: "all but those told", silent: 0..<20, lasting: 0..<20, isMany: true, many: .end),
        Case(
            testDescription: "few left and no room", silent: 50..<53, recent: 0..<bound, isMany: true,
            many: .report(3)),
        Case(testDescription: "just started", silent: 0..<80, isSettled: false),
        Case(
            testDescription: "just started, one is back", silent: 1..<80, lasting: 0..<3, isSettled: false, end: 0..<1),
        Case(testDescription: "just started, many are told", silent: 0..<80, isMany: true, isSettled: false),
        Case(testDescription: "just started, all are back", silent: 0..<0, isMany: true, isSettled: false, many: .end),
    ]

    @Test(arguments: cases)
    func `A few are reported one by one and a herd together`(_ one: Case) {
        let reported = SilencePlan.Reported(
            lasting: Self.some(one.lasting), recent: Self.some(one.lasting).union(Self.some(one.recent)),
            many: one.isMany ? "many" : nil)
        let plan = SilencePlan.of(silent: Self.some(one.silent), reported: reported, isSettled: one.isSettled)
        #expect(plan == SilencePlan(begin: Self.some(one.begin), end: Self.some(one.end), many: one.many))
    }

    private static func reading(_ minutes: Int64, step: Int64 = 0, boot: String = "a") -> ClockReading {
        ClockReading(wall: (minutes + step) * 60_000_000, sinceBoot: minutes * 60_000_000, bootID: boot)
    }

    @Test func `An hour of listening settles, and what interrupts it begins anew`() {
        var listening = Listening()
        var minute: Int64 = 0
        func minutes(_ count: Int64, step: Int64 = 0, canStore: Bool = true) -> [Bool] {
            (0..<count).map { _ in
                minute += 1
                return listening.isSettled(at: Self.reading(minute, step: step), canStore: canStore)
            }
        }
        #expect(listening.settles(after: Self.reading(0)) == nil)
        #expect(minutes(60) == Array(repeating: false, count: 60))
        let settles = listening.settles(after: Self.reading(minute))
        #expect(settles == 3_660_000_000)
        #expect(minutes(2) == [true, true])
        #expect(minutes(1, canStore: false) == [false], "what devices say is not taken")
        #expect(minutes(61) == Array(repeating: false, count: 59) + [true, true])
        #expect(minutes(1, step: 2) == [false], "the clock was set")
        #expect(minutes(60, step: 2).last == true)
        minute += 11
        #expect(minutes(1, step: 2) == [false], "it slept")
        #expect(minutes(60, step: 2).last == true)
        #expect(listening.settles(after: Self.reading(minute, step: 2)) == nil)
        let afterBoot = listening.isSettled(at: Self.reading(minute + 1, step: 2, boot: "b"), canStore: true)
        #expect(!afterBoot)
    }
}
