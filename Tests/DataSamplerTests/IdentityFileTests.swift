import Foundation
import Testing
import Transmitter
import WireModel

@testable import DataSampler

@Suite struct IdentityFileTests {
    private let content = IdentityFile.Content(
        enrollment: Enrollment(
            deviceID: .random(), credential: "secret-credential", organization: "default", collectorID: .random(), incarnationID: .random()),
        machineHash: "abc123")

    @Test func `What was saved is loaded, and nothing else is there`() throws {
        let directory = try TemporaryDirectory()
        let file = IdentityFile(directory: directory.path)
        let before = try file.load()
        #expect(before == nil)
        try file.save(content)
        let loaded = try file.load()
        #expect(loaded == content)
        var other = content
        other.enrollment.credential = "another"
        other.machineHash = nil
        try file.save(other)
        let replaced = try file.load()
        #expect(replaced == other)
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
            #expect(error?.message.contains("enroll anew") == true)
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

    @Test func `A file from another machine is refused, one from this machine is not`() throws {
        let directory = try TemporaryDirectory()
        let file = IdentityFile(directory: directory.path)
        try file.save(content)
        func store(_ hash: String?) -> IdentityStore {
            IdentityStore(file: file, machineHash: hash, enrollmentToken: nil, request: WireEnrollRequest())
        }
        let enrollment = try store("abc123").load()
        #expect(enrollment == content.enrollment)
        // A machine without an id cannot tell.
        let unknown = try store(nil).load()
        #expect(unknown == content.enrollment)
        let error = #expect(throws: DataSamplerError.self) { try store("def").load() }
        #expect(error?.code == .identity)
    }

    @Test func `A re-enrollment presents the old credential and asks for the device id`() {
        let store = IdentityStore(
            file: IdentityFile(directory: "/nonexistent"), machineHash: "abc", enrollmentToken: "t", request: WireEnrollRequest())
        let request = store.enrollRequest(previous: content.enrollment)
        #expect(request.deviceID == content.enrollment.deviceID.data)
        #expect(request.previousCredential == "secret-credential")
        #expect(request.machineHash == "abc")
        #expect(store.enrollRequest(previous: nil).deviceID.isEmpty)
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
