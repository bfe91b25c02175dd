import ArgumentParser
import DataSampler
import Testing
import WireModel

@testable import AgentCommands

@Suite struct EventCommandTests {
    private func command(_ arguments: [String]) throws -> EventCommand { try EventCommand.parse(arguments) }

    @Test func `Name, value, type and attributes become an event`() throws {
        let message = try command(["door", "7", "--type", "integer", "--attribute", "a=b=c", "--attribute", "empty="]).event().message
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
        let error = #expect(throws: AgentError.self) { try command.event() }
        #expect(error?.exitCode == 64)
    }

    @Test func `A log line stays one line whatever is in it`() {
        #expect(OneLineLogHandler.oneLine("a\nb\r\tc\u{1B}") == "a b  c ")
    }
}
