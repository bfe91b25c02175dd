import Foundation
import Synchronization
import TestKit

/// A real Mosquitto on a loopback port of its own. Tests stop, kill and freeze it.
package final class MosquittoBroker: Sendable {
    package struct Options: Sendable {
        /// With the certificate of `ServerCertificates.one`, or of another.
        package var certificate: ServerCertificates.Server?
        /// Names and passwords; `nil` lets everybody in.
        package var users: [String: String]?
        /// Lines of the ACL file; `nil`: everybody may do everything.
        package var acl: String?
        /// Further lines of the configuration.
        package var lines: [String] = []

        package init() {}
    }

    package let port: Int
    private let folder: TemporaryDirectory
    private let configuration: String
    private let process: Mutex<MosquittoProcess?>

    /// Starts a broker, and returns once it accepts connections.
    package static func start(_ options: Options = Options()) async throws -> MosquittoBroker {
        let broker = try await BlockingCall.run { try MosquittoBroker(options) }
        try await broker.accepts()
        return broker
    }

    private init(_ options: Options) throws {
        guard let program = Self.program else {
            throw MosquittoTestFailure("there is no mosquitto: install Debian's package mosquitto")
        }
        folder = try TemporaryDirectory()
        port = try FreePorts.one()
        // As root it would become the user mosquitto, which may not read these files.
        var lines = ["user root", "listener \(port) 127.0.0.1", "persistence false", "log_dest stderr", "log_type all"]
        if let certificate = options.certificate {
            lines += [
                "certfile \(try Self.write(certificate.certificate, folder.file("server.crt")))",
                "keyfile \(try Self.write(certificate.key, folder.file("server.key")))",
            ]
        }
        if let users = options.users {
            let path = folder.file("passwords")
            _ = try Self.write("", path)
            for (name, password) in users {
                let status = SpawnedProcess.waitForEnd(
                    of: try SpawnedProcess.start(
                        ["/usr/bin/mosquitto_passwd", "-b", path, name, password], environment: nil,
                        streams: [.null, .null, .appended(toFile: folder.file("log"))], hasOwnGroup: true))
                guard status == 0 else { throw MosquittoTestFailure("mosquitto_passwd ended with \(status)") }
            }
            lines += ["allow_anonymous false", "password_file \(path)"]
        } else {
            lines.append("allow_anonymous true")
        }
        if let acl = options.acl { lines.append("acl_file \(try Self.write(acl, folder.file("acl")))") }
        lines += options.lines
        configuration = try Self.write(lines.joined(separator: "\n") + "\n", folder.file("mosquitto.conf"))
        process = Mutex(nil)
        try run(program)
    }

    deinit { process.withLock { $0 }?.end(by: SIGKILL) }

    /// What the broker logged.
    package var log: String { (try? String(contentsOfFile: folder.file("log"), encoding: .utf8)) ?? "" }

    /// Writes a file beside the broker's, such as an authority or a password.
    package func file(_ name: String, _ text: String) throws -> String { try Self.write(text, folder.file(name)) }

    /// Ends the broker as its service does.
    package func stop() async { await end(by: SIGTERM) }

    /// Ends the broker as a power cut would.
    package func kill() async { await end(by: SIGKILL) }

    /// Starts it again on the same port.
    package func restart() async throws {
        try await BlockingCall.run {
            guard let program = Self.program else { throw MosquittoTestFailure("there is no mosquitto") }
            try self.run(program)
        }
        try await accepts()
    }

    /// The broker does nothing until `thaw()`; its connections stay open.
    package func freeze() { process.withLock { $0 }?.signal(SIGSTOP) }
    package func thaw() { process.withLock { $0 }?.signal(SIGCONT) }

    private func run(_ program: String) throws {
        let started = try MosquittoProcess([program, "-c", configuration], output: folder.file("log"))
        process.withLock { $0 = started }
    }

    private func end(by signal: Int32) async {
        let ended = process.withLock { $0.take() }
        await BlockingCall.run { ended?.end(by: signal) }
    }

    private func accepts() async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while !MosquittoPort.answers(port) {
            guard ContinuousClock.now < deadline else { throw MosquittoTestFailure("no broker on \(port): \(log)") }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    private static var program: String? {
        ["/usr/sbin/mosquitto", "/usr/bin/mosquitto"].first { access($0, X_OK) == 0 }
    }

    private static func write(_ text: String, _ path: String) throws -> String {
        try Data(text.utf8).write(to: URL(filePath: path))
        return path
    }
}

package struct MosquittoTestFailure: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
