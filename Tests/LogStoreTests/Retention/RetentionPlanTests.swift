import Testing
import WireModel

@testable import LogStore

@Suite struct RetentionPlanTests {
    private func segment(_ ordinal: UInt64, _ bytes: Int, ring: Bool = false, closed: Bool = true)
        -> RetentionPlan.Segment
    {
        RetentionPlan.Segment(
            name: SegmentName(ordinal: ordinal, kind: ring ? .ring : .application), bytes: bytes, isClosed: closed)
    }

    /// Segment n's last line is of time n × 10; times below `oldest` are too old.
    private func victims(_ segments: [RetentionPlan.Segment], bytes: Int = 100, ring: Int = 50, oldest: Int64 = 0)
        -> [String]
    {
        let limits = RetentionPlan.Limits(bytes: bytes, ringBytes: ring, oldest: oldest)
        return RetentionPlan(segments, limits: limits) { Int64($0.ordinal) * 10 }.victims.map {
            "\($0.name.ordinal) \($0.reason.rawValue)"
        }
    }

    @Test func `Within the limits, nothing is removed`() {
        #expect(victims([segment(1, 60), segment(2, 40), segment(3, 50, ring: true)]).isEmpty)
        #expect(victims([]).isEmpty)
    }

    @Test func `The oldest are removed until the rest fits`() {
        #expect(victims([segment(3, 40), segment(1, 40), segment(2, 40)]) == ["1 size-cap"])
        #expect(
            victims([segment(1, 40), segment(2, 40), segment(3, 101)]) == ["1 size-cap", "2 size-cap", "3 size-cap"])
    }

    @Test func `The ring has a limit of its own`() {
        #expect(victims([segment(1, 30, ring: true), segment(2, 90), segment(3, 30, ring: true)]) == ["1 size-cap"])
    }

    @Test func `Each intake has a limit of its own, and one without a limit keeps to the common one`() {
        func intake(_ ordinal: UInt64, _ bytes: Int, _ application: String) -> RetentionPlan.Segment {
            RetentionPlan.Segment(
                name: SegmentName(ordinal: ordinal, kind: .intake, application: application), bytes: bytes,
                isClosed: true)
        }
        let segments = [
            segment(1, 90), intake(2, 60, "a"), intake(3, 60, "b"), intake(4, 60, "b"), intake(5, 60, "a"),
            intake(6, 90, "c"),
        ]
        let plan = RetentionPlan(
            segments, limits: RetentionPlan.Limits(bytes: 100, ringBytes: 50, oldest: 0),
            ofIntake: [
                "a": RetentionPlan.Limits(bytes: 200, ringBytes: 0, oldest: 21),
                "b": RetentionPlan.Limits(bytes: 60, ringBytes: 0, oldest: 0),
            ]
        ) { Int64($0.ordinal) * 10 }
        #expect(plan.victims.map { "\($0.name.ordinal) \($0.reason.rawValue)" } == ["2 age-cap", "3 size-cap"])
    }

    @Test func `What is written stays and counts`() {
        #expect(
            victims([segment(1, 90, closed: false), segment(2, 20), segment(3, 20)]) == ["2 size-cap", "3 size-cap"])
    }

    @Test func `Old segments are removed by age`() {
        #expect(victims([segment(1, 1), segment(2, 1), segment(3, 1)], oldest: 25) == ["1 age-cap", "2 age-cap"])
        #expect(victims([segment(1, 60), segment(2, 60), segment(3, 60)], oldest: 15) == ["1 age-cap", "2 size-cap"])
    }
}
