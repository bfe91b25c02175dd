import Foundation
import TestKit
import Testing
import Transmitter
import WireModel

@testable import DataSampler

@Suite struct IdentityFileTests {
    private let enrollment = Enrollment(
        deviceID: .random(), credential: "secret-credential", formerCredential: "secret-former",
        organization: "default",
        collectorID: .random(), incarnationID: .random(), enrollmentID: DeviceID.random().data)
    private var content: IdentityFile.Content { .enrolled(enrollment, machineHash: "abc123") }

    @Test func `What was saved is loaded, and nothing else is there`() throws {
        let directory = try TemporaryDirectory()
        let file = IdentityFile(directory: directory.path)
        let before = try file.load()
        #expect(before == nil)
        try file.save(content)
        let loaded = try file.load()
        #expect(loaded == content)
        var other = enrollment
        other.credential = "another"
        other.formerCredential = nil
        other.enrollmentID = Data()
        var certified = enrollment
        certified.certificate = "a chain\nof lines"
        certified.formerCertificate = "another"
        var spared = other
        spared.spareCredential = "secret-spare"
        spared.credentialSince = 1_750_000_000_000_000
        var sparedCertificate = spared
        sparedCertificate.spareCertificate = "a third"
        for next in [
            IdentityFile.Content.enrolled(certified, machineHash: "abc123"), .enrolled(spared, machineHash: nil),
            .enrolled(sparedCertificate, machineHash: nil), .enrolled(other, machineHash: nil),
            .unenrolled(other.deviceID, tokenDigest: "digest"),
            .unenrolled(other.deviceID, tokenDigest: nil),
        ] {
            try file.save(next)
            let replaced = try file.load()
            #expect(replaced == next)
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(names == ["identity"])
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func `Cut at any byte it is an error that names the file and the remedy, and stays as it is`() throws {
        let directory = try TemporaryDirectory()
        let file = IdentityFile(directory: directory.path)
        try file.save(content)
        let bytes = try Data(contentsOf: URL(filePath: file.path))
        for length in 0..<bytes.count {
            try bytes.prefix(length).write(to: URL(filePath: file.path))
            let error = #expect(throws: DataSamplerError.self) { try file.load() }
            #expect(error?.code == .identity)
            #expect(error?.message.contains(file.path) == true)
            #expect(error?.message.contains("enroll again") == true)
            #expect(error?.message.contains("secret") == false)
            let kept = try Data(contentsOf: URL(filePath: file.path))
            #expect(kept == bytes.prefix(length))
        }
    }

    @Test func `With a bit flipped in any byte it is an error, never another credential`() throws {
        let directory = try TemporaryDirectory()
        let file = IdentityFile(directory: directory.path)
        try file.save(content)
        let bytes = try Data(contentsOf: URL(filePath: file.path))
        // Every byte, one bit of it in turn.
        let unnoticed = (0..<bytes.count).filter { index in
            var flipped = bytes
            flipped[index] ^= 1 << (index % 8)
            return (try? flipped.write(to: URL(filePath: file.path))) == nil || (try? file.load()) != nil
        }
        #expect(unnoticed.isEmpty)
    }

    @Test(arguments: [0, 2]) func `A file of another version is an error that names the file and the remedy`(
        version: Int
    ) throws {
        let directory = try TemporaryDirectory()
        let file = IdentityFile(directory: directory.path)
        try file.save(content)
        let written = try String(contentsOfFile: file.path, encoding: .utf8)
        #expect(written.hasSuffix("\"version\":1}"))
        let changed = written.replacingOccurrences(of: "\"version\":1}", with: "\"version\":\(version)}")
        try changed.write(toFile: file.path, atomically: false, encoding: .utf8)
        let error = #expect(throws: DataSamplerError.self) { try file.load() }
        #expect(error?.code == .identity)
        #expect(error?.message.contains(file.path) == true)
        #expect(error?.message.contains(version > 1 ? "update the program" : "enroll again") == true)
        #expect(error?.message.contains("secret") == false)
        #expect(try String(contentsOfFile: file.path, encoding: .utf8) == changed)
    }

    /// The id of a device is worth more than a format: what version 1 wrote is read for ever.
    @Test func `A file of version 1 is read as it was written`() throws {
        let directory = try TemporaryDirectory()
        let file = IdentityFile(directory: directory.path)
        let text = """
            {"content":{"certificate":"","collector":"00000000-0000-4000-8000-000000000002","credential":"c",\
            "device":"00000000-0000-4000-8000-000000000001","formerCertificate":"",\
            "incarnation":"00000000-0000-4000-8000-000000000003","machine":"m","organization":"default",\
            "spareCertificate":""},"digest":"f7dddec115e308948659c1fd81999121166c69fc849be4e1ec8506ab2a6d43fc",\
            "version":1}
            """
        try Data(text.utf8).write(to: URL(filePath: file.path))
        let expected = Enrollment(
            deviceID: try #require(DeviceID("00000000-0000-4000-8000-000000000001")), credential: "c",
            organization: "default", collectorID: try #require(CollectorID("00000000-0000-4000-8000-000000000002")),
            incarnationID: try #require(IncarnationID("00000000-0000-4000-8000-000000000003")))
        #expect(try file.load() == .enrolled(expected, machineHash: "m"))
        try file.save(.enrolled(expected, machineHash: "m"))
        #expect(try String(contentsOfFile: file.path, encoding: .utf8) == text)
    }

    @Test func `The machine's hash does not hold its id and differs by machine`() throws {
        let machine = "0123456789abcdef0123456789abcdef"
        let hash = try #require(MachineHash.hash(ofMachineID: "\(machine)\n"))
        #expect(hash.count == 64)
        #expect(!hash.contains(machine))
        #expect(hash == MachineHash.hash(ofMachineID: machine))
        #expect(hash != MachineHash.hash(ofMachineID: "1\(machine.dropFirst())"))
        for nothing in [nil, "", "\n", "uninitialized\n"] { #expect(MachineHash.hash(ofMachineID: nothing) == nil) }
    }
}
