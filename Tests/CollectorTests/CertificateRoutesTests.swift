import CollectorAPI
import Foundation
import HTTPTypes
import HummingbirdTesting
import Logging
import Testing

@testable import Collector

@Suite("Certificates over HTTP, and what runs here") struct CertificateRoutesTests {
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    @Test func `The server's certificate is shown with names, validity and pin`() throws {
        let files = try ServerFiles()
        let tls = try ServerTLS(try files.server(requiringClients: true), logger: Self.logger)
        let shown = tls.certificates
        let own = try #require(shown.chain.first)
        #expect(own.subject == "CN=localhost" && own.names == ["localhost", "127.0.0.1"])
        #expect(own.keyPin == tls.pin?.base64EncodedString() && own.keyPin != nil)
        #expect(own.validFrom < own.validUntil)
        #expect(shown.certificateFile.hasSuffix("server.pem") && shown.failure == nil)
        #expect(shown.clientAuthorities?.map(\.subject) == [own.issuer])
    }

    @Test func `Files that cannot be read again are reported, and the former certificate stays`() throws {
        let files = try ServerFiles()
        let tls = try ServerTLS(try files.server(requiringClients: false), logger: Self.logger)
        let former = tls.certificates.chain
        _ = try files.write("server.key", TestCertificates.strangerKey)
        tls.reload()
        #expect(tls.certificates.failure != nil && tls.certificates.chain == former)
        _ = try files.write("server.pem", TestCertificates.stranger)
        tls.reload()
        #expect(tls.certificates.failure == nil && tls.certificates.chain != former)
    }

    @Test func `The authority of devices is shown`() throws {
        let files = try ServerFiles()
        let made = try files.deviceCA()
        let authority = try DeviceAuthority(certificate: made.certificate, key: made.key, days: 30)
        let view = CertificatesView.Devices(.required(authority))
        #expect(view.certificates == "required" && view.validDays == 30 && view.authorityFile == made.certificate)
        #expect(view.authorities?.count == 1 && view.authorities?.first?.subject.contains("device-ca") == true)
    }

    @Test func `Plain HTTP is reported as such`() async throws {
        let harness = Harness()
        try await harness.route { client in
            let answer = try await client.json("/api/v1/certificates", bearer: "administrator-all")
            #expect(answer["server"] is NSNull && answer.text("backupPin") == nil)
            #expect(answer.object("devices")?.text("certificates") == "off")
            let refused = try await client.send(.get, "/api/v1/certificates", bearer: "administrator-default")
            #expect(refused.status == .forbidden)
        }
    }

    @Test func `Only administrators of all organizations learn where the data are`() async throws {
        let harness = Harness()
        try await harness.route { client in
            let all = try await client.json("/api/v1/about", bearer: "administrator-all")
            #expect(all.text("dataDirectory") != nil && all.text("sqliteVersion")?.hasPrefix("3.") == true)
            let own = try await client.json("/api/v1/about", bearer: "administrator-default")
            #expect(own.text("dataDirectory") == nil && own.text("version") == CollectorVersion.current)
        }
    }
}
