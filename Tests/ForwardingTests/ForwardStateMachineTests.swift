import CollectorTunables
import TestKit
import Testing

@testable import Forwarding

@Suite struct ForwardStateMachineTests {
    private typealias Action = ForwardStateMachine.Action

    private static let accepted = ForwardAnswer.accepted(rejected: 0, message: "")

    /// A machine that has read a page.
    private static func reading(_ count: Int) -> ForwardStateMachine {
        var machine = ForwardStateMachine()
        #expect(machine.read(count, hasMoved: true) == .send(first: 0, limit: count))
        return machine
    }

    @Test func `The cursor moves once every record of the page was taken`() {
        var machine = Self.reading(10)
        var step = machine.answered(Self.accepted, to: 4, at: 0, roll: 0)
        #expect(step.fate == .sent && step.next == .send(first: 4, limit: 10))
        step = machine.answered(Self.accepted, to: 6, at: 0, roll: 0)
        #expect(step.fate == .sent && step.next == .moveCursor)
        #expect(machine.movedCursor() == .read)
    }

    @Test func `Nothing new is a pause, and what is left out moves the cursor`() {
        var machine = ForwardStateMachine()
        #expect(machine.read(0, hasMoved: false) == .wait(Tunables.Forwarding.pause))
        #expect(machine.waited() == .read)
        #expect(machine.read(0, hasMoved: true) == .moveCursor)
        #expect(machine.movedCursor() == .read)
        #expect(machine.read(5, hasMoved: true) == .send(first: 0, limit: 5))
        #expect(machine.passed(5) == .moveCursor)
        #expect(machine.failingSince == nil)
    }

    @Test func `What may pass is sent again with the same records, after growing waits`() {
        var machine = Self.reading(100)
        var former = Duration.zero
        for round in 0..<12 {
            let (fate, next) = machine.answered(.later("busy", retryAfter: nil), to: 30, at: 7, roll: 1)
            #expect(fate == .kept)
            guard case .wait(let wait) = next else {
                Issue.record("\(next)")
                return
            }
            #expect(wait == min(.seconds(1 << round), Tunables.Forwarding.longestWindow))
            #expect(wait >= former)
            former = wait
            #expect(machine.waited() == .send(first: 0, limit: 30))
        }
        #expect(machine.failingSince == 7 && machine.reason == "busy")
        #expect(machine.answered(Self.accepted, to: 30, at: 9, roll: 0).next == .send(first: 30, limit: 60))
        #expect(machine.failingSince == nil && machine.failures == 0)
    }

    @Test func `A wait is never shorter than the receiver asked for, and never longer than an hour and the window`() {
        for (asked, least) in [(Duration.seconds(20), Duration.seconds(20)), (.seconds(90_000), .seconds(3600))] {
            for roll in [0.0, 0.5, 1] {
                var machine = Self.reading(1)
                let next = machine.answered(.later("", retryAfter: asked), to: 1, at: 0, roll: roll).next
                guard case .wait(let wait) = next else {
                    Issue.record("\(next)")
                    return
                }
                #expect(wait >= least && wait <= least + .seconds(1))
            }
        }
    }

    @Test func `A receiver that says too much gets half, down to one record, which is dropped`() {
        var machine = Self.reading(5)
        var sizes: [Int] = []
        var (limit, dropped) = (5, 0)
        while dropped == 0 {
            sizes.append(limit)
            let (fate, next) = machine.answered(.tooLarge("413"), to: limit, at: 0, roll: 0)
            if case .dropped = fate { dropped = limit }
            guard case .send(let first, let less) = next else { break }
            #expect(first == (dropped == 0 ? 0 : 1))
            limit = less
        }
        #expect(sizes == [5, 3, 2, 1] && dropped == 1)
    }

    @Test func `What is refused for good is passed over at once, and an endpoint that refuses all is failing`() {
        var machine = Self.reading(4)
        let (fate, next) = machine.answered(.refused("status 400"), to: 2, at: 3, roll: 0)
        #expect(fate == .dropped("status 400") && next == .send(first: 2, limit: 4))
        #expect(machine.answered(.refused("status 400"), to: 2, at: 5, roll: 0).next == .moveCursor)
        #expect(machine.failingSince == 3)
    }

    @Test func `A wrong token or address holds the records, however long`() {
        var machine = Self.reading(4)
        for round in 0..<1000 {
            let (fate, next) = machine.answered(.misconfigured("status 401"), to: 4, at: Int64(round), roll: 1)
            guard case .wait = next else {
                Issue.record("\(next)")
                return
            }
            #expect(fate == .kept)
            #expect(machine.waited() == .send(first: 0, limit: 4))
        }
        #expect(machine.failingSince == 0)
    }

    @Test func `A registry that fails moves the cursor later, and sends nothing again`() {
        var machine = Self.reading(1)
        #expect(machine.answered(Self.accepted, to: 1, at: 0, roll: 0).next == .moveCursor)
        guard case .wait = machine.couldNotMoveCursor("disk full", at: 1, roll: 0) else {
            Issue.record("no wait")
            return
        }
        #expect(machine.reason == "disk full")
        #expect(machine.waited() == .moveCursor)
    }

    /// Whatever the answers are, no record is passed over without a fate, and none has two.
    @Test func `Every record of a page is sent or dropped once before the cursor moves`() {
        var dice = SplitMix64(seed: 7)
        for _ in 0..<2000 {
            let count = Int.random(in: 1...40, using: &dice)
            var machine = ForwardStateMachine()
            var action = machine.read(count, hasMoved: true)
            var fates = Array(repeating: 0, count: count)
            var steps = 0
            while action != .moveCursor, steps < 5000 {
                steps += 1
                switch action {
                case .send(let first, let limit):
                    let taken = min(Int.random(in: 1...max(1, limit), using: &dice), count - first)
                    if Int.random(in: 0..<10, using: &dice) == 0 {
                        for place in first..<first + taken { fates[place] += 1 }
                        action = machine.passed(taken)
                        continue
                    }
                    let answers: [ForwardAnswer] = [
                        Self.accepted, .later("", retryAfter: nil), .tooLarge(""), .refused(""), .misconfigured(""),
                    ]
                    let answer = answers.randomElement(using: &dice) ?? Self.accepted
                    let (fate, next) = machine.answered(answer, to: taken, at: 0, roll: 0.5)
                    if fate != .kept { for place in first..<first + taken { fates[place] += 1 } }
                    action = next
                case .wait: action = machine.waited()
                case .read, .moveCursor: Issue.record("\(action)")
                }
            }
            #expect(fates == Array(repeating: 1, count: count))
        }
    }
}
