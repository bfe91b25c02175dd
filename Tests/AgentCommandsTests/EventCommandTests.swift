import ArgumentParser
import CommandKit
import DataSampler
import Foundation
import Testing
import WireModel

@testable import AgentCommands

@Suite struct EventCommandTests {
    private func command(_ arguments: [String]) throws -> EventCommand { try EventCommand.parse(arguments) }

    @Test func `An interrupted queue exits with 75`() {
        #expect(CommandError(DataSamplerError(.queueInterrupted, "commit failed")).code == .tryAgain)
    }

    @Test func `Name, value, type and attributes become an event`() throws {
        let message = try command(["door", "7", "--type", "integer", "--attribute", "a=b=c", "--attribute", "empty="])
            .event().message
        #expect(message.name == "door")
        #expect(message.value.integer == 7)
        #expect(message.attributes["a"]?.text == "b=c")
        #expect(message.attributes["empty"]?.text == "")
    }

    @Test(arguments: [
        ["door", "x", "--type", "integer"], ["door", "1", "--type", "number"], ["door", "1", "--attribute", "a"],
        ["door", "1", "--attribute", "=a"], ["door", "1", "--attribute", "a=1", "--attribute", "a=2"], ["", "1"],
    ]) func `What is no event is wrong usage`(arguments: [String]) throws {
        let command = try command(arguments)
        let error = #expect(throws: CommandError.self) { try command.event() }
        #expect(error?.exitCode == 64)
    }

    @Test func `The answer says when the event will be sent`() {
        let now = Date(timeIntervalSince1970: 1_700_000_000)
        func text(_ plan: EventPlan?, number: UInt64 = 7) -> String { EventPlan.text(number: number, plan, now: now) }
        #expect(
            text(EventPlan(holdSeconds: 7200, running: true))
                == "event 7: on disk; held until 2023-11-15T00:13:20Z (for 2 h), then sent with the next transmit")
        #expect(text(EventPlan(holdSeconds: 0, running: true)) == "event 7: on disk; sent now")
        #expect(
            text(EventPlan(holdSeconds: 60, running: false))
                == """
                event 7: on disk; held until 2023-11-14T22:14:20Z (for 60 s), then sent by the next run of the agent
                """
        )
        #expect(
            text(EventPlan(holdSeconds: 0, running: true, obstacle: "the collector is not reachable: refused"))
                == "event 7: on disk; waits. It cannot be sent now: the collector is not reachable: refused")
        #expect(text(nil) == "event 7")
    }

    @Test func `A running agent hands the plan over with the number`() throws {
        let plan = EventPlan(holdSeconds: 7200, running: true, obstacle: "x")
        let answer = try WireControlAnswer.event(3, plan)
        #expect(answer.succeeded && answer.number == 3 && EventPlan(answer) == plan)
        #expect(EventPlan(WireControlAnswer.numbered(3)) == nil)
    }

    @Test func `A token among the arguments and an open directory are warned of`() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("warnings-\(UUID())").path
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o777])
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        func warnings(_ arguments: [String]) throws -> [String] {
            let options = try RunOptions.parse(["--data", directory, "--collector", "http://127.0.0.1:1"] + arguments)
            return options.warnings(try options.settings())
        }
        let both = try warnings(["--enrollment-token", "t"])
        #expect(both.count == 2 && both[0].contains("chmod go-w \(directory)"), "\(both)")
        #expect(both[1].contains("--enrollment-token-file") && both[1].contains("WS1_ENROLLMENT_TOKEN"))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory)
        #expect(try warnings([]).isEmpty)
    }

    @Test func `A log line stays one line whatever is in it`() {
        #expect(OneLineLogHandler.oneLine("a\nb\r\tc\u{1B}") == "a b  c ")
        #expect(OneLineLogHandler.oneLine("a\u{9B}2Jb\u{202E}c") == "a 2Jb c")
    }
}
