import StoreTestKit
import Testing
import WireModel

@testable import RecordStore

@Suite struct RetentionPlanTests {
    /// Day 100 at noon.
    private static let now: Int64 = (100 * 24 + 12) * 3_600_000_000

    private static func file(_ day: Int, bytes: Int64 = 10, newest hours: Int64? = nil) -> RetentionPlan.File {
        RetentionPlan.File(day: UTCDay(number: day), bytes: bytes, newestReceipt: hours.map { $0 * 3_600_000_000 })
    }

    private static func removed(_ files: [RetentionPlan.File], days: Int, bytes: Int64? = nil) -> [Int] {
        RetentionPlan.removals(of: files, at: now, limits: RetentionLimits.Stream(days: days, bytes: bytes)).map(
            \.file.day.number)
    }

    /// The end of day 97 is two and a half days ago, that of day 98 one and a half.
    @Test(
        arguments: [(1, [95, 96, 97, 98]), (2, [95, 96, 97]), (3, [95, 96]), (6, []), (1000, [])] as [(Int, [Int])])
    func `What is older than its days is removed oldest first`(days: Int, expected: [Int]) {
        #expect(Self.removed([98, 97, 100, 95, 99, 96].map { Self.file($0) }, days: days) == expected)
    }

    /// The newest record of day 98 came at its noon, two days ago, or an hour later.
    @Test(arguments: [(2364, [98]), (2365, [])] as [(Int64, [Int])])
    func `A file's newest record says how old it is`(hours: Int64, expected: [Int]) {
        #expect(Self.removed([Self.file(98, newest: hours), Self.file(99)], days: 2) == expected)
    }

    @Test func `The present day and days to come stay`() {
        let files = [Self.file(100, bytes: 1000, newest: 1), Self.file(300, bytes: 1000, newest: 1)]
        #expect(Self.removed(files, days: 1, bytes: 1).isEmpty)
        #expect(Self.removed([Self.file(50)] + files, days: 1, bytes: 1) == [50])
    }

    @Test(
        arguments: [(60, []), (59, [95]), (50, [95]), (49, [95, 96]), (0, [95, 96, 97, 98, 99])] as [(Int64, [Int])])
    func `What is beyond its bytes is removed until the rest fits`(bytes: Int64, expected: [Int]) {
        #expect(Self.removed((95...100).map { Self.file($0) }, days: 1000, bytes: bytes) == expected)
    }

    @Test func `The reason is the first that holds`() {
        let limits = RetentionLimits.Stream(days: 3, bytes: 25)
        let removals = RetentionPlan.removals(of: (96...100).map { Self.file($0) }, at: Self.now, limits: limits)
        #expect(removals.map(\.reason) == [.age, .bytes, .bytes])
        #expect(removals.map(\.file.day.number) == [96, 97, 98])
    }

    @Test func `A file that stays keeps those after it`() {
        // Day 97 has records that came late (the clock was behind): day 98 would be old enough, but only the oldest can
        // go.
        let files = [Self.file(96), Self.file(97, newest: 100 * 24), Self.file(98)]
        #expect(Self.removed(files, days: 1) == [96])
    }

    @Test func `A clock before the epoch removes nothing`() {
        let limits = RetentionLimits.Stream(days: 1)
        #expect(RetentionPlan.removals(of: [Self.file(0), Self.file(1)], at: .min, limits: limits).isEmpty)
        #expect(RetentionPlan.removals(of: [Self.file(0), Self.file(1)], at: 0, limits: limits).isEmpty)
    }

    @Test func `The defaults are those of the manual`() {
        let limits = RetentionLimits()
        #expect(limits[.status].days == 90 && limits[.event].days == 90 && limits[.sample].days == 30)
        #expect(limits[.status].bytes == nil && limits[.event].bytes == nil && limits[.sample].bytes == nil)
    }
}
