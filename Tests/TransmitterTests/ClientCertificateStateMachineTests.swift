import Testing
@testable import Transmitter

@Suite struct ClientCertificateStateMachineTests {
    private static let hour: UInt64 = 3600 * 1_000_000
    private static let day = 24 * hour
    private static let life = CertificateLife(begins: 1000, ends: 91_000)

    private static func shown() -> ClientCertificateStateMachine {
        var machine = ClientCertificateStateMachine()
        machine.placed(life)
        return machine
    }

    @Test(
        arguments: [(1000, false), (60_999, false), (61_000, true), (91_000, true), (1_000_000, true)]
            as [(Int64, Bool)])
    func `A certificate is renewed when a third of its life is left`(wallTime: Int64, isDue: Bool) {
        #expect(Self.shown().isRequestDue(at: wallTime, now: 0) == isDue)
    }

    /// A device whose clock is ahead would otherwise be locked out by it, also once the clock is right.
    @Test func `A certificate that has ended by the device's clock is shown, and another is due`() {
        let ended = Self.shown()
        #expect(ended.isShown && ended.isRequestDue(at: 1_000_000, now: 0) && !ended.isRequestDue(at: 1000, now: 0))
    }

    @Test func `Where there is none, one is asked for again after a day`() {
        var machine = ClientCertificateStateMachine()
        #expect(machine.isRequestDue(at: 0, now: 5))
        machine.asked(.notIssued, now: 5)
        #expect(!machine.isRequestDue(at: 0, now: 4 + Self.day) && machine.isRequestDue(at: 0, now: 5 + Self.day))
    }

    /// However short-lived certificates are, or however wrong a clock is.
    @Test func `None is asked for more often than every hour`() {
        var machine = Self.shown()
        machine.asked(.granted, now: 7)
        machine.placed(CertificateLife(begins: 0, ends: 1))
        #expect(
            !machine.isRequestDue(at: 1_000_000, now: 6 + Self.hour)
                && machine.isRequestDue(at: 1_000_000, now: 7 + Self.hour))
        machine.failed(now: 7 + Self.hour)
        #expect(
            !machine.isRequestDue(at: 1_000_000, now: 6 + 2 * Self.hour)
                && machine.isRequestDue(at: 1_000_000, now: 7 + 2 * Self.hour))
    }

    @Test func `A certificate that was given and is of no use is not followed at once by another`() {
        var machine = ClientCertificateStateMachine()
        // What was kept of an earlier life is another matter.
        machine.wasOfNoUse(now: 5)
        #expect(machine.isRequestDue(at: 0, now: 5))
        machine.asked(.granted, now: 5)
        machine.wasOfNoUse(now: 5)
        machine.placed(nil)
        #expect(!machine.isRequestDue(at: 0, now: 5 + Self.hour) && machine.isRequestDue(at: 0, now: 5 + Self.day))
    }

    /// A handshake fails for many reasons: only an answer to a request without it says that the certificate is the
    /// reason.
    @Test func `After a failed handshake, the next request goes without`() {
        var machine = Self.shown()
        #expect(machine.handshakeFailed() && machine.phase == .withheld(Self.life))
        #expect(!machine.isRequestDue(at: 1000, now: 0))
        #expect(machine.handshakeFailed() && machine.phase == .shown(Self.life))
        machine.answered()
        #expect(machine.isShown)
        _ = machine.handshakeFailed()
        machine.answered()
        #expect(machine.phase == .refused && machine.isRequestDue(at: 1000, now: 0))
        let changed = machine.handshakeFailed()
        #expect(!changed)
        machine.placed(Self.life)
        #expect(machine.isShown)
    }
}
