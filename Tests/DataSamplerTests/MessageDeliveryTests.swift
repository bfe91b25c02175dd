import DeviceTestKit
import Foundation
import Logging
import StoreTestKit
import Synchronization
import TestKit
import Testing
import Transmitter
import WireModel

@testable import DataSampler

/// Messages of people on their way from the collector to the host program.
@Suite(.timeLimit(.minutes(10))) struct MessageDeliveryTests {
    /// What a program was given, and how it takes it.
    private final class Inbox: Sendable {
        private struct Refusal: Error, CustomStringConvertible { let description = "the screen is off" }

        private let state = Mutex<(given: [DataSamplerMessage], taken: Int)>(([], 0))
        private let refusals: Int
        private let hangs: Bool

        /// - Parameters:
        ///   - refusals: how many calls fail at first.
        ///   - hangs: whether calls last until they are cancelled.
        init(refusals: Int = 0, hangs: Bool = false) {
            self.refusals = refusals
            self.hangs = hangs
        }

        var given: [DataSamplerMessage] { state.withLock { $0.given } }

        func receive(_ message: DataSamplerMessage) async throws {
            let calls = state.withLock { state in
                state.given.append(message)
                return state.given.count
            }
            if hangs {
                let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
                for await _ in stream {}
                continuation.finish()
                throw CancellationError()
            }
            if calls <= refusals { throw Refusal() }
        }
    }

    private let bench = SamplerBench()
    private static let text = "words-that-nobody-else-may-read"

    private func command(
        _ sampler: DataSampler, _ id: UInt8 = 9, _ change: (inout WireCommand) -> Void = { $0.message.text = text }
    ) throws -> WireCommand {
        var command = WireCommand()
        command.id = Data(repeating: id, count: 16)
        command.expires = 3_600_000_000
        command.enrollmentID = try #require(try sampler.running().core.identity.load()).enrollmentID
        change(&command)
        return command
    }

    private func started(_ directory: String, _ inbox: Inbox?) async throws -> DataSampler {
        let sampler = try bench.sampler(directory) { configuration in
            if let inbox { configuration.receiveMessage = { message in try await inbox.receive(message) } }
        }
        try await SamplerBench.start(sampler)
        try await sampler.reloadProfile()
        return sampler
    }

    private func give(_ commands: [WireCommand], to sampler: DataSampler) async throws {
        bench.collector.setNews(revision: 1, commands: commands, serverTime: 1)
        try await sampler.loadCommands()
    }

    private func states(of id: UInt8 = 9) async throws -> [WireCommandState] {
        try await bench.results().map(\.result).filter { $0.commandID == Data(repeating: id, count: 16) }.map(\.state)
    }

    private func ledger(_ directory: String) throws -> CommandLedger? { try CommandLedger.file(in: directory).load() }

    /// Whether a file of commands has the text in it.
    private func isKept(_ directory: String) throws -> Bool {
        try ledger(directory)?.machine.entries.contains {
            $0.command.range(of: Data(Self.text.utf8)) != nil
        } ?? false
    }

    @Test func `A message is done when the program has it, and nothing else has its text`() async throws {
        let (directory, inbox) = (try TemporaryDirectory(), Inbox())
        let sampler = try await started(directory.path, inbox)
        let notices = sampler.notices
        let message = try command(sampler) {
            $0.message.text = Self.text
            $0.message.payload = Data([0, 255])
            $0.message.contentType = "image/png"
        }
        try await give([message], to: sampler)
        try await bench.arrived { try await states().last == .done }
        let given = try #require(inbox.given.first)
        #expect(given.id == "09090909-0909-0909-0909-090909090909" && given.text == Self.text)
        #expect(given.payload == Data([0, 255]) && given.contentType == "image/png" && inbox.given.count == 1)
        let notice = await notices.first { $0.kind == .messageReceived }
        #expect(notice?.details == ["command": given.id] && notice?.message.contains(Self.text) == false)
        try await SamplerBench.until { try !isKept(directory.path) }
        // The collector repeats what it has not heard the end of.
        try await give([message], to: sampler)
        await sampler.stop()
        #expect(inbox.given.count == 1)
    }

    @Test func `A program that takes no messages says so`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try await started(directory.path, nil)
        try await give([try command(sampler)], to: sampler)
        try await bench.arrived { try await states().last == .unsupported }
        await sampler.stop()
        let result = try #require(try await bench.results().last { $0.result.state == .unsupported }?.result)
        #expect(result.detail.contains("takes no messages"))
    }

    @Test func `A message that the program did not take waits, and the reason is told`() async throws {
        let (directory, inbox) = (try TemporaryDirectory(), Inbox(refusals: 1))
        let sampler = try await started(directory.path, inbox)
        try await give([try command(sampler), try command(sampler, 10)], to: sampler)
        try await bench.arrived { try await states().last == .notNow }
        try await bench.arrived { try await states(of: 10).last == .done }
        let result = try #require(try await bench.results().last { $0.result.state == .notNow }?.result)
        #expect(result.detail.contains("the screen is off"))
        #expect(try isKept(directory.path), "it is delivered later")
        await sampler.stop()
    }

    @Test func `A message whose end was not stored is delivered again, with the same id`() async throws {
        let (directory, first, second) = (try TemporaryDirectory(), Inbox(hangs: true), Inbox())
        var sampler = try await started(directory.path, first)
        try await give([try command(sampler)], to: sampler)
        try await SamplerBench.until { first.given.count == 1 }
        await sampler.stop()
        #expect(try await states().contains(.done) == false)
        sampler = try await started(directory.path, second)
        try await bench.arrived { try await states().last == .done }
        await sampler.stop()
        #expect(second.given == first.given)
        // Once the end is stored, no start delivers it again.
        let third = Inbox()
        sampler = try await started(directory.path, third)
        try await give([try command(sampler)], to: sampler)
        await sampler.stop()
        #expect(third.given.isEmpty)
    }

    @Test func `A program that never answers holds up no wipe, and a wipe erases what waits`() async throws {
        let (directory, inbox) = (try TemporaryDirectory(), Inbox(hangs: true))
        let sampler = try await started(directory.path, inbox)
        let messages = [try command(sampler), try command(sampler, 10)]
        try await give(messages, to: sampler)
        try await SamplerBench.until { inbox.given.count == 1 }
        #expect(try isKept(directory.path))
        try await give(messages + [try command(sampler, 11) { $0.wipe.reason = "lost" }], to: sampler)
        // A final state, so it is the last one. The numbers of the new epoch begin anew and say nothing about that.
        try await bench.arrived { try await states(of: 11).contains(.done) }
        try await bench.arrived {
            let (first, second) = (try await states(), try await states(of: 10))
            return first.contains(.expired) && second.contains(.expired)
        }
        #expect(try !isKept(directory.path))
        await sampler.stop()
        #expect(inbox.given.count == 1)
    }

    @Test func `A cancelled message that waits is not delivered`() async throws {
        let (directory, inbox) = (try TemporaryDirectory(), Inbox(hangs: true))
        let sampler = try await started(directory.path, inbox)
        let messages = [try command(sampler), try command(sampler, 10)]
        try await give(messages, to: sampler)
        try await SamplerBench.until { inbox.given.count == 1 }
        let cancel = try command(sampler, 11) { $0.cancel.commandID = messages[1].id }
        try await give(messages + [cancel], to: sampler)
        try await bench.arrived { try await states(of: 10).last == .failed }
        try await bench.arrived { try await states(of: 11).last == .done }
        await sampler.stop()
        #expect(inbox.given.map(\.id) == ["09090909-0909-0909-0909-090909090909"])
    }

    @Test func `A message is delivered in do-not-disturb, and while telemetry is off`() async throws {
        let (directory, inbox) = (try TemporaryDirectory(), Inbox())
        let sampler = try await started(directory.path, inbox)
        let core = try sampler.running().core
        core.setDoNotDisturb(true)
        try await give([try command(sampler)], to: sampler)
        try await SamplerBench.until { inbox.given.count == 1 }
        core.changeGate { $0.isTelemetryDisabled = true }
        // Who has switched telemetry off still looks whether the profile lifts that, and gets commands with it.
        bench.collector.setNews(
            revision: 1, commands: [try command(sampler), try command(sampler, 10)], serverTime: 1)
        try await sampler.reloadProfile()
        try await SamplerBench.until { inbox.given.count == 2 }
        await sampler.stop()
    }

    @Test func `A call that does not return in time is given up, and the next message goes on`() async throws {
        let (sleeper, events) = (ManualSleeper(), DeviceEvents())
        let given = Mutex<[String]>([])
        let delivery = MessageDelivery(
            receive: { message in
                given.withLock { $0.append(message.text) }
                guard message.text == "slow" else { return }
                // Not even cancellation ends it.
                await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            }, notices: NoticeBoard(), events: events, sleeper: sleeper,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        for (id, text) in [(UInt8(1), "slow"), (2, "quick")] {
            var message = WireDeliverMessage()
            message.text = text
            #expect(delivery.begin(command: Data(repeating: id, count: 16), message))
        }
        let running = Task { await delivery.run() }
        await sleeper.waitForSleeper()
        sleeper.advance(by: .seconds(600))
        var courses: [CommandCourse] = []
        for await entry in events.entries {
            if case .commandWent(_, let course) = entry.event { courses.append(course) }
            if courses.count == 2 { break }
        }
        #expect(courses == [.ended(.notNow, "the program did not take it within 600 s"), .ended(.done, "")])
        #expect(given.withLock { $0 } == ["slow", "quick"])
        running.cancel()
        await running.value
    }
}
