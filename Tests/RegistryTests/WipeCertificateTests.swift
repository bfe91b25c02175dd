import Foundation
import RegistryTestKit
import StoreTestKit
import TestKit
import Testing
import WipeCertificates
import WireModel

@testable import Registry

/// What the registry keeps of certificates of wipes, and with which keys it verifies them.
@Suite(.eachRegistry) struct WipeCertificateTests {
    private let directory: TemporaryDirectory
    private let clock = ManualStoreClock()
    private let metadata: MetadataService
    private let token: String
    private let key = WipeSigningKey()

    init() async throws {
        directory = try TemporaryDirectory()
        (metadata, _) = try TestRegistry.open(directory: directory.path, clock: clock, logger: quietLogger)
        token = try await metadata.createEnrollmentToken(organization: "default", maximumUses: nil).token
    }

    private func enroll(
        _ key: WipeSigningKey?, request: UInt8 = 1, former: EnrollResult? = nil
    ) async throws -> EnrollResult {
        var message = WireEnrollRequest()
        message.requestID = Data(repeating: request, count: 16)
        message.wipeSigningKey = key?.publicKey ?? Data()
        message.deviceID = former?.deviceID.data ?? Data()
        message.previousCredential = former?.credential ?? ""
        return try await metadata.enroll(token: token, request: message)
    }

    private func wipe(
        _ device: EnrollResult, _ action: WireCommand.OneOf_Action = .wipe(.init())
    ) async throws -> CommandID {
        let row = try await metadata.issue(
            NewCommand(
                device: device.deviceID, action: action, expires: clock.now() + 60_000_000, issuer: .commandLine,
                idempotencyKey: nil, request: Data()), organization: nil
        ).row
        return try #require(row.id)
    }

    private func text(
        _ device: EnrollResult, _ command: CommandID, by key: WipeSigningKey, kind: WipeCertificate.Kind = .clearData
    ) throws -> String {
        let certificate = WipeCertificate(
            kind: kind, command: "\(command)", device: "\(device.deviceID)", organization: "default",
            collector: "\(metadata.collectorID)", epochs: [], deviceKey: nil, keys: [], method: .noKeys, records: 1,
            logSegments: 0, begun: 1, ended: 2)
        return try SignedWipeCertificate(certificate, signedWith: key).text
    }

    private func report(
        _ text: String, _ command: CommandID, of device: EnrollResult, state: WireCommandState = .done
    ) async throws -> WipeCertificateFile? {
        var result = WireCommandResult()
        (result.commandID, result.state, result.wipeCertificate) = (command.data, state, text)
        await metadata.recordResults([result], of: device.deviceID, at: clock.now())
        return try await metadata.command(command, of: device.deviceID)?.status.certificate
    }

    @Test(arguments: [WipeCertificate.Kind.clearData, .enterprise])
    func `It is verified with the registered key, and kept with its command`(kind: WipeCertificate.Kind) async throws {
        let device = try await enroll(key)
        let command = try await wipe(device, kind == .clearData ? .wipe(.init()) : .enterpriseWipe(.init()))
        let text = try text(device, command, by: key, kind: kind)
        let kept = try #require(try await report(text, command, of: device))
        let collector = try #require(kept.collector)
        #expect(kept.document == text && collector.finding == nil && collector.key == key.publicKey)
        #expect(collector.enrolled != nil && collector.enrollmentToken?.isEmpty == false)
        await metadata.close()
        let (again, _) = try TestRegistry.open(directory: directory.path, clock: clock, logger: quietLogger)
        #expect(try await again.command(command, of: device.deviceID)?.status.certificate == kept)
        await again.close()
    }

    @Test func `What is wrong is kept as not verified, with the reason, and never dropped`() async throws {
        let device = try await enroll(key)
        let good = try await text(device, wipe(device), by: key)
        let table: [(text: (CommandID) throws -> String, finding: String)] = [
            ({ _ in "garbage" }, "no wipe certificate"), ({ _ in good }, "another wipe"),
            ({ try text(device, $0, by: WipeSigningKey()) }, "another key"),
            (
                { try text(device, $0, by: key).replacing(#""records":1"#, with: #""records":2"#) },
                "signature"
            ),
            ({ try text(device, $0, by: key, kind: .enterprise) }, "another kind"),
            ({ _ in String(repeating: "x", count: 300_000) }, "too long"),
        ]
        for row in table {
            let command = try await wipe(device)
            let text = try row.text(command)
            let kept = try #require(try await report(text, command, of: device))
            #expect(kept.collector?.finding?.contains(row.finding) == true, "\(row.finding)")
            #expect(text.hasPrefix(try #require(kept.document)))
            #expect(kept.document?.utf8.count ?? 0 <= SignedWipeCertificate.maximumBytes)
        }
    }

    @Test func `A device that registered no key is said to have none`() async throws {
        let device = try await enroll(nil)
        let command = try await wipe(device)
        let kept = try await report(try text(device, command, by: key), command, of: device)
        #expect(kept?.collector?.finding?.contains("registered no key") == true)
        #expect(try await metadata.wipeKey(of: device.deviceID) == nil)
        let other = try await wipe(device)
        #expect(try await report("", other, of: device) == nil, "nothing was sent, so nothing is kept")
    }

    @Test func `The first certificate of a command stays`() async throws {
        let device = try await enroll(key)
        let command = try await wipe(device)
        let text = try text(device, command, by: key)
        _ = try await report("", command, of: device, state: .running)
        let kept = try await report(text, command, of: device)
        #expect(try await report("garbage", command, of: device) == kept && kept?.collector?.finding == nil)
    }

    @Test func `Enrolling anew registers the new key, and so does asking again`() async throws {
        let device = try await enroll(key)
        #expect(try await metadata.wipeKey(of: device.deviceID)?.key == key.publicKey)
        let second = WipeSigningKey()
        let again = try await enroll(second)
        #expect(again.deviceID == device.deviceID, "a repeat")
        #expect(try await metadata.wipeKey(of: device.deviceID)?.key == second.publicKey)
        let third = WipeSigningKey()
        let anew = try await enroll(third, request: 2, former: again)
        #expect(anew.deviceID == device.deviceID && anew.enrollmentID != device.enrollmentID)
        #expect(try await metadata.wipeKey(of: device.deviceID)?.key == third.publicKey)
        let without = try await enroll(nil, request: 3, former: anew)
        #expect(try await metadata.wipeKey(of: without.deviceID) == nil, "an older program took its place")
    }
}
