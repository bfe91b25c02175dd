import Foundation
import Logging
import Synchronization
import Testing

@testable import CollectorCommands

@Suite("Log lines")
struct JSONLinesLogHandlerTests {
    @Test func `Every line is one JSON object, whatever is in it`() throws {
        let written = Recorder()
        var logger = Logger(label: "test") { _ in
            JSONLinesLogHandler(level: SharedLogLevel(.info), now: { 0 }, write: { line in written.add(line) })
        }
        logger[metadataKey: "kept"] = "yes"
        logger.info(
            "quote \" backslash \\ newline \n bell \u{7} é 😀", metadata: ["list": ["a", "b"], "object": ["k": "v"]])
        logger.debug("below the level")
        let lines = written.bytes.split(separator: 0x0A)
        #expect(lines.count == 1)
        let parsed = try #require(try JSONSerialization.jsonObject(with: lines[0]) as? [String: Any])
        #expect(parsed["message"] as? String == "quote \" backslash \\ newline \n bell \u{7} é 😀")
        #expect(parsed["time"] as? String == "1970-01-01T00:00:00.000000Z")
        #expect(parsed["level"] as? String == "information")
        #expect(parsed["kept"] as? String == "yes")
        #expect(parsed["list"] as? [String] == ["a", "b"])
        #expect(parsed["object"] as? [String: String] == ["k": "v"])
    }
}

private final class Recorder: Sendable {
    private let written = Mutex(Data())

    func add(_ line: Data) { written.withLock { $0 += line } }
    var bytes: Data { written.withLock { $0 } }
}
