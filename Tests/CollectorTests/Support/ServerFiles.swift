import Collector
import Foundation

/// A server's certificate and key in files that go with the value.
final class ServerFiles: Sendable {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("ws1-tls-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    func write(_ name: String, _ text: String) throws -> String {
        let file = directory.appendingPathComponent(name)
        try Data(text.utf8).write(to: file)
        return file.path
    }

    func server(requiringClients: Bool) throws -> TLSFiles {
        TLSFiles(
            certificate: try write("server.pem", TestCertificates.server),
            key: try write("server.key", TestCertificates.serverKey),
            clientCA: requiringClients ? try write("authority.pem", TestCertificates.authority) : nil)
    }

    /// A new authority of devices' certificates.
    func deviceCA(days: Int = 3650, name: String = "device-ca") throws -> (certificate: String, key: String) {
        let made = try DeviceAuthority.create(name: name, days: days)
        return (try write("\(name).pem", made.certificate), try write("\(name).key", made.key))
    }
}
