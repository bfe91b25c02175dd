import Foundation
import Glibc
import WireModel

/// A real `ws1collector serve` on loopback with a data directory of its own.
final class CollectorProcess {
    let port: UInt16
    private let binary: String
    private let process = Process()
    private let work: WorkDirectory
    let addresses: CollectorAddresses
    /// The token of the first start; for people of all organizations.
    var administratorToken: String {
        let text = try? String(contentsOfFile: work.file("collector") + "/administrator-token", encoding: .utf8)
        return (text ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Returns when it is ready to accept records.
    init(binary: String, directory: String, arguments: [String] = []) throws {
        guard FileManager.default.isExecutableFile(atPath: binary) else {
            throw BenchmarkError(
                "\(binary) is not there. Name it with --collector, or build it in the repository: "
                    + "swift build -c release --product ws1collector")
        }
        self.binary = binary
        work = try WorkDirectory(in: directory)
        port = try Self.freePort()
        let data = work.file("collector")
        let log = work.file("collector.log")
        try Data().write(to: URL(fileURLWithPath: log))
        process.executableURL = URL(fileURLWithPath: binary)
        process.arguments = ["serve", "--data", data, "--listen", "127.0.0.1:\(port)"] + arguments
        process.standardOutput = FileHandle(forWritingAtPath: log)
        process.standardError = FileHandle(forWritingAtPath: log)
        try process.run()
        var token: String?
        for _ in 0..<300 where token == nil {
            guard process.isRunning else { break }
            if let response = try? HTTPConnection(port: port).send(HTTPConnection.request("GET", "/readyz")),
                response.status == 200
            {
                // The token of the first start is for a hundred devices.
                let made = try? MeasuredProcess.output(
                    binary, ["token", "create", "--enrollment", "--unlimited", "--data", data])
                token = made.map { String(decoding: $0, as: UTF8.self) }
            }
            if token == nil { usleep(100_000) }
        }
        guard let token else {
            process.terminate()
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            throw BenchmarkError("the collector is not ready after 30 s. Its log ends:\n\(text.suffix(2000))")
        }
        addresses = CollectorAddresses(
            ports: [port], enrollmentToken: token.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    /// - Parameter arguments: options of `ws1collector token create`.
    func createToken(_ arguments: String...) throws -> String {
        let output = try MeasuredProcess.output(
            binary, ["token", "create"] + arguments + ["--data", work.file("collector")])
        return String(decoding: output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Lets it read its configuration file again.
    func reload() { kill(process.processIdentifier, SIGHUP) }

    /// The sum of the values of a family of `/metrics`.
    /// - Parameter labels: texts that a line must have; 0 if none has.
    func metric(_ family: String, labels: [String]) throws -> Double {
        let request = HTTPConnection.request(
            "GET", "/metrics", headers: [("Authorization", "Bearer \(administratorToken)")])
        let response = try HTTPConnection(port: port).send(request)
        guard response.status == 200 else { throw BenchmarkError("/metrics is answered \(response.status)") }
        return String(decoding: response.body, as: UTF8.self).split(separator: "\n")
            .filter { line in line.hasPrefix(family + "{") && labels.allSatisfy { line.contains($0) } }
            .reduce(0) { $0 + (Double($1.split(separator: " ").last ?? "") ?? 0) }
    }

    deinit {
        if process.isRunning {
            process.terminate()
            process.waitUntilExit()
        }
    }

    /// A new device's credential.
    /// - Parameter token: an enrollment token.
    static func enroll(_ name: String, token: String, over connection: HTTPConnection) throws -> String {
        var request = WireEnrollRequest()
        request.machineHash = UUID().uuidString
        request.deviceName = name
        request.agentVersion = "1.0.0"
        let headers = [
            ("Authorization", "Bearer \(token)"), ("Content-Type", WireNames.protobuf),
            ("Accept", WireNames.protobuf),
        ]
        let response = try connection.send(
            HTTPConnection.request("POST", WireNames.enrollPath, headers: headers, body: request.encoded))
        guard response.status == 200 || response.status == 201 else {
            throw BenchmarkError(
                "enrolling \(name): \(response.status) \(String(decoding: response.body, as: UTF8.self))")
        }
        return try WireEnrollAnswer.decode(response.body).credential
    }

    /// Seconds of processor time since it started, user and system.
    var processorSeconds: Double { ProcessorTime.seconds(of: process.processIdentifier) }

    /// The most memory it had resident, in bytes.
    var peakResidentBytes: Int {
        let text = (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 1024
    }

    static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
            }
        }
        guard result == 0 else { throw BenchmarkError("no free port: \(String(cString: strerror(errno)))") }
        return UInt16(bigEndian: address.sin_port)
    }
}
