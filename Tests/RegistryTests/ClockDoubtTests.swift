import Testing
import WireModel

@testable import RecordStore
@testable import Registry

@Suite struct ClockDoubtTests {
    private static let hour: Int64 = 3_600_000_000

    private static func reading(_ wall: Int64, _ sinceBoot: Int64, _ boot: String = "a") -> ClockReading {
        ClockReading(wall: wall * hour, sinceBoot: sinceBoot * hour, bootID: boot)
    }

    private static let steps: [(now: ClockReading, expected: ClockDoubt?)] = [
        (reading(100, 5), nil), (reading(101, 6), nil), (reading(101, 5), nil), (reading(900, 1, "b"), nil),
        (reading(50, 6), nil),
        (reading(103, 6), .steppedForward(seconds: 7200)), (reading(900, 5), .steppedForward(seconds: 2_880_000)),
    ]

    @Test(arguments: steps)
    func `A forward step against the machine's own time is doubtful`(now: ClockReading, expected: ClockDoubt?) {
        #expect(ClockDoubt.of(now, former: Self.reading(100, 5), newestReceipt: nil, acceptedReceipt: nil) == expected)
    }

    private static let receipts: [(newest: Int64?, accepted: Int64?, expected: ClockDoubt?)] = [
        (nil, nil, nil), (1, nil, nil), (100, nil, nil), (101, nil, nil), (103, nil, .recordsAhead(seconds: 10_800)),
        (103, 103, nil),
        (104, 103, .recordsAhead(seconds: 14_400)),
    ]

    @Test(arguments: receipts)
    func `Records of a future time are doubtful until accepted`(newest: Int64?, accepted: Int64?, expected: ClockDoubt?)
    {
        let doubt = ClockDoubt.of(
            Self.reading(100, 5), former: nil, newestReceipt: newest.map { $0 * Self.hour },
            acceptedReceipt: accepted.map { $0 * Self.hour })
        #expect(doubt == expected)
    }

    private static let devices: [(behindDays: Int64?, acceptedDays: Int64?, expected: ClockDoubt?)] = [
        (nil, nil, nil), (0, nil, nil), (-900, nil, nil), (2, nil, nil), (3, nil, .devicesBehind(seconds: 259_200)),
        (3, 3, nil),
        (5, 3, nil),
        (6, 3, .devicesBehind(seconds: 518_400)),
    ]

    @Test(arguments: devices)
    func `Devices that are behind make it doubtful until accepted`(
        behind: Int64?, accepted: Int64?, expected: ClockDoubt?
    ) {
        let doubt = ClockDoubt.of(
            Self.reading(100, 5), former: nil, newestReceipt: nil, acceptedReceipt: nil,
            devicesBehind: behind.map { $0 * 24 * Self.hour },
            acceptedBehind: accepted.map { $0 * 24 * Self.hour })
        #expect(doubt == expected)
    }

    private static let juries: [(voices: [Int64], median: Int64?)] = [
        ([], nil), ([9, 9, 9, 9], nil), ([9, 9, 9, 9, 9], 9), ([0, 0, 9, 9, 9], 9), ([0, 0, 0, 9, 9], 0),
        ([-5, 0, 0, 0, 1_000_000], 0),
        (Array(repeating: 9, count: 10) + Array(repeating: 1, count: ClockConsensus.voices), 1),
    ]

    @Test(arguments: juries)
    func `The median of devices counts one voice each`(voices: [Int64], median: Int64?) {
        var jury = ClockConsensus()
        for voice in voices { jury.record(.random(), behind: voice) }
        #expect(jury.medianBehind == median)
    }

    @Test func `A device's last word is its voice`() {
        var jury = ClockConsensus()
        let devices = (0..<ClockConsensus.least).map { _ in DeviceID.random() }
        for round: Int64 in [9, 7, 0] { for device in devices { jury.record(device, behind: round) } }
        #expect(jury.medianBehind == 0)
    }

    /// What a damaged row or a lying device says.
    @Test func `Impossible times are compared like others`() {
        let now = Self.reading(100, 5)
        #expect(ClockDoubt.of(now, former: nil, newestReceipt: .min + 1, acceptedReceipt: nil) == nil)
        #expect(
            ClockDoubt.of(
                now, former: nil, newestReceipt: nil, acceptedReceipt: nil, devicesBehind: .max, acceptedBehind: -1)
                == .devicesBehind(seconds: .max / 1_000_000))
        #expect(
            ClockDoubt.of(
                now, former: ClockReading(wall: -.max, sinceBoot: now.sinceBoot, bootID: "a"), newestReceipt: nil,
                acceptedReceipt: nil)
                == .steppedForward(seconds: .max / 1_000_000))
    }

    @Test func `A start long after the newest record is normal`() {
        #expect(
            ClockDoubt.of(Self.reading(9000, 5), former: nil, newestReceipt: Self.hour, acceptedReceipt: nil) == nil)
    }
}
