import NIOCore
import Testing

@testable import Collector

@Suite("Connection guard, decided")
struct ConnectionGuardStateMachineTests {
    private static let limits = ConnectionLimits(
        firstHeadSeconds: 15, idleSeconds: 75, bodySeconds: 120, bodyGraceSeconds: 10, bodyLeastBytesPerSecond: 1000,
        answerSeconds: 60,
        lingerSeconds: 2, lingerBytes: 100)

    private static func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }

    private static func machine() -> ConnectionGuardStateMachine {
        ConnectionGuardStateMachine(limits: limits, now: at(0))
    }

    @Test func `An answered request keeps the connection open`() {
        var machine = Self.machine()
        for second in [Int64(1), 10] {
            #expect(machine.requestHeadArrived(now: Self.at(second)) == .forward)
            #expect(machine.requestBodyArrived(bytes: 1_000_000) == .forward)
            #expect(machine.requestEndArrived(now: Self.at(second)) == .forward)
            #expect(machine.answerHeadWritten() == .write)
            #expect(machine.answerEndWritten(now: Self.at(second)) == .write)
            #expect(machine.deadline == Self.at(second + 75))
        }
    }

    @Test func `An answer before the body has arrived is the last`() {
        var machine = Self.machine()
        _ = machine.requestHeadArrived(now: Self.at(1))
        #expect(machine.answerHeadWritten() == .writeAsLast)
        #expect(machine.answerEndWritten(now: Self.at(2)) == .writeAndLinger)
        #expect(machine.deadline == Self.at(4))
        #expect(machine.requestBodyArrived(bytes: 60) == .discard)
        #expect(machine.requestBodyArrived(bytes: 60) == .close, "more than it throws away")
        #expect(machine.phase == .closed)
        #expect(machine.answerHeadWritten() == .discard)
    }

    @Test func `The end of the unread body or of the input ends the linger`() {
        for ending in [true, false] {
            var machine = Self.machine()
            _ = machine.requestHeadArrived(now: Self.at(1))
            _ = machine.answerHeadWritten()
            _ = machine.answerEndWritten(now: Self.at(2))
            #expect((ending ? machine.requestEndArrived(now: Self.at(3)) : machine.inputClosed()) == .close)
        }
    }

    @Test func `A long answer has time for each of its parts while it is read`() {
        var machine = Self.machine()
        _ = machine.requestHeadArrived(now: Self.at(1))
        _ = machine.requestEndArrived(now: Self.at(1))
        #expect(machine.answerBodyWritten(now: Self.at(1)) == false, "before its head")
        _ = machine.answerHeadWritten()
        for second in [Int64(50), 100, 150] { #expect(machine.answerBodyWritten(now: Self.at(second)) == true) }
        #expect(machine.deadlineReached(now: Self.at(209)) == .waitUntil(Self.at(210)))
        #expect(machine.deadlineReached(now: Self.at(210)) == .close)
        #expect(machine.answerBodyWritten(now: Self.at(211)) == false)
    }

    @Test func `Late heads, idle clients and unread answers end the connection`() {
        var silent = Self.machine()
        #expect(silent.deadlineReached(now: Self.at(14)) == .waitUntil(Self.at(15)))
        #expect(silent.deadlineReached(now: Self.at(15)) == .close)
        #expect(silent.deadlineReached(now: Self.at(16)) == .none)

        var unread = Self.machine()
        _ = unread.requestHeadArrived(now: Self.at(1))
        _ = unread.requestEndArrived(now: Self.at(1))
        _ = unread.answerHeadWritten()
        #expect(unread.deadlineReached(now: Self.at(61)) == .close)
    }

    @Test func `A body that trickles is refused, and the late answer discarded`() {
        var machine = Self.machine()
        _ = machine.requestHeadArrived(now: Self.at(1))
        for _ in 0..<100 { #expect(machine.requestBodyArrived(bytes: 1) == .forward) }
        #expect(machine.deadlineReached(now: Self.at(10)) == .waitUntil(Self.at(11)))
        #expect(machine.deadlineReached(now: Self.at(11)) == .refuseSlowBody)
        #expect(machine.answerHeadWritten() == .discard)
        #expect(!machine.writesAnswer)
        #expect(machine.answerEndWritten(now: Self.at(12)) == .discard)
        #expect(machine.deadlineReached(now: Self.at(13)) == .close)
    }

    /// Bytes that have come after a request's header, and for how many seconds it may go on like that.
    @Test(
        arguments: [(0, 10), (999, 10), (1000, 11), (50_000, 60), (109_999, 119), (110_000, 120), (Int.max >> 1, 120)]
            as [(Int, Int64)])
    func `A body has the time of the least pace and no more than the whole limit`(_ bytes: Int, _ seconds: Int64) {
        var machine = Self.machine()
        _ = machine.requestHeadArrived(now: Self.at(1))
        _ = machine.requestBodyArrived(bytes: bytes)
        #expect(machine.deadline == Self.at(1 + seconds))
        #expect(machine.deadlineReached(now: Self.at(1 + seconds)) == .refuseSlowBody)
    }

    @Test func `The next body begins its pace anew`() {
        var machine = Self.machine()
        _ = machine.requestHeadArrived(now: Self.at(1))
        _ = machine.requestBodyArrived(bytes: 50_000)
        _ = machine.requestEndArrived(now: Self.at(2))
        #expect(machine.deadline == Self.at(62), "the time of an answer")
        _ = machine.requestHeadArrived(now: Self.at(3))
        _ = machine.requestBodyArrived(bytes: 2000)
        #expect(machine.deadline == Self.at(62), "pipelined")
        _ = machine.answerHeadWritten()
        _ = machine.answerEndWritten(now: Self.at(20))
        #expect(machine.deadline == Self.at(20 + 10 + 2))
    }

    @Test func `A pipelined request does not prolong the one before it`() {
        var machine = Self.machine()
        _ = machine.requestHeadArrived(now: Self.at(1))
        _ = machine.requestEndArrived(now: Self.at(1))
        _ = machine.requestHeadArrived(now: Self.at(50))
        #expect(machine.deadline == Self.at(61))
        #expect(machine.answerHeadWritten() == .write)
        _ = machine.answerEndWritten(now: Self.at(55))
        #expect(machine.deadline == Self.at(65))
    }

    @Test func `An answer to what is not a request is the last`() {
        var machine = Self.machine()
        #expect(machine.answerHeadWritten() == .writeAsLast)
        #expect(machine.answerEndWritten(now: Self.at(1)) == .writeAndLinger)
    }
}
