import DeviceTestKit
import Encryption
import Foundation
import Logging
import StoreTestKit
import Synchronization
import TestKit
import Testing
import Transmitter
import WipeCertificates
import WireModel

@testable import DataSampler
@testable import RecordQueue

/// The certificate of a wipe: what it lists, also after a kill between two steps, and how it reaches the collector.
@Suite(.timeLimit(.minutes(10))) struct WipeCertificateTests {
    private let bench = SamplerBench(profile: WireProfile.analyticsOn)
    private static let commandID = Data(repeating: 9, count: 16)

    private func open(_ directory: String) async throws -> SamplerCore {
        try await SamplerCore.open(
            SamplerBench.configuration(directory), environment: SamplerBench.environment(bench.collector),
            logger: Logger(label: "test"))
    }

    private func enroll(_ core: SamplerCore, key: WipeSigningKey? = WipeSigningKey()) throws -> Enrollment {
        var enrollment = Enrollment(
            deviceID: .random(), credential: "secret", organization: "default", collectorID: .random(),
            incarnationID: .random(), enrollmentID: Data(repeating: 7, count: 16))
        enrollment.wipeKey = key?.rawRepresentation
        try core.identity.save(enrollment)
        return enrollment
    }

    private func enqueue(_ count: Int, _ core: SamplerCore) async throws {
        for _ in 0..<count {
            _ = try await core.queue.enqueueDurably(
                NewRecord(stream: .event, kind: .event, stamp: core.clock.now(), body: Data("secret".utf8)))
        }
    }

    private func certificate(_ evidence: WipeEvidence?) throws -> SignedWipeCertificate {
        let evidence = try #require(evidence)
        return try SignedWipeCertificate(text: try #require(evidence.certificate, "\(evidence.remark ?? "")"))
    }

    // MARK: Content

    @Test func `It lists keys, epoch and counts, and is signed with the key of the enrollment`() async throws {
        let directory = try TemporaryDirectory()
        let core = try await open(directory.path)
        let key = WipeSigningKey()
        let enrollment = try enroll(core, key: key)
        let sealing = try core.keys.sealingKey(for: .application)
        let known = try #require(core.keys.status.keys.first)
        try await enqueue(3, core)
        let epoch = "\(core.queue.epoch)"
        let wipes = WipeKeeper(core: core, events: DeviceEvents(), countLogSegments: { 5 }) { _ in }
        try await wipes.begin(command: Self.commandID, reason: "test")
        try await wipes.erase()
        let signed = try certificate(await wipes.evidence(of: Self.commandID))
        let found = signed.certificate
        #expect(signed.key == key.publicKey)
        #expect(found.device == "\(enrollment.deviceID)" && found.organization == "default")
        #expect(found.collector == "\(enrollment.collectorID)" && found.kind == .clearData)
        #expect(found.command == "09090909-0909-0909-0909-090909090909")
        #expect(found.epochs == [epoch] && found.records == 3 && found.logSegments == 5)
        #expect(
            found.keys == [.init(id: sealing.id, purpose: "application", fingerprint: known.fingerprint)])
        #expect(found.deviceKey?.provider == "file" && found.deviceKey?.fingerprint.count == 32)
        #expect(found.method == .overwritten && found.begun <= found.ended)
        #expect(await wipes.evidence(of: nil) == nil, "that is another wipe")
        try await wipes.finish()
        #expect(await wipes.evidence(of: Self.commandID) == nil)
        await core.close()
    }

    @Test func `Without keys it says so, and without a key of the enrollment there is none`() async throws {
        for isRegistered in [true, false] {
            let directory = try TemporaryDirectory()
            let core = try await open(directory.path)
            _ = try enroll(core, key: isRegistered ? WipeSigningKey() : nil)
            let wipes = WipeKeeper(core: core, events: DeviceEvents()) { _ in }
            try await wipes.begin(command: nil, reason: "test", endsEnrollment: true)
            try await wipes.erase()
            let evidence = try #require(await wipes.evidence(of: nil))
            if isRegistered {
                let found = try certificate(evidence).certificate
                #expect(found.method == .noKeys && found.keys.isEmpty && found.deviceKey == nil)
                #expect(found.kind == .enterprise && found.command == nil)
            } else {
                #expect(evidence.certificate == nil && evidence.remark?.contains("reset-credentials") == true)
            }
            await core.close()
        }
    }

    @Test func `A device that is not enrolled makes none and says why`() async throws {
        let directory = try TemporaryDirectory()
        let core = try await open(directory.path)
        let wipes = WipeKeeper(core: core, events: DeviceEvents()) { _ in }
        try await wipes.begin(command: nil, reason: "test")
        try await wipes.erase()
        let evidence = try #require(await wipes.evidence(of: nil))
        #expect(evidence.certificate == nil && evidence.remark?.contains("not enrolled") == true)
        await core.close()
    }

    @Test func `A damaged key file is said, and no key is claimed`() async throws {
        let directory = try TemporaryDirectory()
        let core = try await open(directory.path)
        _ = try enroll(core)
        try Data("rubbish".utf8).write(to: URL(filePath: directory.file("keys")))
        let wipes = WipeKeeper(core: core, events: DeviceEvents()) { _ in }
        try await wipes.begin(command: nil, reason: "test")
        try await wipes.erase()
        let found = try certificate(await wipes.evidence(of: nil)).certificate
        #expect(found.method == .unknownKeys && found.keys.isEmpty && found.deviceKey == nil)
        await core.close()
    }

    @Test func `The method follows who has the device key`() {
        func method(_ provider: DeviceKeyProviderKind?, left: Bool = false) -> WipeCertificate.Method {
            WipeInventory(
                keys: KeyRing.Inventory(provider: provider, device: nil, keys: []), epochs: [], records: 0,
                logSegments: 0
            ).method(isKeyFileLeft: left)
        }
        #expect(method(.file) == .overwritten && method(.file, left: true) == .forgotten)
        #expect([.systemd, .host, .passcode].allSatisfy { method($0) == .forgotten })
        #expect(method(nil) == .unknownKeys)
    }

    // MARK: Kills

    /// How far the first run came. The disk then is as after a kill there.
    enum Kill: Int, CaseIterable {
        case inventoryStored, keysDestroyed, epochEnded, stateErased, endStored
    }

    @Test(arguments: Kill.allCases)
    func `What was destroyed before a kill is in the certificate of the next start`(_ kill: Kill) async throws {
        let directory = try TemporaryDirectory()
        var core = try await open(directory.path)
        _ = try enroll(core)
        let sealing = try core.keys.sealingKey(for: .application)
        try await enqueue(2, core)
        let epoch = "\(core.queue.epoch)"
        let wipes = WipeKeeper(core: core, events: DeviceEvents()) { _ in }
        try await wipes.begin(command: Self.commandID, reason: "test")
        var note = try #require(await wipes.pending)
        note.inventory = WipeInventory(
            keys: core.keys.inventory(), epochs: [epoch], records: 2, logSegments: 4)
        if kill.rawValue >= Kill.keysDestroyed.rawValue { try core.destroyKeys() }
        if kill.rawValue >= Kill.epochEnded.rawValue { try await core.queue.endEpoch(.wiped) }
        if kill.rawValue >= Kill.stateErased.rawValue { try core.eraseKeptState() }
        if kill == .endStored { note.ended = 77 }
        try WipeNote.file(in: directory.path).save(note)
        await core.close()

        core = try await open(directory.path)
        let again = WipeKeeper(core: core, events: DeviceEvents(), countLogSegments: { 0 }) { _ in }
        try await again.resume { _ in true }
        let found = try certificate(await again.evidence(of: Self.commandID)).certificate
        #expect(found.keys.map(\.id) == [sealing.id] && found.method == .overwritten)
        #expect(found.epochs == [epoch] && found.records == 2 && found.logSegments == 4)
        #expect((found.ended == 77) == (kill == .endStored), "what has ended is not done again")
        #expect(!FileManager.default.fileExists(atPath: directory.file("keys")))
        try await again.finish()
        await core.close()
    }

    @Test func `The list of keys is on disk before the first one goes`() async throws {
        let directory = try TemporaryDirectory()
        let core = try await open(directory.path)
        _ = try enroll(core)
        let sealing = try core.keys.sealingKey(for: .application)
        let file = WipeNote.file(in: directory.path)
        let areKeysThere = Mutex<[Bool]>([])
        // Counting is the last step before the list is stored.
        let keys = directory.file("keys")
        let wipes = WipeKeeper(
            core: core, events: DeviceEvents(),
            countLogSegments: {
                areKeysThere.withLock { $0.append(FileManager.default.fileExists(atPath: keys)) }
                return 1
            },
            eraseParts: { _ throws(DataSamplerError) in
                let note = try file.load()
                #expect(note?.inventory?.keys?.keys.map(\.id) == [sealing.id] && note?.ended == nil)
            })
        try await wipes.begin(command: nil, reason: "test")
        try await wipes.erase()
        #expect(areKeysThere.withLock { $0 } == [true])
        let text = try String(contentsOf: URL(filePath: directory.file(WipeNote.fileName)), encoding: .utf8)
        #expect(!text.contains("wrapped") && text.contains("fingerprint"), "it holds no secret")
        await core.close()
    }

    @Test func `Once everything is erased, keys that are made since survive a restart before the report`() async throws
    {
        let directory = try TemporaryDirectory()
        var core = try await open(directory.path)
        _ = try enroll(core)
        let wipes = WipeKeeper(core: core, events: DeviceEvents()) { _ in }
        try await wipes.begin(command: Self.commandID, reason: "test")
        _ = try core.keys.sealingKey(for: .application)
        try await wipes.erase()
        let fresh = try core.keys.sealingKey(for: .queue)
        await core.close()
        core = try await open(directory.path)
        let again = WipeKeeper(core: core, events: DeviceEvents()) { _ in
            Issue.record("it was erased twice")
        }
        try await again.resume { _ in true }
        #expect(try core.keys.key(fresh.id, for: .queue).id == fresh.id, "the result may be sealed with it")
        _ = try certificate(await again.evidence(of: Self.commandID))
        try await again.finish()
        await core.close()
    }

    @Test func `A wipe that takes another's place lists what that one destroyed`() async throws {
        let directory = try TemporaryDirectory()
        let core = try await open(directory.path)
        _ = try enroll(core)
        let sealing = try core.keys.sealingKey(for: .application)
        let failing = Mutex(true)
        let wipes = WipeKeeper(core: core, events: DeviceEvents()) { _ throws(DataSamplerError) in
            if failing.withLock({ $0 }) { throw DataSamplerError(.storage, "not yet") }
        }
        try await wipes.begin(command: nil, reason: "clear")
        await #expect(throws: DataSamplerError.self) { try await wipes.erase() }
        failing.withLock { $0 = false }
        try await wipes.begin(command: Self.commandID, reason: "leave", endsEnrollment: true)
        try await wipes.erase()
        let found = try certificate(await wipes.evidence(of: Self.commandID)).certificate
        #expect(found.keys.map(\.id) == [sealing.id] && found.epochs.count == 2)
        await core.close()
    }

    // MARK: On the way

    private func command(_ sampler: DataSampler, endsEnrollment: Bool) throws -> WireCommand {
        var command = WireCommand()
        command.id = Self.commandID
        command.expires = 3_600_000_000
        command.enrollmentID = try #require(try sampler.running().core.identity.load()).enrollmentID
        if endsEnrollment { command.enterpriseWipe.reason = "lost" } else { command.wipe.reason = "lost" }
        return command
    }

    @Test(arguments: [false, true])
    func `The result of a wipe carries the certificate, also where the enrollment ends`(
        _ endsEnrollment: Bool
    ) async throws {
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path) { $0.eventHold = 7200 }
        try await sampler.start()
        try await sampler.reloadProfile()
        try await sampler.sendBeacon()
        let sealed = try sampler.encrypt(Data("secret".utf8))
        #expect(sealed.count > 38)
        let enrollment = try #require(try sampler.running().core.identity.load())
        let key = try #require(enrollment.wipeKey.flatMap { WipeSigningKey(rawRepresentation: $0) })
        bench.collector.setNews(revision: 1, commands: [try command(sampler, endsEnrollment: endsEnrollment)])
        try await sampler.sendBeacon()
        try await bench.arrived { try await bench.results().contains { $0.result.state == .done } }
        let done = try #require(try await bench.results().first { $0.result.state == .done }).result
        let signed = try SignedWipeCertificate(text: done.wipeCertificate)
        #expect(signed.key == key.publicKey && signed.certificate.keys.count == 1)
        #expect(signed.certificate.kind == (endsEnrollment ? .enterprise : .clearData))
        #expect(
            try await bench.results().filter { $0.result.state != .done }.allSatisfy {
                $0.result.wipeCertificate.isEmpty
            })
        await sampler.stop()
    }

    @Test func `A wipe that is asked for here returns its certificate`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path)
        try await sampler.start()
        try await sampler.sendBeacon()
        let file = try await sampler.wipeCertified(reason: "test")
        let signed = try SignedWipeCertificate(text: try #require(file.document))
        #expect(signed.certificate.command == nil && file.remark == nil && file.collector == nil)
        await sampler.stop()
    }

    @Test func `Without consent the certificate goes all the same`() throws {
        var result = WireCommandResult()
        result.wipeCertificate = "evidence"
        result.detail = "detail"
        let reduced = try WireCommandResult.decode(StatusReduction.reduced(result.encoded, kind: .commandResult))
        #expect(reduced.wipeCertificate == "evidence" && reduced.detail.isEmpty)
    }

    // MARK: The key

    @Test func `A request keeps its key with its id, and the enrollment gets it`() throws {
        let directory = try TemporaryDirectory()
        func store() -> IdentityStore {
            IdentityStore(
                directory: directory.path, machineHash: "abc", enrollmentToken: "token", request: WireEnrollRequest())
        }
        let first = try store().enrollRequest(as: .new)
        #expect(first.wipeSigningKey.count == 32)
        #expect(try store().enrollRequest(as: .new) == first, "asking again is a repeat")
        let bytes = try #require(try store().wipeKey())
        let key = try #require(WipeSigningKey(rawRepresentation: bytes))
        #expect(key.publicKey == first.wipeSigningKey)
        var enrollment = Enrollment(
            deviceID: .random(), credential: "c", organization: "o", collectorID: .random(), incarnationID: .random())
        enrollment.wipeKey = bytes
        try store().save(enrollment)
        try store().requestAnswered()
        #expect(try store().load() == enrollment)
        #expect(try store().wipeKey() == nil)
        #expect(try store().enrollRequest(as: .again(enrollment)).wipeSigningKey != first.wipeSigningKey)
        try store().unenroll()
        let left = try String(contentsOf: URL(filePath: directory.file("identity")), encoding: .utf8)
        #expect(!left.contains(bytes.base64EncodedString()), "the key goes with the credential")
    }

    @Test func `A request of a version without keys gets one, and keeps its id`() throws {
        let directory = try TemporaryDirectory()
        let file = EnrollingFile(directory: directory.path)
        let pending = try file.request(token: "t", machineHash: "m", role: .new)
        let url = URL(filePath: directory.file("enrolling"))
        var form = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any])
        form["wipeKey"] = nil
        try JSONSerialization.data(withJSONObject: form).write(to: url)
        #expect(try file.wipeKey() == nil)
        let again = try file.request(token: "t", machineHash: "m", role: .new)
        #expect(again.id == pending.id && again.wipeKey.publicKey != pending.wipeKey.publicKey)
        #expect(try file.request(token: "t", machineHash: "m", role: .new) == again)
    }
}
