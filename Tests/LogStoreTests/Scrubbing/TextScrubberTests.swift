import Testing
import WireModel

@testable import LogStore

@Suite struct TextScrubberTests {
    @Test func `More values than a store takes, and longer ones, are all found`() throws {
        let many = (0..<(3 * ProfileLimits.scrubs)).map { "secret-number-\($0)-" }
        let long = String(repeating: "a long secret, ä ", count: 200)
        let scrubber = try TextScrubber(LogScrubbing(values: many + [long], patterns: ["card \\d+"]))
        for value in many + [long] { #expect(scrubber.scrubbed("x\(value)y") == "x[scrubbed]y") }
        #expect(scrubber.scrubbed("the card 4711 is blue") == "the [scrubbed] is blue")
        #expect(scrubber.scrubbed("nothing here") == "nothing here")
    }

    @Test func `A longer value is replaced whole where a shorter one is a part of it`() throws {
        // They are in different groups, and the shorter one comes first.
        let filler = (0..<(2 * ProfileLimits.scrubs)).map { "filler-of-some-length-\($0)" }
        let scrubber = try TextScrubber(
            LogScrubbing(values: ["hunter"] + filler + ["the-whole-hunter-is-longer-than-filler"]))
        #expect(scrubber.scrubbed("the-whole-hunter-is-longer-than-filler") == "[scrubbed]")
        #expect(scrubber.scrubbed("hunter") == "[scrubbed]")
    }

    @Test func `Without rules nothing changes, and a wrong pattern is refused`() throws {
        #expect(try TextScrubber(LogScrubbing()).scrubbed("text") == "text")
        #expect(throws: LogStoreError.self) { try TextScrubber(LogScrubbing(patterns: ["("])) }
    }
}
