import Foundation
import TestKit

/// An authority of its own and a server's certificate for `localhost`, made by openssl for one test.
package final class PostgresCertificates: Sendable {
    private let folder: String
    /// The file that a client trusts (`sslrootcert`).
    package var authorityPath: String { "\(folder)/ca.crt" }
    let serverCertificate: String
    let serverKey: String

    package static func make() async throws -> PostgresCertificates {
        try await BlockingCall.run { try PostgresCertificates() }
    }

    private init() throws {
        let folder = "\(NSTemporaryDirectory())ws1-postgres-tls-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        self.folder = folder
        func openssl(_ words: String) throws {
            try PostgresPrograms.run(["/usr/bin/openssl"] + words.split(separator: " ").map(String.init))
        }
        try openssl(
            "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=Test-CA -keyout \(folder)/ca.key -out \(folder)/ca.crt"
        )
        try openssl(
            "req -newkey rsa:2048 -nodes -subj /CN=localhost -addext subjectAltName=DNS:localhost "
                + "-keyout \(folder)/server.key -out \(folder)/server.csr")
        try openssl(
            "x509 -req -in \(folder)/server.csr -CA \(folder)/ca.crt -CAkey \(folder)/ca.key -CAcreateserial -days 2 "
                + "-copy_extensions copy -out \(folder)/server.crt")
        serverCertificate = try String(contentsOfFile: "\(folder)/server.crt", encoding: .utf8)
        serverKey = try String(contentsOfFile: "\(folder)/server.key", encoding: .utf8)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }
}
