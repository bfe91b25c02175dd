import Testing
import WireModel

@testable import Collector

/// The generated names of the API.
@Suite struct EnumNameTests {
    @Test(arguments: ["error", "warning", "information", "verbose", "info", "debug"])
    func `The API reads the words for log levels that programs and lists read`(word: String) throws {
        #expect(try EnumName.logLevel.value(word, "level") == LogLevel(name: word)?.wire)
    }

    @Test(arguments: LogLevel.allCases)
    func `A log level is written with its own name, never with its second one`(level: LogLevel) {
        #expect(EnumName.logLevel.name(level.wire) == level.name)
    }
}
