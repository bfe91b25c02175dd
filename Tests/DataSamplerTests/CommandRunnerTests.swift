import DeviceTestKit
import Foundation
import Logging
import RecordQueue
import Synchronization
import TestKit
import Testing
import Transmitter
import WireModel

@testable import DataSampler

/// Commands over a real ledger and queue, and what a crash at any save leads to.
@Suite(.timeLimit(.minutes(10))) struct CommandRunnerTests {
    /// Counts what it is asked to do.
    private final class CountingActions: CommandActions {
        let beacons = Atomic<Int>(0)
        let wipes = Atomic<Int>(0)
        let questions = Atomic<Int>(0)
        private let pending = Mutex<Data?>(nil)

        func sendBeacon() async throws(DataSamplerError) { beacons.add(1, ordering: .relaxed) }
        func deviceInformation() async -> WireDeviceInformation { WireDeviceInformation() }
        func reloadProfile() async -> ProfileKeeper.Outcome { .failed("the collector is away") }
        func changeLogLevel(_ level: LogLevelWish?) async {}
        func requestLogs(command: Data, _ request: WireRequestLogs) async throws(DataSamplerError) {}
        func deliver(command: Data, _ message: WireDeliverMessage) -> Bool { false }
        func claimErasedMessages() -> Bool { false }
        func cancel(command: Data) async {}
        func wipe(command: Data, reason: String, endsEnrollment: Bool) async throws(DataSamplerError) {
            wipes.add(1, ordering: .relaxed)
            pending.withLock { $0 = command }
        }
        func wipeEvidence(command: Data) async -> WipeEvidence? {
            pending.withLock { $0 == command ? WipeEvidence(certificate: "a certificate") : nil }
        }
        func wipeUnderWay() async -> Data? { pending.withLock { $0 } }
        func wipeWasReported() async throws(DataSamplerError) { pending.withLock { $0 = nil } }
        func askForNews() async { questions.add(1, ordering: .relaxed) }
        func transmitNow() {}
    }

    /// What was on disk after each save.
    private final class Saves: Sendable {
        private let ledgers = Mutex<[CommandLedger]>([])
        /// Saves that fail, counted from 1.
        private let failing: Set<Int>

        init(failing: Set<Int> = []) { self.failing = failing }

        var all: [CommandLedger] { ledgers.withLock { $0 } }

        func save(_ ledger: CommandLedger) throws(DataSamplerError) {
            let number = ledgers.withLock { ledgers in
                ledgers.append(ledger)
                return ledgers.count
            }
            if failing.contains(number) { throw DataSamplerError(.storage, "the disk is full") }
        }
    }

    private let enrollment = Data(repeating: 7, count: 16)
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func command(_ id: UInt8, _ change: (inout WireCommand) -> Void = { $0.sendBeacon = .init() })
        -> WireCommand
    {
        var command = WireCommand()
        command.id = Data(repeating: id, count: 16)
        command.expires = 3_600_000_000
        command.enrollmentID = enrollment
        change(&command)
        return command
    }

    private func core(
        _ directory: String, clock: ManualRecordClock = ManualRecordClock(),
        conditions: any ConditionsSource = UnknownConditions()
    ) async throws -> SamplerCore {
        let transport = ScriptedTransport { _ throws(TransportError) in
            throw TransportError(.connectionRefused, "nobody listens")
        }
        var environment = SamplerBench.environment(transport)
        environment.clock = clock
        environment.conditions = { _, _ in conditions }
        return try await SamplerCore.open(
            SamplerBench.configuration(directory), environment: environment, logger: logger)
    }

    private func runner(
        _ core: SamplerCore, _ actions: CountingActions, ledger: CommandLedger = CommandLedger(),
        save: @escaping CommandRunner.Save
    ) -> CommandRunner {
        CommandRunner(
            save: save, ledger: ledger, core: core, actions: actions, events: DeviceEvents(), logger: logger)
    }

    private func results(_ core: SamplerCore) async throws -> [WireCommandResult] {
        try await core.queue.flush()
        let part = try await core.queue.nextPart(of: .status, maximumBytes: 1 << 20, maximumRecords: 100, hold: .zero)
        return try (part?.records ?? []).map { record in
            let header = try #require(RecordHeader(scanning: record))
            return try WireCommandResult.decode(header.body(of: record))
        }
    }

    private func states(_ core: SamplerCore) async throws -> [WireCommandState] { try await results(core).map(\.state) }

    @Test func `While telemetry is off, commands that ask for data are refused, and a wipe is carried out`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let core = try await core(directory.path)
        core.changeGate { $0.isTelemetryDisabled = true }
        let actions = CountingActions()
        let runner = runner(core, actions) { _ in }
        let commands = [
            command(1), command(2) { $0.queryDeviceInformation = .init() }, command(3) { $0.wipe.reason = "lost" },
        ]
        runner.received(commands, enrollment: enrollment, serverTime: 0)
        try await runner.step()
        let results = try await results(core).filter { [.done, .failed].contains($0.state) }
        #expect(results.map(\.state) == [.failed, .failed, .done])
        #expect(results.prefix(2).allSatisfy { $0.detail.contains("telemetry is switched off") })
        #expect(actions.beacons.load(ordering: .relaxed) == 0 && actions.wipes.load(ordering: .relaxed) == 1)
        await core.close()
    }

    @Test func `Received, running and done are reported, in this order`() async throws {
        let directory = try TemporaryDirectory()
        let core = try await core(directory.path)
        let runner = runner(core, CountingActions()) { _ in }
        runner.received([command(1)], enrollment: enrollment, serverTime: 0)
        try await runner.step()
        #expect(try await states(core) == [.received, .running, .done])
        await core.close()
    }

    @Test func `Cancelling a command that has ended fails, and reports how it had`() async throws {
        let directory = try TemporaryDirectory()
        let core = try await core(directory.path)
        let runner = runner(core, CountingActions()) { _ in }
        runner.received([command(1)], enrollment: enrollment, serverTime: 0)
        try await runner.step()
        runner.received([command(2) { $0.cancel.commandID = command(1).id }], enrollment: enrollment, serverTime: 0)
        try await runner.step()
        let answer = try #require(try await results(core).last)
        #expect(
            answer.commandID == command(2).id && answer.state == .failed
                && answer.detail == "it has ended already: done")
        await core.close()
    }

    @Test func `After a crash at any save a repeat is answered, and what had ended is not run again`() async throws {
        let saves = Saves()
        let first = try TemporaryDirectory()
        let firstCore = try await core(first.path)
        let firstRunner = runner(firstCore, CountingActions()) { (ledger) throws(DataSamplerError) in
            try saves.save(ledger)
        }
        firstRunner.received([command(1)], enrollment: enrollment, serverTime: 0)
        try await firstRunner.step()
        await firstCore.close()
        #expect(saves.all.count >= 5)
        var reruns: [Int] = []
        for ledger in saves.all {
            let directory = try TemporaryDirectory()
            let file = CommandLedger.file(in: directory.path)
            try file.save(ledger)
            let core = try await core(directory.path)
            let actions = CountingActions()
            let found = try #require(try file.load())
            let runner = runner(core, actions, ledger: found) { (ledger) throws(DataSamplerError) in
                try file.save(ledger)
            }
            runner.received([command(1)], enrollment: enrollment, serverTime: 0)
            try await runner.step()
            let ran = actions.beacons.load(ordering: .relaxed)
            let hadEnded = try #require(found.machine.entries.first).state.isFinal
            #expect(ran == (hadEnded ? 0 : 1))
            let entry = try #require(await runner.report.entries.first)
            #expect(entry.state == .done && !entry.isUnreported)
            if !hadEnded { #expect(try await states(core).last == .done) }
            reruns.append(ran)
            await core.close()
        }
        #expect(reruns.first == 1 && reruns.last == 0, "both kinds of crash were met")
    }

    @Test func `A save that fails leaves nothing undone: the next step goes on`() async throws {
        for failing in 1...6 {
            let directory = try TemporaryDirectory()
            let core = try await core(directory.path)
            let actions = CountingActions()
            let saves = Saves(failing: [failing])
            let runner = runner(core, actions) { (ledger) throws(DataSamplerError) in try saves.save(ledger) }
            runner.received([command(1) { $0.wipe.reason = "test" }], enrollment: enrollment, serverTime: 0)
            do { try await runner.step() } catch { #expect(error.code == .storage) }
            try await runner.step()
            #expect(actions.wipes.load(ordering: .relaxed) >= 1)
            #expect(await runner.report.entries.map(\.state) == [.done], "save \(failing)")
            #expect(await actions.wipeUnderWay() == nil, "producers go on after save \(failing)")
            await core.close()
        }
    }

    @Test func `A quiet device that is enrolled and not offline asks for news, once an interval`() async throws {
        let directory = try TemporaryDirectory()
        let (clock, conditions) = (ManualRecordClock(), SetConditions())
        let core = try await core(directory.path, clock: clock, conditions: conditions)
        let actions = CountingActions()
        let runner = runner(core, actions) { _ in }
        func look(after duration: Duration) async -> Int {
            clock.advance(by: duration)
            await runner.pollIfSilent()
            return actions.questions.load(ordering: .relaxed)
        }
        #expect(await look(after: .seconds(900)) == 0, "it has no enrollment")
        try core.identity.save(
            Enrollment(
                deviceID: .random(), credential: "credential", organization: "default", collectorID: .random(),
                incarnationID: .random(),
                enrollmentID: enrollment))
        #expect(await look(after: .seconds(899)) == 0)
        // Records may not go over a metered network; a question may.
        conditions.set { ($0.network, $0.metered) = (.cellular, true) }
        #expect(await look(after: .seconds(1)) == 1)
        #expect(await look(after: .seconds(899)) == 1)
        runner.received([], enrollment: enrollment, serverTime: 0)
        #expect(await look(after: .seconds(899)) == 1, "news came meanwhile")
        #expect(await look(after: .seconds(1)) == 2)
        conditions.set { $0.network = .offline }
        #expect(await look(after: .seconds(900)) == 2)
        conditions.set { $0.network = .wifi }
        core.changeGate { $0.isUnenrolled = true }
        #expect(await look(after: .seconds(900)) == 2)
        core.changeGate { $0.isUnenrolled = false }
        #expect(await look(after: .seconds(900)) == 3)
        // The collector rings.
        runner.rang()
        #expect(await look(after: .seconds(1)) == 4)
        #expect(await look(after: .seconds(1)) == 4)
        await core.close()
    }
}
