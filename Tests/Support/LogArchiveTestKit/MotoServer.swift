import Foundation
import Glibc
import Synchronization
import TestKit

/// A real S3 server on loopback, with objects in its memory: moto of PyPI, which `Tools/moto` installs. It checks every
/// signature.
///
/// It ends with this process, however that ends.
package final class MotoServer: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private struct Greeting: Decodable {
        var port: Int
        var key: String
        var secret: String
    }

    /// The path in the repository, where tests run.
    private static let python = ".build/moto/bin/python"
    private static let program = "Tools/moto-server.py"

    package let port: Int
    package let accessKeyID: String
    package let secretAccessKey: String
    private let processID: pid_t
    private let hasEnded = Mutex(false)
    /// The server lives as long as this is open.
    private let input: Pipe

    package var endpoint: String { "http://127.0.0.1:\(port)" }

    /// One for all tests of this process; each uses a bucket of its own. Nobody may end it.
    package static func shared() async throws -> MotoServer { try await sharedServer.value }

    private static let sharedServer = Task { try await start() }

    /// - Parameter former: uses the port and the key of this one, which has ended. Its objects are gone.
    package static func start(after former: MotoServer? = nil) async throws -> MotoServer {
        try await BlockingCall.run { try MotoServer(after: former) }
    }

    private init(after former: MotoServer?) throws {
        guard FileManager.default.isExecutableFile(atPath: Self.python) else {
            throw Failure(description: "\(Self.python) is missing; Tools/moto installs it")
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.python)
        process.arguments =
            [Self.program, "\(former?.port ?? 0)"]
            + (former.map { [$0.accessKeyID, $0.secretAccessKey] } ?? [])
        let (input, output, errors) = (Pipe(), Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let line = output.fileHandleForReading.availableData
        guard let greeting = try? JSONDecoder().decode(Greeting.self, from: line) else {
            kill(process.processIdentifier, SIGKILL)
            let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile().suffix(2000), as: UTF8.self)
            throw Failure(description: "moto does not start: \(text)")
        }
        // Whatever it says later must not fill the pipe.
        errors.fileHandleForReading.readabilityHandler = { if $0.availableData.isEmpty { $0.readabilityHandler = nil } }
        self.input = input
        processID = process.processIdentifier
        (port, accessKeyID, secretAccessKey) = (greeting.port, greeting.key, greeting.secret)
    }

    /// Ends it at once, in the middle of whatever it does.
    package func end() {
        hasEnded.withLock { hasEnded in
            if !hasEnded { kill(processID, SIGKILL) }
            hasEnded = true
        }
    }

    /// Its connections stay, and nothing answers.
    package func freeze() { kill(processID, SIGSTOP) }

    package func thaw() { kill(processID, SIGCONT) }

    deinit { end() }
}
