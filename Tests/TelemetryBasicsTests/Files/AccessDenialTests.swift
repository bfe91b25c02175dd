import TelemetryBasics
import Testing

@testable import TelemetryBasics

@Suite struct AccessDenialTests {
    @Test func `Only a refusal for permission is one, and it names owner, mode and who asks`() throws {
        #expect(AccessDenial.text("/nonexistent", 2) == nil)
        let text = try #require(AccessDenial.text("/etc/shadow", 13))
        for word in ["/etc/shadow", "user root", "mode 0", "Run it as root"] { #expect(text.contains(word), "\(text)") }
        // What lies beyond a file that is missing is nobody's.
        #expect(AccessDenial.text("/nonexistent/a/b", 13)?.contains("/nonexistent/a/b") == true)
    }

    @Test func `Groups are found by name and by number`() {
        #expect(AccessDenial.groupID("root") == 0)
        #expect(AccessDenial.groupID("0") == 0)
        #expect(AccessDenial.groupID("no-such-group-here") == nil)
    }

    @Test func `A fault of a file is said in one line without a library's words`() {
        #expect(FileFault("/nonexistent").words(otherwise: "content") == "No such file or directory")
        #expect(FileFault("/etc").words(otherwise: "content") == "it is a directory")
        #expect(FileFault("/etc/passwd").words(otherwise: "content") == "content")
    }
}
