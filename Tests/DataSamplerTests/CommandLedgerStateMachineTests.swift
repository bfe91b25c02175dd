import DeviceTunables
import Foundation
import Testing
import WireModel

@testable import DataSampler

@Suite struct CommandLedgerStateMachineTests {
    private let enrollment = Data(repeating: 7, count: 16)
    private let minute: Int64 = 60_000_000

    private func command(
        _ id: UInt8, expires: Int64 = 3_600_000_000, enrollment: Data? = nil,
        _ change: (inout WireCommand) -> Void = { $0.sendBeacon = .init() }
    ) -> WireCommand {
        var command = WireCommand()
        command.id = Data(repeating: id, count: 16)
        command.expires = expires
        command.enrollmentID = enrollment ?? self.enrollment
        change(&command)
        return command
    }

    private func id(_ id: UInt8) -> Data { Data(repeating: id, count: 16) }

    /// Accepts commands at time 0 of both clocks.
    private func received(_ commands: [WireCommand], serverTime: Int64 = 0, now: Int64 = 0) -> CommandLedgerStateMachine
    {
        var machine = CommandLedgerStateMachine()
        _ = machine.received(commands, enrollment: enrollment, serverTime: serverTime, now: now)
        return machine
    }

    @Test func `A command is received, run once, reported, and a repeat is answered, not run again`() {
        var machine = received([command(1)])
        #expect(machine.unreported.map(\.state) == [.received])
        #expect(machine.nextToRun(now: 0)?.id == id(1))
        machine.began(id(1))
        #expect(machine.nextToRun(now: 0) == nil)
        machine.ended(id(1), .done, "", now: 5)
        #expect(machine.unreported.map(\.state) == [.done])
        machine.reported(id(1), .done, now: 5)
        #expect(machine.unreported.isEmpty)
        // Within a minute the answer is still on its way.
        let outcome1 = machine.received([command(1)], enrollment: enrollment, serverTime: 0, now: 6)
        #expect(!outcome1)
        let outcome2 = machine.received([command(1)], enrollment: enrollment, serverTime: 0, now: 5 + minute)
        #expect(outcome2)
        #expect(machine.unreported.map(\.state) == [.done])
        #expect(machine.nextToRun(now: 5 + minute) == nil)
    }

    @Test func `A wipe of another enrollment, or of none, is refused and never run`() {
        for foreign in [Data(repeating: 8, count: 16), Data()] {
            let machine = received([
                command(1, enrollment: foreign) { $0.wipe = .init() },
                command(2, enrollment: foreign) { $0.enterpriseWipe = .init() },
            ])
            #expect(machine.entries.map(\.state) == [.failed, .failed])
            #expect(machine.nextToRun(now: 0) == nil)
        }
        var machine = CommandLedgerStateMachine()
        _ = machine.received(
            [command(1, enrollment: Data()) { $0.wipe = .init() }], enrollment: Data(), serverTime: 0, now: 0)
        #expect(machine.entries.map(\.state) == [.failed], "a collector that names no enrollments cannot wipe")
    }

    @Test func `What cannot be done is unsupported, what is malformed fails`() {
        let machine = received([
            command(1) { $0.requestLogs.mode = .capture }, command(2) { $0.action = nil },
            command(3) { $0.changeLogLevel = .init() },
            command(4) {
                $0.changeLogLevel.level = .verbose
                $0.changeLogLevel.durationSeconds = 604_801
            },
            command(5) { $0.message = .init() },
        ])
        #expect(machine.entries.map(\.state) == [.failed, .unsupported, .failed, .failed, .failed])
    }

