import Collector
import Foundation
import Logging
import TestKit
import Testing
import WireModel

@Suite("The pin of a key")
struct KeyPinTests {
    private let files: ServerFiles
    init() throws { files = try ServerFiles() }

    @Test func `Certificate and key have the same pin`() throws {
        let certificate = try files.write("server.pem", TestCertificates.server)
        let key = try files.write("server.key", TestCertificates.serverKey)
        let pin = try KeyPin.of(file: certificate, flag: "--tls-certificate")
        #expect(pin.count == 32)
        #expect(try KeyPin.of(file: key, flag: "--backup-key") == pin)
        let chain = try files.write("chain.pem", TestCertificates.server + "\n" + TestCertificates.authority)
        #expect(try KeyPin.of(file: chain, flag: "--tls-certificate") == pin, "the server's own certificate is first")
        let new = try files.write("new.key", try KeyPin.newKey())
        #expect(try KeyPin.of(file: new, flag: "--backup-key") != pin)
    }

    @Test func `The root of a chain is the one that its file holds`() throws {
        let leaf = try files.write("leaf.pem", TestCertificates.server)
        let chain = try files.write("chain.pem", TestCertificates.server + "\n" + TestCertificates.authority)
        let root = try KeyPin.certificates(file: chain, flag: "")[1]
        #expect(try KeyPin.root(file: chain, flag: "") == root)
        #expect(try KeyPin.root(file: leaf, flag: "") == nil)
        let key = try files.write("server.key", TestCertificates.serverKey)
        for (file, expected) in [(chain, root), (leaf, nil)] {
            let tls = try ServerTLS(
                TLSFiles(certificate: file, key: key), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            #expect(tls.root == expected)
        }
    }

    @Test func `A file without a key is named`() throws {
        for path in ["/nowhere.pem", try files.write("empty.pem", ""), try files.write("text.pem", "no key")] {
            let error = #expect(throws: CollectorError.self) { _ = try KeyPin.of(file: path, flag: "--backup-key") }
            #expect(error?.message.contains("--backup-key \(path)") == true)
        }
    }
}

/// The built `ws1collector`.
@Suite("ws1collector enrollment-file", .timeLimit(.minutes(5)))
struct EnrollmentFileCommandTests {
    private let files: ServerFiles
    init() throws { files = try ServerFiles() }

    private func run(_ data: KeptData, _ arguments: String...) async throws -> ProgramRun {
        try await ProgramRun.of(
            ["enrollment-file", "--data", data.path] + arguments,
            program: URL(fileURLWithPath: ProgramRun.ws1collectorPath))
    }

