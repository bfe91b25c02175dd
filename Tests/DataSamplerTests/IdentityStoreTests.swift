import DeviceTestKit
import Foundation
import Logging
import RecordQueue
import Synchronization
import TestKit
import Testing
import Transmitter
import WireModel

@testable import DataSampler

@Suite struct IdentityStoreTests {
    private let enrollment = Enrollment(
        deviceID: .random(), credential: "secret", organization: "default", collectorID: .random(),
        incarnationID: .random(),
        enrollmentID: DeviceID.random().data)

    private func store(_ path: String, machine: String? = "abc", token: String? = "token") -> IdentityStore {
        IdentityStore(directory: path, machineHash: machine, enrollmentToken: token, request: WireEnrollRequest())
    }

    private func names(_ path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }

    @Test func `A directory copied to another machine is a clone, not an error, and one that cannot report is not`()
        throws
    {
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
        #expect(try store(path).enrollRequest(as: .new).requestID == first.requestID)
        try store(path).requestAnswered()
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

    @Test func `Who becomes a new device because its id was refused asks with the same request, at the next start too`()
        throws
    {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let former = enrollment.deviceID
        let returning = try store(path).enrollRequest(as: .returning(former))
        let successor = try store(path).enrollRequest(as: .successor(of: former))
        #expect(successor.requestID == returning.requestID)
        #expect(successor.deviceID.isEmpty && successor.previousCredential.isEmpty)
        #expect(try store(path).enrollRequest(as: .returning(former)).requestID == returning.requestID)
        #expect(try store(path).enrollRequest(as: .again(enrollment)).requestID == returning.requestID)
        #expect(try store(path).enrollRequest(as: .returning(.random())).requestID != returning.requestID)
    }

    @Test func `A copy of the directory on another machine asks with a request of its own`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let first = try store(path).enrollRequest(as: .new).requestID
        #expect(try store(path, machine: "def").enrollRequest(as: .new).requestID != first)
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

    // MARK: - The copy in the queue

    /// The reports of a store.
    private final class Reported: Sendable {
        private let notices = Mutex<[DataSamplerNotice]>([])
        var kinds: [DataSamplerNotice.Kind] { notices.withLock { $0.map(\.kind) } }
        func add(_ notice: DataSamplerNotice) { notices.withLock { $0.append(notice) } }
    }

    private func queue(_ path: String) throws -> RecordQueue {
        try RecordQueue.open(
            directory: path, configuration: RecordQueue.Configuration(), clock: ManualRecordClock(),
            logger: Logger(label: "test"))
    }

    private func store(
        _ path: String, _ queue: RecordQueue, machine: String? = "abc", token: String? = "token",
        reported: Reported = Reported()
    ) -> IdentityStore {
        IdentityStore(
            directory: path, machineHash: machine, enrollmentToken: token, request: WireEnrollRequest(), queue: queue
        ) { reported.add($0) }
    }

    @Test(arguments: ["deleted", "empty", "cut", "flipped"])
    func `Damaged or deleted, the identity is made anew from its copy, and that is reported once`(_ damage: String)
        async throws
    {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let file = URL(filePath: "\(path)/identity")
        var queue = try queue(path)
        try store(path, queue).save(enrollment)
        let whole = try Data(contentsOf: file)
        await queue.close()
        var damaged = whole
        switch damage {
        case "empty": damaged = Data()
        case "cut": damaged = whole.prefix(whole.count / 2)
        default: damaged[whole.count / 2] ^= 4
        }
        if damage == "deleted" { try FileManager.default.removeItem(at: file) } else { try damaged.write(to: file) }

        queue = try self.queue(path)
        let reported = Reported()
        let store = store(path, queue, reported: reported)
        #expect(try store.state() == .enrolled(enrollment))
        #expect(try store.load() == enrollment)
        #expect(reported.kinds == [.identityRestored])
        #expect(try Data(contentsOf: file) == whole)
        let isKeptAside = (try? Data(contentsOf: URL(filePath: "\(path)/identity.damaged"))) == damaged
        #expect(isKeptAside == (damage != "deleted"), "a damaged file stays to be looked at")
        let mode = try FileManager.default.attributesOfItem(atPath: "\(path)/queue.sqlite")[.posixPermissions] as? Int
        #expect(mode == 0o600)
        await queue.close()
    }

    @Test func `On another machine the copy makes a clone, never the device itself`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let queue = try queue(path)
        try store(path, queue).save(enrollment)
        try FileManager.default.removeItem(atPath: "\(path)/identity")
        let reported = Reported()
        let elsewhere = store(path, queue, machine: "def", reported: reported)
        #expect(try elsewhere.state() == .clone(of: enrollment))
        #expect(try elsewhere.load() == nil)
        #expect(reported.kinds.isEmpty && !FileManager.default.fileExists(atPath: "\(path)/identity"))
        var own = enrollment
        own.credential = "its own"
        try elsewhere.save(own)
        #expect(try elsewhere.state() == .enrolled(own))
        #expect(try store(path, queue, machine: "def").state() == .enrolled(own))
        await queue.close()
    }

    @Test func `After an unenrollment the copy says so too, and no credential is left in the queue's file`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let queue = try queue(path)
        var secret = enrollment
        secret.credential = "ws1d-a-secret-nobody-may-find"
        try store(path, queue).save(secret)
        try store(path, queue).unenroll()
        try FileManager.default.removeItem(atPath: "\(path)/identity")
        #expect(try store(path, queue).state() == .unenrolled(enrollment.deviceID))
        try FileManager.default.removeItem(atPath: "\(path)/identity")
        #expect(try store(path, queue).enrollmentToken() == nil, "the token that lies around is nobody's decision")
        await queue.close()
        #expect(
            try Data(contentsOf: URL(filePath: "\(path)/queue.sqlite")).range(of: Data(secret.credential.utf8)) == nil)
    }

    @Test func `The file counts: the copy follows it, and a file of a newer version is not replaced by it`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let file = URL(filePath: "\(path)/identity")
        let queue = try queue(path)
        try store(path, queue).save(enrollment)
        // As somebody does who restores a backup of the file.
        var other = enrollment
        other.credential = "another"
        try store(path).save(other)
        #expect(try store(path, queue).state() == .enrolled(other))
        try FileManager.default.removeItem(at: file)
        #expect(try store(path, queue).state() == .enrolled(other))

        var text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        text = text.replacingOccurrences(of: "\"version\":1", with: "\"version\":99")
        try Data(text.utf8).write(to: file)
        let error = #expect(throws: DataSamplerError.self) { try store(path, queue).state() }
        #expect(error?.message.contains("update the program") == true)
        #expect(String(decoding: try Data(contentsOf: file), as: UTF8.self) == text)
        await queue.close()
    }

    @Test func `With neither file nor copy readable the message names the next step`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path
        let queue = try queue(path)
        try Data("{}".utf8).write(to: URL(filePath: "\(path)/identity"))
        for content in ["{}", "no JSON"] {
            try queue.keepCopy(Data(content.utf8), of: .identity)
            let error = #expect(throws: DataSamplerError.self) { try store(path, queue).state() }
            #expect(error?.code == .identity)
            for words in ["no copy", "backup", "enroll again", "ws1agent queue rebind"] {
                #expect(error?.message.contains(words) == true, "\(words): \(error?.message ?? "")")
            }
        }
        #expect(try Data(contentsOf: URL(filePath: "\(path)/identity")) == Data("{}".utf8), "it stays where it is")
        await queue.close()
    }
}