    @Test func `A message that is put off begins anew after twice the pause each time, up to an hour`() {
        var machine = received([command(1, expires: 86_400_000_000) { $0.message.text = "hello" }])
        var (now, pauses): (Int64, [Int64]) = (0, [])
        for _ in 1...9 {
            machine.began(id(1))
            machine.goesOn(id(1))
            #expect(machine.nextToRun(now: now) == nil)
            machine.putOff(id(1), "the screen is off", now: now)
            #expect(machine.entries[0].state == .notNow && machine.unreported.map(\.id) == [id(1)])
            let due = machine.wakeAt ?? 0
            #expect(machine.nextToRun(now: due - 1) == nil && machine.nextToRun(now: due)?.id == id(1))
            pauses.append((due - now) / minute)
            now = due
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60])
    }

    @Test func `What a person wrote is forgotten with the end of its command`() throws {
        let words = Data("words of a person".utf8)
        func isKept(_ machine: CommandLedgerStateMachine) -> Bool {
            machine.entries.contains { $0.command.range(of: words) != nil }
        }
        func message(_ id: UInt8, enrollment: Data? = nil) -> WireCommand {
            command(id, enrollment: enrollment) { $0.message.text = "words of a person" }
        }
        #expect(!isKept(received([message(1, enrollment: Data())])), "refused at once")
        let waiting = received([message(1)])
        #expect(isKept(waiting))
        var (ended, cancelled, expired, erased) = (waiting, waiting, waiting, waiting)
        ended.began(id(1))
        ended.ended(id(1), .done, "", now: 1)
        _ = cancelled.cancelled(id(1))
        _ = expired.expire(now: 3_600_000_000)
        let hadSome = erased.messagesErased()
        let hasMore = erased.messagesErased()
        #expect(hadSome && !hasMore)
        for machine in [ended, cancelled, expired, erased] {
            #expect(!isKept(machine) && machine.entries[0].state.isFinal)
            let command = try WireCommand.decode(machine.entries[0].command)
            #expect(command.action == .message(.init()), "it keeps its kind")
        }
    }

    private func longCommand() -> CommandLedgerStateMachine {
        var machine = received([command(1) { $0.requestLogs = .init() }, command(2)])
        machine.began(id(1))
        machine.goesOn(id(1))
        machine.reported(id(1), .running, now: 0)
        return machine
    }

    @Test func `What takes long goes on while others are carried out`() {
        var machine = longCommand()
        #expect(machine.nextToRun(now: 0)?.id == id(2))
        machine.stepFailed()
        #expect(machine.entries.map(\.state) == [.running, .received])
        machine.ended(id(1), .done, "3 chunks", now: 5)
        #expect(machine.entries[0].state == .done)
    }

    @Test func `What takes long is begun again after a restart`() {
        var machine = longCommand()
        machine.restarted()
        #expect(machine.nextToRun(now: 0)?.id == id(1))
        machine.began(id(1))
        machine.stepFailed()
        #expect(machine.entries[0].state == .received, "nothing goes on yet")
    }

    @Test func `Progress is reported in steps, and what is waited for at once`() {
        var machine = longCommand()
        func progressed(_ progress: UInt32, _ why: String = "") -> Bool {
            machine.progressed(id(1), progress, waitsFor: why)
        }
        let first = progressed(999)
        let second = progressed(1000)
        let third = progressed(1500)
        let waits = progressed(1500, "metered")
        let stillWaits = progressed(1600, "metered")
        let goesOn = progressed(1600)
        #expect([first, second, third, waits, stillWaits, goesOn] == [false, true, false, true, false, true])
        #expect(machine.entries[0].state == .running)
        // Not tried again as others that wait are.
        _ = progressed(1600, "metered")
        #expect(machine.entries[0].state == .notNow)
        #expect(machine.nextToRun(now: 3_000_000_000)?.id == id(2))
        let ofAnother = machine.progressed(id(2), 5000, waitsFor: "")
        #expect(!ofAnother)
    }

    @Test func `What takes long is cancelled and expires while it goes on`() {
        var machine = longCommand()
        let answer = machine.cancelled(id(1))
        #expect(answer.0 == .done)
        #expect(machine.entries[0].state == .failed)
        machine = longCommand()
        #expect(machine.wakeAt == 3_600_000_000)
        let expired = machine.expire(now: 3_600_000_000)
        #expect(expired.map(\.id) == [id(1), id(2)])
        #expect(expired.map(\.isLong) == [true, nil])
        #expect(machine.entries.map(\.state) == [.expired, .expired])
        let progressed = machine.progressed(id(1), 9000, waitsFor: "")
        #expect(!progressed)
    }

    @Test func `Life is counted from the collector's time on the queue clock`() {
        // Expires 10 s after the collector's now, whatever this device's wall clock says.
        var machine = received([command(1, expires: 1_010_000_000)], serverTime: 1_000_000_000, now: 500)
        #expect(machine.entries[0].deadline == 500 + 10_000_000)
        let outcome3 = !machine.expire(now: 10_000_499).isEmpty
        #expect(!outcome3)
        let outcome4 = !machine.expire(now: 10_000_500).isEmpty
        #expect(outcome4)
        #expect(machine.entries.map(\.state) == [.expired])
        #expect(received([command(1, expires: 999)], serverTime: 1000).entries.map(\.state) == [.expired])
    }

    @Test func `Not now is tried again a minute later, until it expires`() {
        var machine = received([command(1, expires: 150_000_000)])
        machine.began(id(1))
        machine.ended(id(1), .notNow, "disk full", now: 0)
        #expect(machine.nextToRun(now: minute - 1) == nil)
        #expect(machine.nextToRun(now: minute)?.id == id(1))
        #expect(machine.wakeAt == minute)
        let outcome5 = !machine.expire(now: 150_000_000).isEmpty
        #expect(outcome5)
        #expect(machine.nextToRun(now: 150_000_000) == nil)
    }

    @Test func `What was running when the program ended runs again`() {
        var machine = received([command(1)])
        machine.began(id(1))
        machine.restarted()
        #expect(machine.nextToRun(now: 0)?.id == id(1))
    }

    @Test func `Cancelling ends what has not begun, and only that`() {
        var machine = received([command(1), command(2)])
        let outcome6 = machine.cancelled(id(1))
        #expect(outcome6.0 == .done)
        #expect(machine.entries[0].state == .failed)
        machine.began(id(2))
        let outcome7 = machine.cancelled(id(2))
        #expect(outcome7.0 == .failed)
        let outcome8 = machine.cancelled(id(3))
        #expect(outcome8.0 == .failed)
        #expect(machine.entries[1].state == .running)
    }

    @Test(arguments: [CommandLedgerStateMachine.State.done, .failed, .expired, .unsupported])
    func `Cancelling what has ended says how it had`(_ state: CommandLedgerStateMachine.State) {
        var machine = received([command(1)])
        machine.ended(id(1), state, "", now: 0)
        let (outcome, detail) = machine.cancelled(id(1))
        #expect(outcome == .failed && detail == "it has ended already: \(state.rawValue)")
        #expect(machine.entries.map(\.state) == [state])
    }

    private var verbose: WireChangeLogLevel {
        var change = WireChangeLogLevel()
        (change.level, change.durationSeconds) = (.verbose, 60)
        return change
    }

    @Test func `A log level returns after its time, a repeat does not extend it, cancelling returns it`() {
        var machine = CommandLedgerStateMachine()
        machine.levelChanged(verbose, by: id(1), now: 0)
        machine.levelChanged(verbose, by: id(1), now: 30_000_000)
        #expect(machine.wakeAt == minute)
        let outcome9 = machine.levelReturned(now: minute - 1)
        #expect(!outcome9)
        let outcome10 = machine.levelReturned(now: minute)
        #expect(outcome10)
        #expect(machine.levelChange == nil)
        machine.levelChanged(verbose, by: id(2), now: 0)
        let outcome11 = machine.cancelled(id(2))
        #expect(outcome11.0 == .done)
        #expect(machine.levelChange == nil)
    }

    @Test func `The ledger is bounded, and nothing is given up before it expires`() {
        let many = (0..<300).map { number in
            var command = command(1)
            command.id = Data([UInt8(number & 255), UInt8(number >> 8)] + [UInt8](repeating: 0, count: 14))
            return command
        }
        var machine = received(many)
        #expect(machine.entries.count == Tunables.Commands.maximumEntries)
        for entry in machine.entries {
            machine.ended(entry.id, .done, "", now: 1)
            machine.reported(entry.id, .done, now: 1)
        }
        _ = machine.received([], enrollment: enrollment, serverTime: 0, now: 3_600_000_000)
        #expect(machine.entries.count == Tunables.Commands.maximumEntries, "a repeat may be on its way")
        _ = machine.received([], enrollment: enrollment, serverTime: 0, now: 2 * 3_600_000_000)
        #expect(machine.entries.isEmpty)
    }

    @Test func `A command is owed until its end is reported`() {
        var machine = received([command(1) { $0.enterpriseWipe = .init() }])
        #expect(machine.isOwed(id(1)) && !machine.isOwed(id(2)))
        machine.began(id(1))
        machine.ended(id(1), .done, "", now: 0)
        #expect(machine.isOwed(id(1)) && !machine.isOpen(id(1)))
        machine.reported(id(1), .done, now: 0)
        #expect(!machine.isOwed(id(1)))
    }

    @Test func `It is what it was after a restart`() throws {
        var machine = received([command(1), command(2) { $0.wipe = .init() }])
        machine.began(id(1))
        machine.levelChanged(verbose, by: id(9), now: 0)
        #expect(
            try JSONDecoder().decode(CommandLedgerStateMachine.self, from: JSONEncoder().encode(machine)) == machine)
    }
}
