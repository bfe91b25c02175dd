import Foundation
import Testing

@testable import DataSampler

@Suite struct PinStateMachineTests {
    private static func key(_ byte: UInt8) -> Data { Data(repeating: byte, count: 32) }
    private static let (one, two, three) = (key(1), key(2), key(3))
    private static let hour: Int64 = 3_600_000_000

    @Test func `A set that the present key fits is in force; one that it does not is refused, and both sets are taken`()
    {
        var machine = PinStateMachine()
        #expect(machine.arrived([Self.one], former: [], key: Self.one) == nil)
        #expect(machine.inForce([Self.one]) == [Self.one])
        #expect(machine.connected([Self.one], key: Self.one) == nil)
        #expect(machine.arrived([Self.two], former: [Self.one], key: Self.one) == .refused)
        #expect(machine.finding([Self.two]) == .unsatisfied)
        #expect(machine.inForce([Self.two]) == [Self.one, Self.two])
        // The collector changes to the announced key after all.
        #expect(machine.connected([Self.two], key: Self.one) == nil && machine.finding([Self.two]) != nil)
        #expect(machine.connected([Self.two], key: Self.two) == .taken)
        #expect(machine.inForce([Self.two]) == [Self.two] && machine.worked == [Self.two])
    }

    @Test func `A device without pins that refuses its first set goes on without`() {
        var machine = PinStateMachine()
        #expect(machine.arrived([Self.two], former: [], key: Self.one) == .refused)
        #expect(machine.inForce([Self.two]).isEmpty)
        // The corrected profile.
        #expect(machine.arrived([Self.one], former: [Self.two], key: Self.one) == nil)
        #expect(machine.finding([Self.one]) == nil && machine.inForce([Self.one]) == [Self.one])
    }

    @Test func `Pins that fail for longer than is allowed give way to those that worked, once`() {
        var machine = PinStateMachine()
        _ = machine.connected([Self.one], key: Self.one)
        _ = machine.arrived([Self.one, Self.two], former: [Self.one], key: Self.one)
        let pins = [Self.one, Self.two]
        #expect(machine.mismatched(pins, allowedSeconds: 3600, now: 5) == nil)
        #expect(machine.mismatched(pins, allowedSeconds: 3600, now: 4 + Self.hour) == nil)
        #expect(machine.inForce(pins) == pins)
        #expect(machine.mismatched(pins, allowedSeconds: 3600, now: 5 + Self.hour) == .fellBack)
        #expect(machine.finding(pins) == .failed)
        #expect(machine.mismatched(pins, allowedSeconds: 3600, now: 5 + 9 * Self.hour) == nil)
    }

    @Test func `A success in between begins the time anew, and without a setting it is a day`() {
        var machine = PinStateMachine()
        _ = machine.arrived([Self.one], former: [], key: Self.one)
        #expect(machine.mismatched([Self.one], allowedSeconds: nil, now: 0) == nil)
        #expect(machine.mismatched([Self.one], allowedSeconds: nil, now: 24 * Self.hour - 1) == nil)
        var other = machine
        #expect(other.mismatched([Self.one], allowedSeconds: nil, now: 24 * Self.hour) == .fellBack)
        #expect(other.inForce([Self.one]).isEmpty, "before it no key was asked for")
        #expect(machine.connected([Self.one], key: Self.one) == nil)
        #expect(machine.mismatched([Self.one], allowedSeconds: nil, now: 25 * Self.hour) == nil)
    }

    /// Whoever keeps a device from its collector for long must not thereby get rid of its pins.
    @Test func `A set that worked never gives way to none`() {
        var machine = PinStateMachine()
        _ = machine.arrived([Self.one], former: [], key: Self.one)
        _ = machine.connected([Self.one], key: Self.one)
        for hours in Int64(0)...100 {
            #expect(machine.mismatched([Self.one], allowedSeconds: 60, now: hours * Self.hour) == nil)
        }
        #expect(machine.inForce([Self.one]) == [Self.one])
        // One of before this was kept: nothing is known that worked.
        var unknown = PinStateMachine()
        for hours in Int64(0)...100 {
            #expect(unknown.mismatched([Self.one], allowedSeconds: 60, now: hours * Self.hour) == nil)
        }
        #expect(unknown.inForce([Self.one]) == [Self.one])
    }

    @Test func `Without TLS there is nothing to check, and a device without pins keeps nothing`() {
        var machine = PinStateMachine()
        #expect(machine.arrived([Self.two], former: [], key: nil) == nil)
        #expect(machine.inForce([Self.two]) == [Self.two])
        var none = PinStateMachine()
        #expect(none.connected([], key: Self.one) == nil)
        #expect(none == PinStateMachine())
        #expect(none.arrived([], former: [], key: Self.one) == nil)
    }
}
