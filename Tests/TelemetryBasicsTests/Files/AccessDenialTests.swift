import Foundation
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

    @Test func `The group that may pass is named, and no other`() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("denial-\(UUID())").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        for (mode, isOpen) in [(0o710, true), (0o750, true), (0o740, false), (0o700, false)] as [(mode_t, Bool)] {
            #expect(chmod(directory, mode) == 0)
            let denial = AccessDenial(directory)
            #expect((denial.group != nil) == isOpen, "\(String(mode, radix: 8))")
            #expect(denial.remedy.contains("usermod -aG \(denial.group ?? "?") ") == isOpen)
            #expect(denial.remedy.hasPrefix("Run it as "))
        }
        let file = "\(directory)/file"
        #expect(FileManager.default.createFile(atPath: file, contents: nil))
        #expect(chmod(directory, 0o700) == 0 && chmod(file, 0o640) == 0)
        #expect(AccessDenial(file).group != nil)
        #expect(chmod(file, 0o610) == 0)
        #expect(AccessDenial(file).group == nil)
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
