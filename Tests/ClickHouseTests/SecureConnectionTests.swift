import ClickHouse
import ClickHouseTestKit
import Foundation
import TestKit
import Testing

@Suite(.timeLimit(.minutes(2))) struct SecureConnectionTests {
    @Test func `A server over https is trusted by its authority alone`() async throws {
        let servers = try await ClickHouseServers.shared()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ws1-ca-\(UUID().uuidString).pem")
        try Data(ServerCertificates.authority.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        var configuration = ClientFixtures.configuration(["https://localhost:\(servers.securePorts[0])"])
        try await ClientFixtures.withClient(configuration) { client in
            let error = await #expect(throws: ClickHouseError.self) { try await client.query("SELECT 1") }
            #expect(error?.code == .unavailable)
            let outcome = await client.insert(into: "t", columns: ["a"], rows: ClientFixtures.rows(1))
            #expect(!outcome.isStored)
        }
        configuration.caFile = file.path
        try await ClientFixtures.withClient(configuration) { client in
            let one = try await client.query("SELECT 1")
            #expect(one.remainingBytes == 1)
        }
        configuration.caFile = file.path + ".missing"
        #expect(throws: ClickHouseError.self) {
            try ClickHouseClient(configuration, logger: ClientFixtures.logger)
        }
    }
}
