import Foundation
import Testing
import Transmitter
import WireModel

@testable import DataSampler
import TestKit

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

    /// A version that does not know it accepts the file as whole.
    @Test func `The age of the credential is kept beside what the digest covers`() throws {
        let directory = try TemporaryDirectory()
        let file = IdentityFile(directory: directory.path)
        var enrollment = Enrollment(
            deviceID: .random(), credential: "secret", organization: "default", collectorID: .random(),
            incarnationID: .random())
        try file.save(.enrolled(enrollment, machineHash: nil))
        let digest = try digest(of: file)
        enrollment.credentialSince = 1_750_000_000_000_000
        try file.save(.enrolled(enrollment, machineHash: nil))
        #expect(try file.load() == .enrolled(enrollment, machineHash: nil))
        #expect(try self.digest(of: file) == digest)
    }

    private func digest(of file: IdentityFile) throws -> String? {
        let object = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: file.path)))
        return (object as? [String: Any])?["digest"] as? String
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

    @Test func `A file of version 1 is read as it is`() throws {
        let directory = try TemporaryDirectory()
        let file = IdentityFile(directory: directory.path)
        // As the first version wrote it, digest included.
        let text = """
            {"collector":"00000000-0000-4000-8000-000000000002","credential":"c","device":"00000000-0000-4000-8000-000000000001",\
            "digest":"dee275fb338db3393819aef94366cd92489d7127b1765f036e2595907cf1fed7",\
            "incarnation":"00000000-0000-4000-8000-000000000003","machine":"m","organization":"default","version":1}
            """
        try Data(text.utf8).write(to: URL(filePath: file.path))
        let loaded = try file.load()
        let device = try #require(DeviceID("00000000-0000-4000-8000-000000000001"))
        let collector = try #require(CollectorID("00000000-0000-4000-8000-000000000002"))
        let incarnation = try #require(IncarnationID("00000000-0000-4000-8000-000000000003"))
        let expected = Enrollment(
            deviceID: device, credential: "c", organization: "default", collectorID: collector,
            incarnationID: incarnation)
        #expect(loaded == .enrolled(expected, machineHash: "m"))
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
