import Foundation
import SQLite
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import CollectorMaintenance
@testable import Registry
@testable import SQLiteRecordStore

/// Who gets a device's id from a collector that was restored from an older backup.
@Suite struct LostCredentialTests {
    private let parent: TemporaryDirectory
    private let clock = ManualStoreClock()

    init() throws { parent = try TemporaryDirectory() }

    private func path(_ name: String) -> String { "\(parent.path)/\(name)" }

    private func open(_ name: String) throws -> (metadata: MetadataService, token: String?) {
        let (metadata, first) = try MetadataService.open(directory: path(name), clock: clock, logger: quietLogger)
        return (metadata, first?.enrollmentToken)
    }

    private func takeBackup(of name: String, to output: String) async throws {
        _ = try await StoreBackup(
            of: SQLiteRecordStore.openReading(directory: path(name)), directory: path(name), output: path(output),
            clock: clock, logger: quietLogger
        )
        .write()
    }

    private func restore(_ name: String, from backup: String, newCredentialKey: Bool = false) throws
        -> MetadataService
    {
        _ = try StoreRestore(
            from: .directory(path(backup)), to: path(name), newCredentialKey: newCredentialKey, clock: clock
        )
        .restore()
        return try open(name).metadata
    }

    private func request(_ id: DeviceID? = nil, previous: String = "") -> WireEnrollRequest {
        var request = WireEnrollRequest()
        request.deviceID = id?.data ?? Data()
        request.previousCredential = previous
        request.machineHash = "m"
        return request
    }

    /// What the metadata makes of an id with a credential.
    private func ask(
        _ metadata: MetadataService, _ token: String, _ id: DeviceID, _ previous: String
    ) async -> Result<EnrollResult, EnrollError> {
        do throws(EnrollError) {
            return .success(try await metadata.enroll(token: token, request: request(id, previous: previous)))
        } catch {
            return .failure(error)
        }
    }

    private func isKnown(_ metadata: MetadataService, _ credential: String) async throws -> Bool {
        if case .device = try await metadata.authenticateDevice(credential: credential) { true } else { false }
    }

    @Test func `A device that enrolled since the backup keeps its ID by its credential`() async throws {
        let (live, first) = try open("live")
        let token = try #require(first)
        try await takeBackup(of: "live", to: "backup")
        let lost = try await live.enroll(token: token, request: request())
        let other = try await live.enroll(token: token, request: request())
        await live.close()

        let metadata = try restore("restored", from: "backup")
        #expect(
            try await !isKnown(metadata, lost.credential), "the credential alone admits nobody: enrolling takes a token"
        )
        let strange = [
            "", "from before the restore", "ws1d_x", other.credential, lost.credential + "A",
            String(lost.credential.dropLast(4)) + "AAAA",
            Secret(.device).text,
        ]
        for previous in strange {
            let result = try await ask(metadata, token, lost.deviceID, previous).get()
            #expect(result.deviceID != lost.deviceID && !result.deviceKept, "\(previous) does not prove the id")
        }
        let kept = try await ask(metadata, token, lost.deviceID, lost.credential).get()
        #expect(kept.deviceID == lost.deviceID && kept.deviceKept)
        #expect(try await isKnown(metadata, kept.credential))
        #expect(
            await ask(metadata, token, lost.deviceID, lost.credential).failure == .deviceConflict,
            "what the lost time proves it proves once: the metadata has issued a newer credential since")
        await metadata.close()
    }

    @Test func `A device that renewed its credential twice since the backup keeps its ID`() async throws {
        let (live, first) = try open("live")
        let token = try #require(first)
        let device = try await live.enroll(token: token, request: request())
        func rotate(from credential: String) async throws -> String {
            #expect(try await isKnown(live, credential))
            return try await live.rotateCredential(device: device.deviceID)
        }
        let second = try await rotate(from: device.credential)
        #expect(try await isKnown(live, second))
        try await takeBackup(of: "live", to: "backup")
        let third = try await rotate(from: second)
        let fourth = try await rotate(from: third)
        #expect(try await isKnown(live, fourth))
        await live.close()

        let metadata = try restore("restored", from: "backup")
        #expect(
            await ask(metadata, token, device.deviceID, device.credential).failure == .deviceConflict,
            "one that was followed by another before the backup is a stolen one")
        let kept = try await ask(metadata, token, device.deviceID, fourth).get()
        #expect(kept.deviceID == device.deviceID && kept.deviceKept)
        #expect(
            await ask(metadata, token, device.deviceID, third).failure == .deviceConflict,
            "the metadata has issued a newer one")
        await metadata.close()
    }

    @Test func `A revoked or deleted device stays out, whatever it proves`() async throws {
        let (live, first) = try open("live")
        let token = try #require(first)
        let known = try await live.enroll(token: token, request: request())
        try await takeBackup(of: "live", to: "backup")
        let newest = try await live.rotateCredential(device: known.deviceID)
        let lost = try await live.enroll(token: token, request: request())
        await live.close()

        let metadata = try restore("restored", from: "backup")
        _ = try await metadata.revokeDevice(known.deviceID, organization: nil, by: .commandLine)
        #expect(await ask(metadata, token, known.deviceID, newest).failure == .deviceRevoked)
        let back = try await ask(metadata, token, lost.deviceID, lost.credential).get()
        try await metadata.deleteDevice(
            back.deviceID, enrollment: back.enrollmentID, organization: nil, by: .commandLine)
        for credential in [lost.credential, back.credential] {
            #expect(await ask(metadata, token, lost.deviceID, credential).failure == .deviceRevoked)
        }
        await metadata.close()
    }

    @Test func `A second restore from the same backup knows what the first issued`() async throws {
        let (live, first) = try open("live")
        let token = try #require(first)
        try await takeBackup(of: "live", to: "backup")
        await live.close()
        let between = try restore("between", from: "backup")
        let lost = try await between.enroll(token: token, request: request())
        await between.close()
        let metadata = try restore("restored", from: "backup")
        #expect(try await ask(metadata, token, lost.deviceID, lost.credential).get().deviceKept)
        await metadata.close()
    }

    /// What the key of a stolen backup opens.
    @Test func `A stolen key opens nothing without a restore and nothing with a new key`() async throws {
        let (live, first) = try open("live")
        let token = try #require(first)
        try await takeBackup(of: "live", to: "backup")
        let known = try await live.enroll(token: token, request: request())
        let stolen = try Connection(
            path: path("backup") + "/collector.sqlite",
            options: .init(mode: .readOnly, applicationID: CollectorDatabase.applicationID))
        let key = try CollectorDatabase.meta(CredentialLedger.keyName, stolen)
        #expect(key.count == 32)
        func forged(_ id: DeviceID, _ incarnation: IncarnationID) -> String {
            DeviceCredential(
                incarnation: incarnation, generation: 1_000_000, device: id, organization: "default", key: key
            ).secret.text
        }
        for incarnation in [live.incarnationID, .random()] {
            #expect(
                await ask(live, token, known.deviceID, forged(known.deviceID, incarnation)).failure == .deviceConflict)
            let id = DeviceID.random()
            #expect(try await ask(live, token, id, forged(id, incarnation)).get().deviceKept == false)
        }
        await live.close()

        let renewed = try restore("renewed", from: "backup", newCredentialKey: true)
        for id in [known.deviceID, DeviceID.random()] {
            #expect(try await ask(renewed, token, id, forged(id, live.incarnationID)).get().deviceKept == false)
        }
        #expect(
            try await ask(renewed, token, known.deviceID, known.credential).get().deviceKept == false,
            "the price of a new key")
        await renewed.close()
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
