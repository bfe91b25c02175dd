import Testing

@testable import TelemetryBasics

@Suite struct CountTextTests {
    @Test func `One is not a plural`() {
        #expect(CountText.of(1, "record") == "1 record")
        #expect(CountText.of(0, "record") == "0 records" && CountText.of(UInt64(2), "record") == "2 records")
    }
}
