import TelemetryBasics
import Testing

@testable import CommandKit

@Suite struct TimeArgumentTests {
    @Test(arguments: [
        ("2026-11-21T23:51:28.123456Z", "2026-11-21T23:51:28.123456Z"),
        ("2026-11-21T23:51:28Z", "2026-11-21T23:51:28.000000Z"),
        ("2026-11-21T23:51:28.5", "2026-11-21T23:51:28.500000Z"),
        ("2026-11-22T00:51:28+01:00", "2026-11-21T23:51:28.000000Z"),
        ("2026-11-21T18:21:28.25-05:30", "2026-11-21T23:51:28.250000Z"), ("2026-11-21", "2026-11-21T00:00:00.000000Z"),
        ("2026-11-21 23:51:28", "2026-11-21T23:51:28.000000Z"),
    ])
    func `Times are read`(_ given: String, _ expected: String) throws {
        let time = try #require(TimeArgument(argument: given))
        #expect(Timestamp.text(time.microseconds(now: 0)) == expected)
    }

    @Test(
        arguments: [("90s", 90), ("15m", 900), ("2h", 7200), ("3d", 259_200), ("1w", 604_800), ("0s", 0)]
            as [(String, Int64)])
    func `Ago is counted from now`(_ given: String, _ seconds: Int64) throws {
        let now: Int64 = 1_795_219_200_000_000
        #expect(try #require(TimeArgument(argument: given)).microseconds(now: now) == now - seconds * 1_000_000)
    }

    @Test(arguments: [
        "", "h", "-2h", "+2h", "2", "2x", "99999999999999999d", "2026-13-01", "2026-11-21T25:00:00Z",
        "2026-11-21T23:51:28.Z",
        "2026-11-21T23:51:28+1:00", "yesterday", "2026-11-21T23:51:28.1.2Z", "é",
    ])
    func `Other text is refused`(_ given: String) {
        #expect(TimeArgument(argument: given) == nil)
    }
}
