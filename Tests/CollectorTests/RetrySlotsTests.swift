import HTTPTypes
import HummingbirdTesting
import NIOCore
import Synchronization
import Testing
import WireModel

@testable import Collector

@Suite("Load: who comes back when")
struct RetrySlotsTests {
    @Test func `A herd is spread at the pace at which requests are served`() {
        var slots = RetrySlots()
        for request in 0..<400 { slots.served(at: Int64(request) * 2_000) }
        #expect((1_900...2_200).contains(slots.spacing))
        let now: Int64 = 800_000
        let waits = (0..<1000).map { _ in slots.next(at: now, roll: 0) }
        #expect(waits.first.map { $0 >= RetrySlots.least } == true)
        #expect(zip(waits, waits.dropFirst()).allSatisfy { $1 - $0 == slots.spacing }, "one after the other")
        #expect(waits[999] < 3_000_000, "no longer than it takes to serve them")
    }

    @Test func `Nobody is sent away for ever`() {
        var slots = RetrySlots()
        slots.served(at: 0)
        for hour in 1...200 { slots.served(at: Int64(hour) * 3_600_000_000) }
        let now: Int64 = 300 * 3_600_000_000
        let waits = (0..<10_000).map { _ in slots.next(at: now, roll: 1) }
        #expect(waits.allSatisfy { $0 <= RetrySlots.most + 1_000_000 })
        // After a while without a refusal the slots begin anew.
        #expect(slots.next(at: now + 3_600_000_000, roll: 0) <= RetrySlots.least + slots.spacing)
    }

    @Test func `A device may ask at its pace and two seconds of it at once`() {
        let rate = RequestRate<DeviceID>(perSecond: 10)
        let (wild, quiet) = (DeviceID(high: 1, low: 1), DeviceID(high: 1, low: 2))
        var admitted = 0
        while rate.admit(wild, at: 0) == nil { admitted += 1 }
        #expect(admitted == 21)
        #expect(rate.admit(wild, at: 0) == 100_000, "until the next is due")
        #expect(rate.admit(quiet, at: 0) == nil)
        #expect(rate.admit(wild, at: 100_000) == nil)
        #expect(rate.admit(wild, at: 100_000) != nil)
        // Ten a second for ever.
        #expect((0..<1000).allSatisfy { rate.admit(quiet, at: 1_000_000 + Int64($0) * 100_000) == nil })
        // A clock that was set back by a day.
        #expect(rate.admit(quiet, at: -86_400_000_000).map { $0 <= 200_000 } ?? true)
    }

    /// One collector of two admits half of what both may.
    @Test func `Collectors share the rate of a device`() {
        let rate = RequestRate<DeviceID>(perSecond: 10, sharers: { 2 })
        let device = DeviceID.random()
        var admitted = 0
        while rate.admit(device, at: 0) == nil { admitted += 1 }
        #expect(admitted == 11 && rate.admit(device, at: 0) == 200_000)
    }

    @Test(arguments: [70, 3600, 86_400] as [Int64])
    func `Time that goes back holds a device off for two seconds and no longer`(
        seconds: Int64
    ) {
        let rate = RequestRate<DeviceID>(perSecond: 10)
        let device = DeviceID(high: 1, low: 1)
        #expect(rate.admit(device, at: 0) == nil)
        var now = -seconds * 1_000_000
        var waited: Int64 = 0
        while let wait = rate.admit(device, at: now), waited < 1_000_000_000 {
            now += wait
            waited += wait
        }
        #expect(waited <= 2_000_000)
    }

    /// The collector's clock is set back while a device sends.
    @Test(arguments: [70, 3600, 86_400] as [Int64]) func `A clock that steps back refuses no device`(seconds: Int64)
        async throws
    {
        let clock = Mutex(Harness.now)
        let harness = Harness(clock: { clock.withLock { $0 } }) {
            $0.deviceRequestsPerSecond = 1
        }
        let device = try await harness.enrolledDevice()
        try await harness.route { client in
            let before = try await client.send(.get, WireNames.commandsPath, bearer: device.credential)
            #expect(before.status == .ok)
            clock.withLock { $0 -= seconds * 1_000_000 }
            let after = try await client.send(.get, WireNames.commandsPath, bearer: device.credential)
            #expect(after.status == .ok, "\(String(buffer: after.body))")
        }
    }
}
