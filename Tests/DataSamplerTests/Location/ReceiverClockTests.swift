import Testing

@testable import DataSampler

@Suite struct ReceiverClockTests {
    private static let second: Int64 = 1_000_000
    /// In 2005: the receiver's clock and that of the device have nothing in common.
    private static let epoch: Int64 = 1_118_000_000_000_000

    private var clock = ReceiverClock()

    private mutating func age(_ receiver: Int64, _ device: Int64) -> Int64? {
        clock.age(of: Self.epoch + receiver * Self.second, now: UInt64((1_000 + device) * Self.second))
            .map { $0 / Self.second }
    }

    @Test mutating func `A time is believed only after it has advanced`() {
        #expect(age(0, 0) == nil)
        #expect(age(0, 60) == nil)
        #expect(age(60, 61) == 0)
    }

    @Test mutating func `A receiver that falls silent lets its last fix grow old`() {
        _ = age(0, 0)
        #expect(age(10, 10) == 0)
        #expect(age(10, 11) == 1)
        #expect(age(10, 3_600) == 3_590)
        #expect(age(3_600, 3_601) == 0, "as fast as the drift that is allowed")
    }

    @Test mutating func `A fix that was old when it arrived is so, whenever the last question was`() {
        _ = age(0, 0)
        #expect(age(10, 10) == 0)
        // It advanced, and stopped long before this question.
        #expect(age(11, 200) == 188, "189 s, less the drift that is allowed in them")
    }

    @Test mutating func `A time that goes back, and a reboot, begin anew`() {
        _ = age(0, 0)
        #expect(age(10, 10) == 0)
        #expect(age(5, 20) == nil)
        #expect(age(6, 21) == 0)
        #expect(age(7, -900) == nil)
        #expect(age(8, -899) == 0)
    }

    @Test mutating func `A receiver that sets its clock forward is believed`() {
        _ = age(0, 0)
        #expect(age(1, 1) == 0)
        #expect(age(500_000_000, 2) == 0)
        #expect(age(500_000_001, 3) == 0)
    }

    @Test mutating func `The drift of a quartz never makes a fix old`() {
        // The device's clock runs 100 millionths fast for a month, asked once an hour.
        var greatest: Int64 = 0
        _ = age(0, 0)
        for hour in 1...720 as ClosedRange<Int64> {
            let receiver = hour * 3_600
            greatest = max(greatest, age(receiver, receiver + receiver / 10_000) ?? .max)
        }
        #expect(greatest == 0)
    }
}
