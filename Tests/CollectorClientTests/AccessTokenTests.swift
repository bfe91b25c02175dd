import CollectorClient
import Foundation
import TelemetryBasics
import Testing

@Suite struct AccessTokenTests {
    @Test func `A token is read and never shown`() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("token-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("from-file\n".utf8).write(to: URL(fileURLWithPath: path))
        let environment = ["WS1_TOKEN": "from-environment", "WS1_TOKEN_FILE": path]
        #expect(try AccessToken(file: path, environment: environment).secret == "from-file")
        #expect(try AccessToken(file: nil, environment: environment).secret == "from-environment")
        #expect(try AccessToken(file: nil, environment: ["WS1_TOKEN_FILE": path]).secret == "from-file")
        let token = try AccessToken(file: path, environment: [:])
        var dumped = ""
        dump(token, to: &dumped)
        #expect(!"\(token) \(String(reflecting: token)) \(dumped)".contains("from-file"))
        try Data("\u{FEFF}from-elsewhere\r\n".utf8).write(to: URL(fileURLWithPath: path))
        #expect(try AccessToken(file: path, environment: [:]).secret == "from-elsewhere")
        for bad in ["two words", "", "\u{1B}", "é", String(repeating: "x", count: 5000)] {
            try Data(bad.utf8).write(to: URL(fileURLWithPath: path))
            let error = #expect(throws: CollectorClientError.self) { try AccessToken(file: path, environment: [:]) }
            #expect(error?.code == .usage && !(error?.message.contains("words") ?? true))
        }
        #expect(throws: CollectorClientError.self) { try AccessToken(file: nil, environment: [:]) }
    }
}
