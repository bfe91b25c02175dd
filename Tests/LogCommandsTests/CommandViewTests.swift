import CollectorAPI
import FoundationEssentials
import Testing

@Suite struct CommandViewTests {
    @Test func `A command is read with or without what its device reported`() throws {
        for report in ["", #","deviceInformation":{"model":"T1","names":[1,null]}"#] {
            let json = """
                {"id":"c1","device":"d1","kind":"query-device-information","arguments":{},"issuedAt":"",
                "issuedBy":"Ada",
                "expiresAt":"","state":"done","progress":1\(report)}
                """
            let command = try JSONDecoder().decode(CommandView.self, from: Data(json.utf8))
            #expect(command.state == "done" && command.issuedBy == "Ada" && command.deviceInformation == nil)
        }
    }
}
