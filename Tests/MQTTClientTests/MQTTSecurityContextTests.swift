import FoundationEssentials
import MosquittoTestKit
import TestKit
import Testing

@testable import MQTTClient

@Suite(.timeLimit(.minutes(5))) struct MQTTSecurityContextTests {
    private func broker(users: [String: String]? = nil) async throws -> MosquittoBroker {
        var options = MosquittoBroker.Options()
        options.certificate = ServerCertificates.one
        options.users = users
        return try await MosquittoBroker.start(options)
    }

    @Test(arguments: ["localhost", "127.0.0.1"])
    func `A broker of a trusted authority is connected to, and its key is known`(host: String) async throws {
        let broker = try await broker()
        let device = try ClientProbe(try broker.securedSettings("device", host: host))
        try await device.connected()
        #expect(device.client.serverKey == Data(hexadecimal: ServerCertificates.one.pin))
        await device.stop()
    }

    @Test func `A pinned key passes, also after a restart`() async throws {
        let broker = try await broker()
        let device = try ClientProbe(
            try broker.securedSettings("device", pins: [Data(hexadecimal: ServerCertificates.one.pin)]))
        try await device.connected()
        await broker.kill()
        try await broker.restart()
        try await device.heard.until { $0.connections > 1 }
        await device.stop()
    }

    @Test func `Another key than the pinned one gets nothing, not even user and password`() async throws {
        let broker = try await broker(users: ["device": "secret"])
        var settings = try broker.securedSettings("device", pins: [Data(hexadecimal: ServerCertificates.two.pin)])
        settings.user = "device"
        settings.password = "secret"
        let device = try ClientProbe(settings)
        let why = try await device.failure()
        #expect(why.code == .pinMismatch)
        #expect(why.message.contains(ServerCertificates.one.pin))
        #expect(device.client.serverKey == nil)
        await device.stop()
        // The broker saw a handshake that failed, and no CONNECT.
        #expect(!broker.log.contains("New client connected"))
        #expect(!broker.log.contains("'device'"))
    }

    @Test func `A broker of an unknown authority is refused`() async throws {
        let broker = try await broker()
        var settings = try broker.securedSettings("device")
        settings.security.authorityFile = nil
        let device = try ClientProbe(settings)
        let why = try await device.failure()
        #expect(why.code == .tls)
        #expect(why.message.contains("--ca"))
        await device.stop()
    }

    @Test func `A certificate for another name is refused`() async throws {
        let broker = try await broker()
        let device = try ClientProbe(try broker.securedSettings("device", host: "127.0.0.2"))
        // Nothing listens there in this machine's broker, or its certificate has another name.
        #expect([.tls, .connectionRefused].contains(try await device.failure().code))
        await device.stop()
    }

    @Test func `Plain MQTT to a port of TLS fails with a name`() async throws {
        let broker = try await broker()
        let device = try ClientProbe(try broker.settings("device"))
        #expect([.connectionClosed, .other, .unresponsive].contains(try await device.failure().code))
        await device.stop()
    }

    @Test func `Files that cannot be used are named before a connection is made`() async throws {
        let folder = try TemporaryDirectory()
        var security = MQTTSecurity()
        security.authorityFile = folder.file("missing.crt")
        var settings = MQTTSettings(
            address: try MQTTAddress("mqtts://localhost/ws1", what: "address"), clientID: "device")
        settings.security = security
        // Many times: what is freed twice once does not show.
        for _ in 0..<100 { _ = try? MQTTClient.check(settings) }
        let missing = #expect(throws: MQTTError.self) { try MQTTClient.check(settings) }
        #expect(missing?.code == .configuration)
        #expect(missing?.message.contains("missing.crt") == true)

        settings.security = MQTTSecurity()
        let certificate = folder.file("client.crt")
        let key = folder.file("client.key")
        try Data(ServerCertificates.one.certificate.utf8).write(to: URL(filePath: certificate))
        try Data(ServerCertificates.two.key.utf8).write(to: URL(filePath: key))
        settings.security.certificateFile = certificate
        settings.security.keyFile = key
        let mixed = #expect(throws: MQTTError.self) { try MQTTClient.check(settings) }
        #expect(mixed?.code == .configuration)
        try Data(ServerCertificates.one.key.utf8).write(to: URL(filePath: key))
        try MQTTClient.check(settings)
    }
}