    private func file(_ path: String) throws -> EnrollmentFile {
        try EnrollmentFile(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    @Test func `It has address, pins and a token for one device`() async throws {
        let data = try await KeptData(days: 0)
        let certificate = try files.write("server.pem", TestCertificates.server)
        let (first, second) = (data.path + "/first.json", data.path + "/second.json")
        let made = try await run(
            data, "--address", "https://collector.example:8420", "--tls-certificate", certificate, "--output", first)
        #expect(made.status == 0 && made.text.contains("for 1 device until"), "\(made)")
        let written = try file(first)
        let mode = try FileManager.default.attributesOfItem(atPath: first)[.posixPermissions] as? Int
        #expect(mode == 0o600 && !made.text.contains(written.token) && !made.errors.contains(written.token))
        #expect(written.collector == "https://collector.example:8420")
        let backup = data.path + "/backup-key.pem"
        #expect(
            try written.certificatePins == [
                KeyPin.of(file: certificate, flag: ""), KeyPin.of(file: backup, flag: ""),
            ])
        let list = try await ProgramRun.of(
            ["token", "list", "--data", data.path], program: URL(fileURLWithPath: ProgramRun.ws1collectorPath))
        #expect(list.text.contains("first.json") && list.text.contains("0/1 "), "\(list)")

        // Every file names the same backup key, so that one key is the remedy for all devices.
        let other = try await run(
            data, "--address", "https://collector.example:8420", "--tls-certificate", certificate, "--output", second,
            "--uses", "3")
        #expect(try other.status == 0 && file(second).certificatePins == written.certificatePins, "\(other)")
        #expect(try file(second).token != written.token)
    }

    @Test func `It holds the authorities that are given`() async throws {
        let data = try await KeptData(days: 0)
        let certificate = try files.write("server.pem", TestCertificates.server)
        let address = ["--address", "https://collector.example:8420", "--tls-certificate", certificate]
        func run(_ ca: String, _ output: String) async throws -> ProgramRun {
            try await ProgramRun.of(
                ["enrollment-file", "--data", data.path, "--output", output, "--ca", ca] + address,
                program: URL(fileURLWithPath: ProgramRun.ws1collectorPath))
        }
        let made = try await run(certificate, data.path + "/private.json")
        #expect(made.status == 0, "\(made)")
        let authorities = try KeyPin.certificates(file: certificate, flag: "")
        #expect(!authorities.isEmpty)
        #expect(try file(data.path + "/private.json").certificateAuthorities == authorities)
        let key = try files.write("server.key", TestCertificates.serverKey)
        let refused = try await run(key, data.path + "/none.json")
        #expect(refused.status != 0 && refused.errors.contains("it holds no certificate"), "\(refused)")
    }

    @Test func `It holds the root of the collector's own chain where none is given`() async throws {
        let data = try await KeptData(days: 0)
        let chain = try files.write("chain.pem", TestCertificates.server + "\n" + TestCertificates.authority)
        let output = data.path + "/own.json"
        let made = try await run(
            data, "--address", "https://collector.example:8420", "--tls-certificate", chain, "--output", output)
        #expect(made.status == 0, "\(made)")
        #expect(try file(output).certificateAuthorities == [KeyPin.certificates(file: chain, flag: "")[1]])
        let plain = try await run(
            data, "--address", "http://127.0.0.1:8420", "--tls-certificate", chain, "--output", data.path + "/p.json")
        #expect(plain.status == 0, "\(plain)")
        #expect(try file(data.path + "/p.json").certificateAuthorities.isEmpty)
    }

    @Test func `Over plain HTTP, there are no pins`() async throws {
        let data = try await KeptData(days: 0)
        let made = try await run(data, "--address", "http://127.0.0.1:8420", "--output", data.path + "/plain.json")
        #expect(made.status == 0 && made.text.contains("no pins"), "\(made)")
        #expect(try file(data.path + "/plain.json").certificatePins.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: data.path + "/backup-key.pem"))
    }

    @Test func `What cannot be made says why`() async throws {
        let data = try await KeptData(days: 0)
        let certificate = try files.write("server.pem", TestCertificates.server)
        let key = try files.write("server.key", TestCertificates.serverKey)
        let there = try files.write("there.json", "mine")
        let output = data.path + "/new.json"
        for (arguments, words) in [
            (["--address", "https://localhost", "--output", output], "--tls-certificate"),
            (["--address", "localhost", "--output", output], "--address"),
            (["--address", "http://localhost", "--output", there], "exists"),
            (["--address", "http://localhost", "--output", output, "--uses", "0"], "--uses"),
            (["--address", "http://localhost", "--output", output, "--backup-key", key], "--backup-key"),
            (["--address", "http://localhost", "--output", output, "--ca", certificate], "--ca is for https"),
            (
                [
                    "--address", "https://localhost", "--output", output, "--tls-certificate", certificate,
                    "--backup-key", key,
                ], "the key in use"
            ),
        ] {
            let made = try await ProgramRun.of(
                ["enrollment-file", "--data", data.path] + arguments,
                program: URL(fileURLWithPath: ProgramRun.ws1collectorPath))
            #expect(made.status != 0 && made.errors.contains(words), "\(arguments): \(made)")
            #expect(!FileManager.default.fileExists(atPath: output))
        }
        #expect(try String(contentsOfFile: there, encoding: .utf8) == "mine")
    }
}
