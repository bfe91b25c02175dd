import Collector
import Foundation
import Registry
import Testing
import WireModel

@Suite("The authority of devices' certificates")
struct DeviceAuthorityTests {
    private let files: ServerFiles
    init() throws { files = try ServerFiles() }

    private func refusal(_ certificate: String, _ key: String) -> String? {
        let error = #expect(throws: CollectorError.self) { _ = try DeviceAuthority(certificate: certificate, key: key) }
        #expect(error?.code == .invalidConfiguration)
        return error?.message
    }

    @Test func `Files that do not make an authority are refused by name`() throws {
        let (ca, other) = (try files.deviceCA(), try files.deviceCA(name: "other"))
        #expect(refusal(ca.certificate, other.key)?.contains("--device-ca-key") == true)
        #expect(refusal(ca.key, ca.key)?.contains("--device-ca-certificate") == true)
        #expect(refusal("/nowhere", ca.key)?.contains("/nowhere") == true)
        #expect(refusal(try files.write("empty", ""), ca.key)?.contains("no certificate") == true)
        let leaf = (
            try files.write("server.pem", TestCertificates.server),
            try files.write("server.key", TestCertificates.serverKey)
        )
        #expect(refusal(leaf.0, leaf.1)?.contains("may not sign others") == true)
        _ = try DeviceAuthority(certificate: ca.certificate, key: ca.key)
        let parameters = "\u{FEFF}-----BEGIN EC PARAMETERS-----\r\nBggqhkjOPQMBBw==\r\n-----END EC PARAMETERS-----\r\n"
        let withParameters = parameters + (try String(contentsOfFile: ca.key, encoding: .utf8))
        _ = try DeviceAuthority(certificate: ca.certificate, key: try files.write("parameters.key", withParameters))
        // A former authority behind it is trusted, and issues nothing.
        let both =
            try String(contentsOfFile: ca.certificate, encoding: .utf8)
            + String(contentsOfFile: other.certificate, encoding: .utf8)
        _ = try DeviceAuthority(certificate: try files.write("both.pem", both), key: ca.key)
        #expect(refusal(try files.write("both.pem", both), other.key) != nil)
    }

    @Test func `The authority's end is watched`() throws {
        let ca = try files.deviceCA(days: 20)
        let authority = try DeviceAuthority(certificate: ca.certificate, key: ca.key)
        let watched = try #require(authority.watched.first)
        #expect(
            authority.watched.count == 1 && watched.expires == authority.expires
                && watched.name.contains(ca.certificate))
        #expect(abs(authority.expires / 1_000_000 - Int64(Date().timeIntervalSince1970) - 20 * 86_400) < 3600)
    }
}
