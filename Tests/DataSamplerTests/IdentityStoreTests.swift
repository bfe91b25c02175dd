import Foundation
import Testing
import Transmitter
import WireModel

@testable import DataSampler

@Suite struct IdentityStoreTests {
    private let enrollment = Enrollment(
        deviceID: .random(), credential: "secret", organization: "default", collectorID: .random(), incarnationID: .random(),
        enrollmentID: DeviceID.random().data)

    private func store(_ path: String, machine: String? = "abc", token: String? = "token") -> IdentityStore {
        IdentityStore(directory: path, machineHash: machine, enrollmentToken: token, request: WireEnrollRequest())
    }

    private func names(_ path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }

    @Test func `A directory copied to another machine is a clone, not an error, and one that cannot tell is not`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        #expect(try store(path).state() == .none)
        try store(path).save(enrollment)
        #expect(try store(path).state() == .enrolled(enrollment))
        #expect(try store(path, machine: "def").state() == .clone(of: enrollment))
        #expect(try store(path, machine: "def").load() == nil)
        #expect(try store(path, machine: nil).state() == .enrolled(enrollment))
    }

    @Test func `A request keeps its id over restarts until its answer is kept, and the next one gets its own`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let first = try store(path).enrollRequest(as: .new)
        #expect(first.requestID.count == 16)
        #expect(first.machineHash == "abc")
        #expect(first.deviceID.isEmpty)
        #expect(try names(path) == ["enrolling"])
        let mode = try FileManager.default.attributesOfItem(atPath: "\(path)/enrolling")[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try store(path).enrollRequest(as: .new).requestID == first.requestID)
        try store(path).save(enrollment)
        #expect(try names(path) == ["identity"])
        #expect(try store(path).enrollRequest(as: .new).requestID != first.requestID)
    }

    @Test func `Asked with another token or as somebody else it is another request`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let first = try store(path).enrollRequest(as: .new).requestID
        let other = try store(path, token: "another").enrollRequest(as: .new).requestID
        #expect(other != first)
        let again = try store(path, token: "another").enrollRequest(as: .again(enrollment))
        #expect(again.requestID != other)
        #expect(again.deviceID == enrollment.deviceID.data)
        #expect(again.previousCredential == "secret")
        let returning = try store(path, token: "another").enrollRequest(as: .returning(enrollment.deviceID))
        #expect(returning.deviceID == enrollment.deviceID.data)
        #expect(returning.previousCredential.isEmpty)
    }

    @Test func `A damaged request file is forgotten, cut at any byte`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let first = try store(path).enrollRequest(as: .new).requestID
        let url = URL(filePath: "\(path)/enrolling")
        let bytes = try Data(contentsOf: url)
        for length in 0..<bytes.count {
            try bytes.prefix(length).write(to: url)
            let request = try store(path).enrollRequest(as: .new).requestID
            #expect(request.count == 16 && request != first)
        }
    }

    @Test func `Unenrolled, the device id stays, the credential goes, and only another token enrolls again`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        try store(path).save(enrollment)
        try store(path).unenroll()
        #expect(try store(path).state() == .unenrolled(enrollment.deviceID))
        #expect(try store(path).enrollmentToken() == nil, "the token that lies around is nobody's decision")
        #expect(try store(path, token: nil).enrollmentToken() == nil)
        #expect(try store(path, token: "new").enrollmentToken() == "new")
        let text = String(decoding: try Data(contentsOf: URL(filePath: "\(path)/identity")), as: UTF8.self)
        #expect(!text.contains("secret") && !text.contains("\"token\""), "neither credential nor token is in the file")
        try store(path, token: "new").save(enrollment)
        #expect(try store(path).state() == .enrolled(enrollment))
        #expect(try store(path).enrollmentToken() == "token")
    }
}
