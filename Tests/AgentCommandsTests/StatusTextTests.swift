import DataSampler
import Foundation
import Testing

@testable import AgentCommands

@Suite struct StatusTextTests {
    @Test(arguments: [
        ("files", 3, "a: 3 files, not looked at yet, 7 lines stored"),
        ("files", 1, "a: 1 file, not looked at yet, 7 lines stored"),
        ("journal", 1, "a: journal, not looked at yet, 7 lines stored"),
        ("kernel", 1, "a: kernel's ring, not looked at yet, 7 lines stored"),
        ("kernel", 0, "a: kernel's ring, cannot be read now, 7 lines stored"),
        ("syslog", 0, "a: syslog, cannot be read now, 7 lines stored"),
        ("syslog", 4, "a: syslog at 4 sockets, not looked at yet, 7 lines stored"),
    ])
    func `A source is called by what it reads`(kind: String, parts: Int, text: String) throws {
        let json = """
            {"application": "a", "kind": "\(kind)", "parts": \(parts), "stored": 7, "passedBy": 0, "leftOut": 0,
             "problems": []}
            """
        let intake = try JSONDecoder().decode(DataSamplerStatus.Intake.self, from: Data(json.utf8))
        #expect(StatusText.intake(intake) { _ in "" } == text)
    }
}
