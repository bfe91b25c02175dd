import Foundation
import TestKit
import Testing

@testable import HTTPConnection

/// Plain HTTP leaves this machine only where somebody asked for it.
@Suite struct PlaintextTests {
    private func configuration(_ collector: String, _ proxy: String?) throws -> ConnectionSettings {
        var configuration = ConnectionSettings(collector: try EndpointURL(collector: collector))
        if let proxy { configuration.proxy = try EndpointURL(proxy: proxy) }
        return configuration
    }

    @Test(
        arguments: [
            ("http://collector.test", nil, "the collector http://collector.test:80"),
            ("http://10.0.0.1:8420", nil, "10.0.0.1"),
            ("http://[2001:db8::1]:8420", nil, "2001:db8::1"),
            // The proxy sees all of it, wherever the collector is; and one here forwards to there.
            ("http://127.0.0.1:8420", "http://proxy.test:3128", "the proxy http://proxy.test:3128"),
            ("http://collector.test", "http://127.0.0.1:3128", "the collector http://collector.test:80"),
        ] as [(String, String?, String)])
    func `Plain http beyond this machine is refused before anything is sent, and allowed where it is asked for`(
        _ collector: String, _ proxy: String?, _ names: String
    ) throws {
        var configuration = try configuration(collector, proxy)
        for refuse in [{ try configuration.check() }, { _ = try configuration.clientConfiguration() }]
            as [() throws -> Void]
        {
            let error = #expect(throws: ConnectionSettingsError.self) { try refuse() }
            #expect(error?.code == .plaintext)
            #expect(
                error?.message.contains(names) == true && error?.message.contains("--allow-plaintext") == true,
                "\(error?.message ?? "")")
        }
        configuration.allowsPlaintext = true
        try configuration.check()
        _ = try configuration.clientConfiguration()
    }

    @Test(
        arguments: [
            ("http://127.0.0.1:8420", nil), ("http://localhost:8420", "http://localhost:3128"),
            ("http://[::1]:8420", nil),
            // A tunnel through the proxy is encrypted to its end.
            ("https://collector.test", "http://proxy.test:3128"),
        ] as [(String, String?)])
    func `This machine and TLS need no leave`(_ collector: String, _ proxy: String?) throws {
        try configuration(collector, proxy).check()
    }

    @Test func `A file of authorities that is missing or holds none is refused without a connection`() throws {
        for file in ["/nonexistent/ca.pem", "/dev/null", "/etc/passwd"] {
            var configuration = try configuration("https://collector.test", nil)
            configuration.certificateAuthorityFile = file
            let error = #expect(throws: ConnectionSettingsError.self) { try configuration.check() }
            #expect(error?.code == .certificateAuthorities && error?.message.contains(file) == true)
        }
    }

    @Test func `A file of authorities from another system's editor is read`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "authority-\(UUID()).pem").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let text = "\u{FEFF}" + ServerCertificates.authority.replacing("\n", with: "\r\n")
        try Data(text.utf8).write(to: URL(filePath: path))
        var configuration = try configuration("https://collector.test", nil)
        configuration.certificateAuthorityFile = path
        try configuration.check()
    }
}
